#!/usr/bin/env python3
"""`evener image pack` beside `zstd` and `qemu-img convert -c`, from file to file, in one interleaved run.

    bench/peers/block/pack.py IMAGE [--rounds N] [--dir DIR] [--workers N] [--level L] [--block SIZE] [--json FILE]

IMAGE is a raw image; its file and the directory should lie in memory, so that programs are measured and no disk. Every
round runs each program once, a different one first, by the wall clock from start to end of its process; its output of
the round before is gone by then. zstd gets as many threads as evener has workers. What evener packed is unpacked by
zstd and compared before anything is measured. A program that is missing is left out. Needs cargo.
"""

import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402

# What must be reached, as evener's speed over a peer's.
GOALS = {"zstd": 0.95}


def evener_binary():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    build = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "evener", "--target-dir", target]
    subprocess.run(build, cwd=ROOT, check=True)
    return target / "release/evener"


def programs(evener, options, directory):
    """Commands that pack the image into `output`, by name."""
    output, workers = directory / "output", str(options.workers)
    pack = [evener, "image", "pack", options.image, output, "--workers", workers, "--block", options.block]
    found = {
        "evener": [*pack, "--level", str(options.level)],
        "evener lz4": [*pack, "--codec", "lz4"],
        "evener none": [*pack, "--codec", "none"],
    }
    if shutil.which("zstd"):
        found["zstd"] = ["zstd", "-q", "-f", f"-T{workers}", f"-{options.level}", options.image, "-o", output]
    if shutil.which("qemu-img"):
        qcow2 = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-W", "-m", "16"]
        found["qemu-img"] = [*qcow2, "-o", "compression_type=zstd", options.image, output]
    return found


def measure(name, command, directory):
    output = directory / "output"
    output.unlink(missing_ok=True)
    # Plans are remembered from round to round as a user's are, but not among the user's own.
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache")}
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - begin
    if done.returncode != 0 or not output.stat().st_size:
        sys.exit(f"{name}: status {done.returncode}: {done.stderr.strip()}")
    return seconds, output.stat().st_size


def check(command, image, directory):
    """zstd has to unpack what evener packs, or the times mean nothing."""
    measure("evener", command, directory)
    unpack = subprocess.Popen(["zstd", "-dc", directory / "output"], stdout=subprocess.PIPE)
    same = subprocess.run(["cmp", "-", image], stdin=unpack.stdout)
    if same.returncode != 0 or unpack.wait() != 0:
        sys.exit("zstd does not unpack what evener packed")


def version(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return (done.stdout or done.stderr).strip().splitlines()[0]


def run(options, evener, directory):
    commands = programs(evener, options, directory)
    if "zstd" in commands:
        check(commands["evener"], options.image, directory)
    names = list(commands)
    rounds, sizes = [], {}
    # The first goes unrecorded: it brings programs into memory and lets evener find a plan.
    for number in range(options.rounds + 1):
        first = number % len(names)
        seconds = {}
        for name in names[first:] + names[:first]:
            seconds[name], sizes[name] = measure(name, commands[name], directory)
        if number > 0:
            rounds.append(seconds)
            print(f"round {number} of {options.rounds}", file=sys.stderr)
    return rounds, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where outputs lie (default: /dev/shm)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--level", type=int, default=3, help="of zstd (default: 3)")
    parser.add_argument("--block", default="64K", help="of evener (default: 64K)")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    options = parser.parse_args()
    options.image = options.image.resolve()
    size = options.image.stat().st_size
    if shutil.disk_usage(options.dir).free < size * 1.1:
        sys.exit(f"{options.dir} has not {size >> 20} MiB free; choose another --dir")

    evener = evener_binary()
    with tempfile.TemporaryDirectory(prefix="evener-block-", dir=options.dir) as directory:
        rounds, sizes = run(options, evener, Path(directory))

    medians = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    peers = [name for name in GOALS if name in medians]
    heads = "".join(f"{'x ' + peer:>12}" for peer in peers)
    mib = size / 2**20
    print(f"{f'{mib:.0f} MiB, level {options.level}':28}{'seconds':>9}{'best':>9}{'MiB/s':>9}{'MiB':>9}{heads}")
    for name, median in medians.items():
        ratios = "".join(f"{medians[peer] / median:>12.2f}" for peer in peers)
        best = min(r[name] for r in rounds)
        print(f"{name:28}{median:9.3f}{best:9.3f}{mib / median:9.0f}{sizes[name] / 2**20:9.1f}{ratios}")
    for peer in peers:
        # Ratios within a round, as the machine's speed changes from one to the next.
        ratio = statistics.median(r[peer] / r["evener"] for r in rounds)
        verdict = "reached" if ratio >= GOALS[peer] else "missed"
        print(f"evener over {peer}: {ratio:.2f}x, to reach {GOALS[peer]}x: {verdict}")

    if options.json:
        report = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine.describe(),
            "versions": {"zstd": version("zstd", "--version"), "qemu-img": version("qemu-img", "--version")},
            "bytes": size,
            "level": options.level,
            "block": options.block,
            "workers": options.workers,
            "unit": "seconds of wall clock, a process from start to end",
            "medians": medians,
            "sizes": sizes,
            "rounds": rounds,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
