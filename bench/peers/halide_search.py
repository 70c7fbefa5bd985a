"""Finds the fastest schedules of a pipeline on this machine.

Coordinate descent over each family's parameters and the compile target, scored by the fastest of a
few frames; the best few, measured again in turn, make the shortlist that `run.py` times in every
round. Whatever is shortlisted has first been compared with the plane that the unscheduled pipeline
gives.
"""

import json
from dataclasses import dataclass

import halide as hl
import numpy as np

import halide_graphs as hg
import halide_schedules
import pipelines
import timing

AVX2 = "x86-64-linux-avx-avx2-fma-f16c-sse41"
KEPT = 3
AGAIN = 10
# A family is not walked from a corner this many times slower than the best so far.
HOPELESS = 4.0
# Scores within this factor of each other are a close call.
CLOSE = 1.05


def targets(simd):
    """Compile targets to try, by name: this machine's own and one limited to AVX2 with FMA."""
    if simd == "avx2":
        return {"avx2": hl.Target(AVX2)}
    return {"host": hl.get_host_target(), "avx2": hl.Target(AVX2)}


@dataclass
class Candidate:
    """One compiled schedule bound to its buffers; `step()` runs a frame.

    The candidates of a search write to one plane, so `output` is what the last one of them wrote.
    """

    letter: str
    size: tuple
    family: str
    rewrite: bool
    parameters: dict
    target: str
    step: object
    output: np.ndarray

    def describe(self):
        text = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.family}({text}) on {self.target}"

    def record(self):
        """What identifies it in the raw file, enough for `rebuild`."""
        return {
            "family": self.family,
            "rewrite": self.rewrite,
            "parameters": self.parameters,
            "target": self.target,
        }


def compile_one(letter, size, family, parameters, target_name, target, plane, output):
    """Compile a schedule and bind it to the buffers; None where Halide refuses it."""
    try:
        built = family.build(**parameters)
        call = built.out.compile_to_callable([built.source], target)
        output.fill(np.nan)
        if built.flat:
            args = (hl.Buffer(plane.reshape(-1)), hl.Buffer(output.reshape(-1)))
        else:
            args = (hl.Buffer(plane), hl.Buffer(output))
        call(*args)
    except hl.HalideError:
        return None
    return Candidate(
        letter, size, family.name, family.rewrite, parameters, target_name,
        lambda: call(*args), output,
    )  # fmt: skip


def same_plane(a, b):
    """Equal but for samples next to a discontinuity, where a rounding decides."""
    return np.count_nonzero(~(np.abs(a - b) <= 1e-4)) <= max(2, a.size // 50_000)


class Search:
    """The walk over one pipeline at one size."""

    def __init__(self, letter, size, simd, log):
        self.letter, self.size, self.log = letter, size, log
        self.targets = targets(simd)
        self.plane, self.expected = halide_schedules.reference(letter, *size)
        self.output = np.empty_like(self.expected)
        self.scores = {}
        self.compiled = {}

    @staticmethod
    def key(family, point):
        return family.name, json.dumps(point, sort_keys=True)

    def score(self, family, point):
        """Milliseconds of one point, infinite where Halide refuses it or it is wrong."""
        key = self.key(family, point)
        if key not in self.scores:
            parameters = {k: v for k, v in point.items() if k != "target"}
            name = point["target"]
            found = compile_one(
                self.letter, self.size, family, parameters, name, self.targets[name],
                self.plane, self.output,
            )  # fmt: skip
            self.scores[key] = float("inf")
            if found and same_plane(found.output, self.expected):
                self.scores[key] = timing.quick(found.step)
                self.compiled[key] = found
            elif found:
                self.log(f"  wrong plane: {found.describe()}")
        return self.scores[key]

    def best_of(self, rewrite):
        kept = [
            s for k, s in self.scores.items()
            if k in self.compiled and self.compiled[k].rewrite == rewrite
        ]  # fmt: skip
        return min(kept, default=float("inf"))

    def again(self, family, point):
        """The score of a point after one more measurement of it."""
        key = self.key(family, point)
        if key in self.compiled:
            self.scores[key] = min(self.scores[key], timing.quick(self.compiled[key].step))
        return self.scores[key]

    def walk(self, family):
        """Descend from two far corners of the family's space."""
        space = {"target": tuple(self.targets), **family.space}
        for end in (0, -1):
            self.descend(family, space, {name: values[end] for name, values in space.items()})

    def descend(self, family, space, point):
        """Change one parameter at a time for as long as that helps."""
        if self.score(family, point) > HOPELESS * self.best_of(family.rewrite):
            return
        improved = True
        while improved:
            improved = False
            for name, values in space.items():
                for value in values:
                    trial = {**point, name: value}
                    if trial != point and self.better(family, trial, point):
                        point, improved = trial, True

    def better(self, family, trial, point):
        """Whether `trial` beats `point`; a close call is measured once more on both sides."""
        ms, best = self.score(family, trial), self.score(family, point)
        if ms > CLOSE * best:
            return False
        return self.again(family, trial) < self.again(family, point)

    def shortlist(self, rewrite):
        """The best few, after measuring the front of the field once more in turn."""
        front = [k for k in self.compiled if self.compiled[k].rewrite == rewrite]
        front = sorted(front, key=self.scores.get)[:AGAIN]
        for _ in range(3):
            for key in front:
                self.scores[key] = min(self.scores[key], timing.quick(self.compiled[key].step))
        return [self.compiled[k] for k in sorted(front, key=self.scores.get)[:KEPT]]


def search(letter, size, simd, log):
    """Shortlists of a pipeline: (schedules, rewrites), best first; rewrites may be empty."""
    walk = Search(letter, size, simd, log)
    for family in halide_schedules.families(letter, *size):
        walk.walk(family)
    plain, rewrites = walk.shortlist(False), walk.shortlist(True)
    tried = len(walk.scores)
    log(f"  {letter} {size[0]}x{size[1]}: {tried} schedules, best {walk.best_of(False):.4f} ms,"
        f" {plain[0].describe()}")  # fmt: skip
    return plain, rewrites, tried


def rebuild(letter, size, simd, records):
    """Compile shortlisted schedules again from their records."""
    by_name = {f.name: f for f in halide_schedules.families(letter, *size)}
    known = targets(simd)
    plane, expected = halide_schedules.reference(letter, *size)
    output = np.empty_like(expected)
    found = []
    for record in records:
        name = record["target"]
        candidate = compile_one(
            letter, size, by_name[record["family"]], record["parameters"], name, known[name],
            plane, output,
        )  # fmt: skip
        if candidate is None or not same_plane(candidate.output, expected):
            raise SystemExit(f"schedule {record} no longer gives the plane; search again: --search")
        found.append(candidate)
    return found


def copy_ms(size):
    """A frame's plain copy on two threads: what one read and one write of the plane cost."""
    width, height = size
    src = hg.source(width, height)
    out = hg.pointwise(src, "copy", src[hg.X, hg.Y])
    halide_schedules.rows(out.func, height, -(-height // 2), 16)
    built = halide_schedules.dense(src, out)
    call = built.out.compile_to_callable([built.source], hl.get_host_target())
    plane = pipelines.test_plane(width, height)
    source, sink = hl.Buffer(plane), hl.Buffer(np.zeros_like(plane))
    return timing.round_of(lambda: call(source, sink))["median"]


def call_overhead_ms():
    """Cost of a call of an empty pipeline from Python, serial and with two parallel tasks."""
    return {"serial": empty_call_ms(False), "parallel": empty_call_ms(True)}


def empty_call_ms(parallel):
    out = hl.Func("empty")
    out[hg.X, hg.Y] = hl.f32(0)
    if parallel:
        out.parallel(hg.Y)
    call = out.compile_to_callable([], hl.get_host_target())
    buffer = hl.Buffer(np.zeros((2, 1), np.float32))
    return timing.round_of(lambda: call(buffer))["median"]
