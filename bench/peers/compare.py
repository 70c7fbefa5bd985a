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
    """Medians of one pipeline at one size: {"halide", "opencv", "evener", ratios, variants}."""
    summary = {}
    for peer in ("halide", "halide_rewrite", "opencv", "evener"):
        if cell["rounds"].get(peer):
            variant, ms = best(cell["rounds"][peer])
            summary[peer] = {"ms": ms, "variant": variant}
    if "evener" in summary:
        own = summary["evener"]["ms"]
        for peer in ("halide", "halide_rewrite", "opencv"):
            if peer in summary:
                summary[peer]["ratio"] = summary[peer]["ms"] / own
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


def table(cells):
    """A Markdown table per size: pipelines across, peers and ratios down."""
    lines = []
    sizes = list(dict.fromkeys(tuple(c["size"]) for c in cells))
    for size in sizes:
        chosen = [c for c in cells if tuple(c["size"]) == size]
        lines.append(f"| {size[0]}x{size[1]}, ms a frame | " +
                     " | ".join(c["letter"] for c in chosen) + " |")  # fmt: skip
        lines.append("| --- |" + " --- |" * len(chosen))
        for label, peer, key in ROWS:
            values = [c["summary"].get(peer, {}).get(key) for c in chosen]
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
