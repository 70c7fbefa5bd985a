#!/usr/bin/env python3
"""`evener image pack` beside `zstd` and `qemu-img convert -c`, from file to file, in one interleaved run.

    bench/peers/block/pack.py IMAGE [--rounds N] [--dir DIR] [--workers N] [--level L] [--block SIZE] [--json FILE]

IMAGE is a raw image; its file and the directory should lie in memory, so that programs are measured and no disk. Every
round runs each program once, a different one first, by the wall clock from start to end of its process; its output of
the round before is gone by then. zstd gets as many threads as evener has workers. What evener packed is unpacked by
zstd and compared before anything is measured. A program that is missing is left out. Needs cargo.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402

# What must be reached, as evener's speed over a peer's.
GOALS = {"zstd": 0.95}


def programs(binary, options, directory):
    """Commands that pack the image into `output`, by name."""
    output, workers = directory / "output", str(options.workers)
    pack = [binary, "image", "pack", options.image, output, "--workers", workers, "--block", options.block]
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


def once(name, command, directory):
    """Seconds, and bytes of the output."""
    output = directory / "output"
    output.unlink(missing_ok=True)
    # Plans are remembered from round to round as a user's are, but not among the user's own.
    seconds = measure.timed(command, name, XDG_CACHE_HOME=directory / "cache").wall
    if not output.stat().st_size:
        sys.exit(f"{name}: its output is empty")
    return seconds, output.stat().st_size


def check(command, image, directory):
    """zstd has to unpack what evener packs, or the times mean nothing."""
    once("evener", command, directory)
    unpack = subprocess.Popen(["zstd", "-dc", directory / "output"], stdout=subprocess.PIPE)
    same = subprocess.run(["cmp", "-", image], stdin=unpack.stdout)
    if same.returncode != 0 or unpack.wait() != 0:
        sys.exit("zstd does not unpack what evener packed")


def run(options, binary, directory):
    commands = programs(binary, options, directory)
    if "zstd" in commands:
        check(commands["evener"], options.image, directory)
    # The first round brings programs into memory and lets evener find a plan.
    both = measure.rounds(commands, options.rounds, lambda name: once(name, commands[name], directory), warm=1)
    rounds = [{name: seconds for name, (seconds, _) in found.items()} for found in both]
    return rounds, {name: size for name, (_, size) in both[-1].items()}


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

    binary = evener.build()
    with tempfile.TemporaryDirectory(prefix="evener-block-", dir=options.dir) as directory:
        rounds, sizes = run(options, binary, Path(directory))

    measure.show(f"{size / 2**20:.0f} MiB, level {options.level}", rounds, size / 2**20, GOALS, "evener", sizes)
    if options.json:
        measure.write(
            options.json,
            versions={name: measure.version(name, "--version") for name in ["zstd", "qemu-img"]},
            bytes=size,
            level=options.level,
            block=options.block,
            workers=options.workers,
            unit="seconds of wall clock, a process from start to end",
            medians=measure.medians(rounds),
            sizes=sizes,
            rounds=rounds,
        )


if __name__ == "__main__":
    main()
