"""Compares what evener, Halide and OpenCV put out with a float64 model of each filter, and evener with both.

Usage: run.sh check [--peers-only] [--plan tiled] [--size 318x203]

All planes are 8-bit codes. Away from discontinuities every sample must be within one code of the
model, and every sample of evener within one code of each peer's; at them (see `model.py`) at most
`MARKED_SHARE` of a plane may be marked, and marked samples may differ. OpenCV blends the border of
a warp with the fill where the definition cuts: that band, one sample wide, is marked for OpenCV alone. Neither smooths what it
shrinks as the definition does, so such graphs are compared with the model alone.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

import evener
import halide_graphs
import model
import opencv_graphs
import pipelines
import y4m

GRAPHS = (
    "blur", "gaussian", "gaussian=2.5", "sobel_x", "sobel_y", "sobel",
    "threshold", "threshold=0.3", "undistort", "undistort=0.08", "crop", "crop=0.5",
    "rotate=6", "rotate=-137", "rotate=90", "resize=200:150", "resize=401:333",
    "posterize", "posterize=5", "binary", "flip=h", "flip=v",
    *(p.graph for p in pipelines.PIPELINES),
)  # fmt: skip

# Warps whose source border runs along the plane's own (90 degrees) mark one line at each edge.
MARKED_SHARE = 0.03


def codes(plane):
    """Samples as stored: clamped, times 255, rounded half to even."""
    return np.rint(np.clip(plane, 0.0, 1.0) * 255.0).astype(np.int64)


def by_halide(frame, graph):
    return codes(halide_graphs.run_plain(as_plane(frame), graph))


def by_opencv(frame, graph):
    chain = opencv_graphs.Chain(as_plane(frame), graph)
    chain.step()
    return codes(chain.output)


def as_plane(frame):
    return np.ascontiguousarray((frame / 255.0).astype(np.float32))


def by_evener(frames, graph, plan, simd):
    """Every frame of a mono stream through `evener filter`."""
    with tempfile.TemporaryDirectory() as folder:
        source, sink = Path(folder) / "in.y4m", Path(folder) / "out.y4m"
        y4m.write(source, frames)
        evener.filter_file(graph, source, sink, plan, simd)
        found = y4m.read(sink)
    if len(found) != len(frames):
        raise SystemExit(f"{graph}: {len(frames)} frames in, {len(found)} out")
    return [frame.astype(np.int64) for frame in found]


def judge(found, expected, marked):
    """(passed, line) for one plane of codes against another."""
    if found.shape != expected.shape:
        return False, f"size {found.shape[::-1]}, expected {expected.shape[::-1]}"
    difference = np.abs(found - expected)
    clear = np.where(marked, 0, difference)
    passed = clear.max() <= 1 and marked.mean() <= MARKED_SHARE
    return passed, (
        f"max {clear.max()}, mean {clear.mean():.5f}, "
        f"marked {marked.sum()} ({(difference[marked] > 1).sum()} of them differ)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers-only", action="store_true", help="leave evener out")
    parser.add_argument("--plan", default="tiled", help="plan of `evener filter`")
    parser.add_argument("--size", default="318x203")
    parser.add_argument("--simd", help="value of EVENER_CPU")
    parser.add_argument("--graph", action="append", help="only this graph; may be repeated")
    options = parser.parse_args()
    width, height = (int(n) for n in options.size.split("x"))
    first = pipelines.test_codes(width, height)
    frames = [first, np.ascontiguousarray(255 - first[::-1, ::-1])]

    failures = 0
    for graph in options.graph or GRAPHS:
        own = [None] * len(frames)
        if not options.peers_only:
            own = by_evener(frames, graph, options.plan, options.simd)
        for number, frame in enumerate(frames):
            peers = () if pipelines.shrinks(graph, width, height) else ("Halide", "OpenCV")
            for peer in ("evener", *peers):
                if peer == "evener":
                    found = own[number]
                else:
                    found = (by_halide if peer == "Halide" else by_opencv)(frame, graph)
                if found is None:
                    continue
                expected, marked = model.run(frame / 255.0, graph, blended=peer == "OpenCV")
                compared = [(peer, found, codes(expected))]
                if peer != "evener" and own[number] is not None:
                    compared.append((f"evener, {peer}", own[number], found))
                for of, one, other in compared:
                    passed, line = judge(one, other, marked)
                    failures += not passed
                    mark = "ok  " if passed else "FAIL"
                    print(f"{mark} {graph:<28} frame {number} {of:<15} {line}")
    if failures:
        sys.exit(f"{failures} comparisons failed")


if __name__ == "__main__":
    main()
