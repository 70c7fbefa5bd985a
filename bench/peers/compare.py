"""Medians, ratios and the printed tables of the peers' measurements."""

import statistics


def median_of_rounds(records):
    """Median over rounds of each round's median frame, in ms."""
    return statistics.median(r["median"] for r in records)


def best(by_variant):
    """Of several variants measured in every round, the one with the lowest median."""
    name = min(by_variant, key=lambda v: median_of_rounds(by_variant[v]))
    return name, median_of_rounds(by_variant[name])


def summarise(cell):
    """Per peer of one pipeline at one size: median, fastest frame, what they stand for, ratios."""
    summary = {}
    for peer in ("halide", "halide_rewrite", "opencv", "evener"):
        if by_variant := cell["rounds"].get(peer):
            variant, ms = best(by_variant)
            fastest = min(r["min"] for rounds in by_variant.values() for r in rounds)
            summary[peer] = {"ms": ms, "fastest_ms": fastest, "variant": variant}
    own = summary.get("evener")
    for found in summary.values():
        if own and found is not own:
            found["ratio"] = found["ms"] / own["ms"]
            found["fastest_ratio"] = found["fastest_ms"] / own["fastest_ms"]
    return summary


def figure(value):
    """Three significant digits, without an exponent."""
    return f"{value:.3g}" if value < 1 else f"{value:.2f}"


ROWS = (
    ("Halide", "halide", "ms"),
    ("OpenCV", "opencv", "ms"),
    ("evener", "evener", "ms"),
    ("Halide / evener", "halide", "ratio"),
    ("OpenCV / evener", "opencv", "ratio"),
    ("Halide, rewritten", "halide_rewrite", "ms"),
    ("rewritten / evener", "halide_rewrite", "ratio"),
)


def table(cells, prefix=""):
    """A Markdown table per size: pipelines across, peers and ratios down.

    With the prefix "fastest_" the fastest frame of all rounds stands in the place of the median,
    which on a machine that others use as well tells more about the code and less about the others.
    """
    what = "fastest frame, ms" if prefix else "ms a frame"
    lines = []
    sizes = list(dict.fromkeys(tuple(c["size"]) for c in cells))
    for size in sizes:
        chosen = [c for c in cells if tuple(c["size"]) == size]
        letters = " | ".join(c["letter"] for c in chosen)
        lines.append(f"| {size[0]}x{size[1]}, {what} | {letters} |")
        lines.append("| --- |" + " --- |" * len(chosen))
        for label, peer, key in ROWS:
            values = [c["summary"].get(peer, {}).get(prefix + key) for c in chosen]
            if any(v is not None for v in values):
                text = ["" if v is None else figure(v) for v in values]
                lines.append(f"| {label} | " + " | ".join(text) + " |")
        lines.append("")
    return "\n".join(lines)


def choices(cells):
    """One line per pipeline, size and peer: which variant counted."""
    lines = []
    for cell in cells:
        size = f"{cell['size'][0]}x{cell['size'][1]}"
        for peer, found in cell["summary"].items():
            lines.append(f"{cell['letter']} {size} {peer}: {found['variant']}")
    return "\n".join(lines)
