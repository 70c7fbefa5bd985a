"""Counting queens: every program in turn, round after round, and ratios of their medians.

What counts is a program's processor time, which somebody else on the core does not add to as he does to the clock on
the wall; both are kept.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import measure  # noqa: E402

# OEIS A000170.
TOTALS = {14: 365596, 15: 2279184, 16: 14772512, 17: 95815104, 18: 666090624, 19: 4968057848, 20: 39029188884}


def seconds(command, n):
    """Processor seconds, wall seconds and nodes of one run, its total checked."""
    run = measure.timed(command)
    size, total, _, *nodes = run.out.split()
    if int(size) != n or int(total) != TOTALS[n]:
        sys.exit(f"{' '.join(command)}: {total} solutions for n = {size}, not {TOTALS[n]} for n = {n}")
    return run.cpu, run.wall, int(nodes[0]) if nodes else None


def all_runs(programs, n, rounds):
    """All runs for one size; the order turns around from round to round."""
    found = {name: [] for name in programs}
    for at in range(rounds):
        for name in programs if at % 2 == 0 else reversed(programs):
            found[name].append(seconds([word.format(n=n) for word in programs[name]], n))
    return found


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("somers", help="the C program")
    args.add_argument("count", help="evener's example")
    args.add_argument("--sizes", type=int, nargs="+", default=[15, 16], choices=TOTALS)
    args.add_argument("--levels", nargs="+", default=["scalar", "avx2", "avx512"])
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument(
        "--peer", action="append", default=[], metavar="NAME=COMMAND",
        help="another program that is given N and prints N, the total and seconds",
    )
    args.add_argument("--without-somers", action="store_true", help="for large sizes")
    args.add_argument("--json", type=Path)
    args = args.parse_args()
    programs = {} if args.without_somers else {"somers": [args.somers, "{n}"]}
    for peer in args.peer:
        name, command = peer.split("=", 1)
        programs[name] = [*command.split(), "{n}"]
    programs |= {f"evener {level}": [args.count, "{n}", level] for level in args.levels}
    results = []
    for n in args.sizes:
        found = all_runs(programs, n, args.rounds)
        medians = {name: statistics.median(run[0] for run in runs) for name, runs in found.items()}
        first = next(iter(programs))
        print(f"\n| n = {n} | s, median | s, fastest | x {first} | nodes | ns a node |\n| --- | --- | --- | --- | --- | --- |")
        for name, runs in found.items():
            nodes = runs[0][2]
            least = min(run[0] for run in runs)
            cells = [f"{medians[name]:.3f}", f"{least:.3f}", f"{medians[first] / medians[name]:.1f}"]
            cells += [f"{nodes:.4g}", f"{1e9 * medians[name] / nodes:.2f}"] if nodes else ["", ""]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            cpu, wall = [run[0] for run in runs], [run[1] for run in runs]
            results.append({"n": n, "program": name, "cpu_s": medians[name], "nodes": nodes, "cpu": cpu, "wall": wall})
    if args.json:
        measure.write(args.json, rounds=args.rounds, results=results)


if __name__ == "__main__":
    main()
