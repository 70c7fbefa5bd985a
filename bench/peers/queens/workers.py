#!/usr/bin/env python3
"""What a second processor brings to `evener queens`, and what checkpoints cost.

    bench/peers/queens/workers.py [--sizes N …] [--levels LEVEL …] [--rounds N] [--checkpoint N] [--dir DIR]

Writes queens-possible.json and queens-checkpoint.json into the directory. The first has whole processes by the clock, in
turns: one worker; two workers; and two processes of one worker each, on a processor of its own, which is twice the work
and more than any two workers can bring. The second has two workers without a checkpoint, with one every 5 and every 0.5
seconds, and with one after every unit. Needs cargo and two processors.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402

CHECKPOINTS = {"none": None, "every 5 s": "5", "every 0.5 s": "0.5", "every unit": "0"}


def together(binary, n, simd, processes):
    """Seconds until all of some processes have ended; each has its number of workers, and a processor or none."""
    begin = time.perf_counter()
    running = []
    for workers, cpu in processes:
        command = [binary, "queens", str(n), "--plan", "farm", "--workers", str(workers)]
        pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
        running.append(
            subprocess.Popen([*pinned, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "EVENER_CPU": simd})
        )  # fmt: skip
    if any([process.wait() for process in running]):
        sys.exit(f"evener queens {n} failed with EVENER_CPU={simd}")
    return time.perf_counter() - begin


def possible(binary, n, simd, rounds):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    ways = {
        "one": [(1, first)],
        "two processes": [(1, first), (1, second)],
        "two workers": [(2, None)],
    }
    found = measure.rounds(ways, rounds, lambda name: together(binary, n, simd, ways[name]))
    gain = measure.ratio(found, "one", "two workers")
    most = 2 * measure.ratio(found, "one", "two processes")
    print(f"N = {n}, {simd}: two workers are {gain:.2f} times as fast as one, two processes did {most:.2f} times as much")
    seconds = {name: [round(one[name], 4) for one in found] for name in ways}
    return {"n": n, "simd": simd, "seconds": seconds, "gain": gain, "possible": most}


def checkpoints(binary, n, rounds, directory):
    file = directory / "checkpoint"

    def once(name):
        file.unlink(missing_ok=True)
        every = CHECKPOINTS[name]
        more = [] if every is None else ["--checkpoint", file, "--checkpoint-every", every]
        return measure.timed([binary, "queens", str(n), "--plan", "farm", "--workers", "2", *more])

    found = measure.rounds(CHECKPOINTS, rounds, once)
    for name in CHECKPOINTS:
        wall, cpu = ([getattr(one[name], of) for one in found] for of in ["wall", "cpu"])
        print(f"N = {n}, {name}: {statistics.median(wall):.4f} s, {statistics.median(cpu):.4f} s of processors")
    return {
        name: [{"wall": round(one[name].wall, 4), "cpu": round(one[name].cpu, 4)} for one in found]
        for name in CHECKPOINTS
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[17, 18], help="boards of the first (default: 17 18)")
    parser.add_argument("--levels", nargs="+", default=["avx2", "avx512"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--checkpoint", type=int, default=18, help="board of the second (default: 18)")
    parser.add_argument("--dir", type=Path, default=Path("."), help="where the results go (default: here)")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("there is one processor; this needs two")

    binary = evener.build()
    results = [possible(binary, n, simd, options.rounds) for simd in options.levels for n in options.sizes]
    what = (
        "evener queens N --plan farm: one worker, two workers, and two processes of one worker each on a CPU of its own, "
        "in turns; seconds of whole processes"
    )
    measure.write(options.dir / "queens-possible.json", what=what, results=results)
    with tempfile.TemporaryDirectory(prefix="evener-queens-") as directory:
        runs = checkpoints(binary, options.checkpoint, options.rounds, Path(directory))
    what = f"evener queens {options.checkpoint} --plan farm, 2 workers, seconds on the wall and of processors, in turns"
    measure.write(options.dir / "queens-checkpoint.json", what=what, runs=runs)


if __name__ == "__main__":
    main()
