#!/usr/bin/env python3
"""Measures the package: against the command on the same frames, the cost of a call, memory, and against other libraries.

All that is compared takes turns in one run, and rows are of medians. Usage: compare.py [--command evener] [--rounds 7]
[--json FILE]. OpenCV and kornia-rs are measured if they are installed (opencv-python-headless>=5, kornia-rs).
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import evener as ev

HEIGHT, WIDTH, FRAMES = 1080, 1920, 100
GRAPH = ev.blur().sobel().threshold()
# Those of bench/peers.
GRAPHS = {
    "A": "blur,sobel,threshold=0.25",
    "B": "undistort,rotate=6,crop=0.8",
    "C": "undistort,rotate=60,crop=0.8",
    "D": "posterize,threshold,binary",
    "E": "threshold,binary,rotate=30",
    "F": "threshold,rotate=30,binary",
    "G": "rotate=30,threshold,binary",
}
# A way to compute a graph counts if no more samples than this differ by more than a code.
DIFFERENT = 0.01


def scene():
    """The frames of evener's test scene, luma alone."""
    with tempfile.NamedTemporaryFile(suffix=".y4m", dir="/dev/shm") as file:
        source = f"testsrc:{WIDTH}x{HEIGHT}:{FRAMES}:mono"
        ev.read(source).pipe(ev.crop(WIDTH, HEIGHT, 0, 0)).write(file.name)
        rest = open(file.name, "rb").read().split(b"\n", 1)[1]
    frames = np.frombuffer(rest, np.uint8).reshape(FRAMES, 6 + WIDTH * HEIGHT)
    return np.ascontiguousarray(frames[:, 6:]).reshape(FRAMES, HEIGHT, WIDTH)


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def turns(rounds, works):
    """Seconds of each, in rounds, in which each has its turn; the first is not counted."""
    times = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            took = work()
            if number:
                times[name].append(took)
    return times


def of_command(command, path):
    """Seconds in which the command filters the frames, as it reports them."""

    def work():
        run = [command, "filter", str(GRAPH), "-i", path, "-o", "null:", "--json", "-", "--quiet"]
        report = json.loads(subprocess.run(run, capture_output=True, check=True).stdout)
        assert report["units"] == FRAMES
        return report["wall_s"]

    return work


def against_command(command, rounds, frames):
    """Whole arrays and one frame a call, beside the command on the same frames."""
    out = np.empty_like(frames)
    with tempfile.NamedTemporaryFile(suffix=".y4m", dir="/dev/shm") as file, GRAPH.open(HEIGHT, WIDTH) as stream:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A0:0 Cmono\n" % (WIDTH, HEIGHT))
        for frame in frames:
            file.write(b"FRAME\n")
            file.write(frame)
        file.flush()

        def each():
            for number in range(FRAMES):
                stream(frames[number], out[number])

        def mapped():
            for _ in stream.map(frames):
                pass

        works = {
            "command": of_command(command, file.name),
            "array": lambda: seconds(lambda: GRAPH(frames)),
            "array, out": lambda: seconds(lambda: GRAPH(frames, out)),
            "frame a call, out": lambda: seconds(each),
            "map": lambda: seconds(mapped),
        }
        times = turns(rounds, works)
    return {name: {"fps": FRAMES / statistics.median(took), "seconds": took} for name, took in times.items()}


def small_calls(rounds):
    """Microseconds of a call with 64x64 samples beyond the kernel."""
    frame = np.random.default_rng(1).integers(0, 256, (64, 64), dtype=np.uint8)
    out = np.empty_like(frame)
    many = np.broadcast_to(frame, (4000, 64, 64))
    calls, kernels = [], []
    with GRAPH.open(64, 64) as stream:
        for number in range(rounds + 1):
            took = seconds(lambda: [stream(frame, out) for _ in range(2000)]) / 2000
            kernel = GRAPH.profile(many, workers=1, plan="sequential")[1].to_dict()["times"]["median_s"]
            if number:
                calls.append(1e6 * took)
                kernels.append(1e6 * kernel)
    call, kernel = statistics.median(calls), statistics.median(kernels)
    return {"call_us": call, "kernel_us": kernel, "beyond_us": call - kernel, "calls": calls, "kernels": kernels}


def memory(frames):
    """KiB by which the process grows while 1,000 frames go through an open stream."""
    out = np.empty_like(frames[0])
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with GRAPH.open(HEIGHT, WIDTH) as stream:
        for number in range(100):
            stream(frames[number % FRAMES], out)
        before = peak()
        for number in range(1000):
            stream(frames[number % FRAMES], out)
        return {"grown_kib": peak() - before, "of_frames_kib": 1000 * HEIGHT * WIDTH >> 10}


def different(own, other):
    """The share of samples that differ by more than a code."""
    return float(np.mean(np.abs(own.astype(np.int16) - other) > 1))


def with_opencv(letter, frames, own):
    """The fastest of the ways that OpenCV has and that give evener's samples: its work, and what there is to say of it."""
    import opencv_graphs

    out, found = np.empty_like(own), []
    for way, (work, step) in opencv_graphs.all_ways(letter, frames, out).items():
        share = different(own[0], step(frames[0], out[0]))
        if share <= DIFFERENT:
            found.append((min(seconds(work) for _ in range(3)), way, work, share))
    _, way, work, share = min(found, key=lambda entry: entry[0])
    return opencv_graphs.NAME, work, {"way": way, "different": share}


def with_kornia(letter, frames, _):
    """What kornia-rs has of a graph; None if it has nothing."""
    import kornia_graphs

    step = kornia_graphs.STEPS.get(letter)
    if step is None:
        return None

    def work():
        for frame in frames:
            step(frame)

    return kornia_graphs.NAME, work, {"way": step.__doc__.splitlines()[0]}


def against_others(rounds, frames):
    """Frames a second of each graph, beside other libraries."""
    frames, results = frames[:30], {}
    for letter, text in GRAPHS.items():
        graph = ev.graph(text)
        own = graph(frames)
        works = {"evener": lambda: seconds(lambda: graph(frames, own))}
        notes = {}
        for make in [with_opencv, with_kornia]:
            try:
                made = make(letter, frames, own)
            except ImportError as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
            if made is not None:
                name, work, notes[name] = made
                works[name] = lambda work=work: seconds(work)
        times = turns(rounds, works)
        fps = {who: len(frames) / statistics.median(took) for who, took in times.items()}
        others = {
            who: {"fps": fps[who], "ratio": fps["evener"] / fps[who], "seconds": times[who], **note}
            for who, note in notes.items()
        }
        results[letter] = {"graph": text, "fps": fps["evener"], "seconds": times["evener"], "others": others}
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="evener")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("--only", choices=["command", "small", "memory", "others"])
    args = parser.parse_args()
    frames = scene()
    parts = {
        "command": lambda: against_command(args.command, args.rounds, frames),
        "small": lambda: small_calls(args.rounds),
        "memory": lambda: memory(frames),
        "others": lambda: against_others(args.rounds, frames),
    }
    results = {name: part() for name, part in parts.items() if args.only in (None, name)}
    model = next((line for line in open("/proc/cpuinfo") if line.startswith("model name")), ": unknown")
    results["machine"] = f"{model.split(':')[1].strip()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    if "command" in results:
        base = results["command"]["command"]["fps"]
        for name, row in results["command"].items():
            print(f"{name:<20} {row['fps']:7.1f} fps  {100 * row['fps'] / base:5.1f} % of the command")
    if "small" in results:
        print("64x64: {call_us:.1f} us a call, kernel {kernel_us:.1f}, beyond {beyond_us:.1f}".format(**results["small"]))
    if "memory" in results:
        print("1,000 frames of {of_frames_kib} KiB: the process grows by {grown_kib} KiB".format(**results["memory"]))
    for letter, row in results.get("others", {}).items():
        print(f"{letter} {row['graph']}: {row['fps']:.0f} fps")
        for name, other in row["others"].items():
            share = f", {100 * other['different']:.2f} % differ" if "different" in other else ""
            print(f"  {name}: {other['fps']:.0f} fps, {other['ratio']:.2f}x ({other['way']}{share})")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
