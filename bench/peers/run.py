"""Times the seven pipelines in Halide, OpenCV and evener, interleaved in one run.

Usage: run.sh [--json FILE] [--rounds 7] [--only A,D] [--sizes 1920x1080,352x288] [--peers-only]
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
from importlib import metadata
from pathlib import Path

import compare
import evener
import halide_search
import machine
import measure
import opencv_graphs
import pipelines
import timing

OUT = Path(__file__).resolve().parent / "out"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="ABCDEFG", help="letters of the pipelines to run")
    parser.add_argument("--sizes", default=",".join(f"{w}x{h}" for w, h in pipelines.SIZES))
    parser.add_argument("--frames", type=int, help="frames of an evener process")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--peers-only", action="store_true", help="leave evener out")
    parser.add_argument("--no-build", action="store_true", help="take the binary as it is")
    parser.add_argument("--search", action="store_true", help="search Halide schedules anew")
    parser.add_argument(
        "--simd", choices=("avx2",), help="limit Halide, OpenCV and evener to this level"
    )
    return parser.parse_args()


def log(text):
    print(text, file=sys.stderr, flush=True)


class Cell:
    """One pipeline at one size with everything needed to run a frame of any peer."""

    def __init__(self, pipeline, size, options, remembered):
        self.pipeline, self.size, self.options = pipeline, size, options
        plane = pipelines.test_plane(*size)
        self.codes = pipelines.test_codes(*size)
        self.opencv = opencv_graphs.Chain(plane, pipeline.graph)
        plain, rewrites = schedules(pipeline.letter, size, options.simd, remembered)
        self.halide = {"halide": plain, "halide_rewrite": rewrites}
        self.rounds = {"halide": {}, "halide_rewrite": {}, "opencv": {}, "evener": {}}

    def keep(self, peer, variant, record):
        self.rounds[peer].setdefault(variant, []).append(record)

    def run_halide(self):
        for peer, candidates in self.halide.items():
            for candidate in candidates:
                self.keep(peer, candidate.describe(), timing.round_of(candidate.step))

    def run_opencv(self):
        record = timing.round_of(self.opencv.step)
        self.keep("opencv", "; ".join(self.opencv.names), record)

    def run_evener(self):
        big = self.size[0] * self.size[1] > 1_000_000
        frames = self.options.frames or (1000 if big else 6000)
        record = evener.bench_filters(
            self.pipeline.graph, self.size, frames, simd=self.options.simd, codes=self.codes
        )
        # The tuner may end a round on another plan; the rounds are one variant all the same.
        self.keep("evener", "auto", {**record["ms"], "record": record})

    def result(self):
        cell = {
            "letter": self.pipeline.letter,
            "graph": self.pipeline.graph,
            "size": list(self.size),
            "rounds": self.rounds,
        }
        cell["summary"] = compare.summarise(cell)
        return cell


def schedules(letter, size, simd, remembered):
    """Shortlisted Halide schedules, from an earlier search on this machine where there is one."""
    key = f"{letter} {size[0]}x{size[1]}"
    if key in remembered:
        known = remembered[key]
        return (
            halide_search.rebuild(letter, size, simd, known["plain"]),
            halide_search.rebuild(letter, size, simd, known["rewrites"]),
        )
    plain, rewrites, tried = halide_search.search(letter, size, simd, log)
    remembered[key] = {
        "tried": tried,
        "plain": [c.record() for c in plain],
        "rewrites": [c.record() for c in rewrites],
    }
    return plain, rewrites


def memory_path(options):
    """Where this machine's shortlists are kept between runs."""
    identity = machine.cpu_identity()
    name = "-".join(
        [identity.get("cpu_family", "x"), identity.get("model", "x"), options.simd or "host"]
    )
    return OUT / f"schedules-{name}.json"


def versions(options):
    found = {
        "halide": metadata.version("halide"),
        "opencv": metadata.version("opencv-python-headless"),
        "numpy": metadata.version("numpy"),
        "python": platform.python_version(),
    }
    if not options.peers_only:
        found["evener"] = evener.version()
    return found


def prepare(options):
    """All cells, with schedules searched or remembered."""
    path = memory_path(options)
    remembered = {}
    if path.exists() and not options.search:
        remembered = json.loads(path.read_text())
    cells = []
    for text in options.sizes.split(","):
        size = tuple(int(n) for n in text.split("x"))
        for pipeline in pipelines.PIPELINES:
            if pipeline.letter in options.only:
                log(f"preparing {pipeline.letter} {text}")
                cells.append(Cell(pipeline, size, options, remembered))
                OUT.mkdir(exist_ok=True)
                path.write_text(json.dumps(remembered, indent=1) + "\n")
    return cells, {k: v["tried"] for k, v in remembered.items()}


def interleaved(cells, copies, options):
    """Rounds over all cells; within a cell the peers follow each other, first one in turn.

    Each round also times a plain copy of a plane per size, into `copies`.
    """
    for number in range(options.rounds):
        log(f"round {number + 1} of {options.rounds}")
        for size, times in copies.items():
            times.append(halide_search.copy_ms(tuple(int(n) for n in size.split("x"))))
        for cell in cells:
            steps = [cell.run_halide, cell.run_opencv]
            if not options.peers_only:
                steps.append(cell.run_evener)
            for step in measure.turn(steps, number):
                step()


def main():
    options = arguments()
    described = machine.describe()
    if not options.peers_only and not options.no_build:
        evener.build()
    overhead = halide_search.call_overhead_ms()
    cells, tried = prepare(options)
    copies = {f"{w}x{h}": [] for w, h in {cell.size for cell in cells}}
    interleaved(cells, copies, options)
    copies = {size: statistics.median(times) for size, times in copies.items()}
    described["load_at_end"] = os.getloadavg()[0]
    results = [cell.result() for cell in cells]
    print(f"{described['cpu']}, {described['cpus']} CPUs, {options.simd or described['simd']}, "
          f"{options.date}, {options.rounds} rounds, 2 threads each\n")  # fmt: skip
    print(compare.table(results))
    print(compare.table(results, "fastest_"))
    print(f"A Halide call from Python costs {overhead['serial'] * 1e3:.1f} us when empty, "
          f"{overhead['parallel'] * 1e3:.1f} us with two empty parallel tasks; "
          "it is inside Halide's times.\n")  # fmt: skip
    for size, ms in copies.items():
        print(f"A plain copy of a {size} plane on two threads: {compare.figure(ms)} ms.")
    print()
    print(compare.choices(results))
    if options.json:
        measure.write(
            options.json,
            date=options.date,
            machine=described,
            versions=versions(options),
            simd_limit=options.simd,
            threads=2,
            rounds=options.rounds,
            halide_call_overhead_ms=overhead,
            plain_copy_ms=copies,
            halide_schedules_tried=tried,
            cells=results,
        )
        log(f"raw results in {options.json}")


if __name__ == "__main__":
    main()
