"""The product cipher beside Crypto++: both programs in turn, round after round, and ratios of their medians."""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import measure  # noqa: E402


def lines(program, blocks):
    """What a program measured: (cipher, level, direction) and nanoseconds for a block."""
    for line in measure.timed([program, str(blocks)]).out.splitlines():
        cipher, level, direction, ns = line.split()
        yield (cipher, level, direction), float(ns)


def all_figures(programs, rounds, blocks):
    """All figures of all rounds; the program that comes first changes from round to round."""
    found = {}
    for at in range(rounds):
        for program in programs if at % 2 == 0 else reversed(programs):
            for what, ns in lines(program, blocks):
                found.setdefault(what, []).append(ns)
    return found


def table(title, figures):
    """Per cipher and direction: nanoseconds of everybody, and how many times faster than the reference."""
    levels = list(dict.fromkeys(level for _, level, _ in figures))
    levels.sort(key=lambda level: level != "cryptopp")
    out = [f"| {title}, ns a block | " + " | ".join(levels) + " | " + " | ".join(f"x {v}" for v in levels) + " |"]
    out.append("| --- |" + " --- |" * 2 * len(levels))
    for cipher, direction in dict.fromkeys((c, d) for c, _, d in figures):
        own = [figures.get((cipher, level, direction)) for level in levels]
        scalar = figures[cipher, "scalar", direction]
        cells = ["" if ns is None else f"{ns:.2f}" for ns in own]
        cells += ["" if ns is None else f"{scalar / ns:.2f}" for ns in own]
        out.append(f"| {cipher} {direction} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("programs", nargs=2, help="Crypto++'s and evener's")
    args.add_argument("--rounds", type=int, default=7)
    args.add_argument("--blocks", type=int, default=1024)
    args.add_argument("--json", type=Path)
    args = args.parse_args()
    found = all_figures(args.programs, args.rounds, args.blocks)
    medians = {what: statistics.median(times) for what, times in found.items()}
    print(table("medians", medians), end="\n\n")
    print(table("fastest round", {what: min(times) for what, times in found.items()}))
    print("\nx: how many times faster than our scalar reference; below 1 for Crypto++ means that the reference wins.")
    if args.json:
        results = [
            {"cipher": c, "level": v, "direction": d, "ns": medians[c, v, d], "rounds": found[c, v, d]}
            for c, v, d in medians
        ]
        measure.write(args.json, blocks=args.blocks, results=results)


if __name__ == "__main__":
    main()
