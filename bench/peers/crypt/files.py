#!/usr/bin/env python3
"""`evener encrypt` and `evener ctr` from file to file beside `age` and `openssl enc -aes-256-ctr`, in one interleaved run.

    bench/peers/crypt/files.py [--mib N] [--rounds N] [--dir DIR] [--workers N] [--json FILE]

The directory should lie in memory, so that programs are measured and no disk. Every round runs each program once, a
different one first, by the wall clock from start to end of its process; its output of the round before is gone by then.
`cp`, and writing bytes that are ready, take their turns too: no program that writes the file by one call after the other can
be faster than the latter, because the system lets one thread at a time write to a file.
A program that is missing is left out. Needs cargo; age and openssl are packages of Debian.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402

KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
IV = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
# What must be reached, as evener's speed over a peer's.
GOALS = {"age": 4.0, "openssl": 1.5}
# The bound: what the system takes to write the file, whatever is in it.
WRITING = "ready bytes"


def make_input(path, mib):
    """Bytes that cannot be compressed, though nobody here tries."""
    block = os.urandom(1 << 20)
    with path.open("wb") as file:
        for number in range(mib):
            file.write(number.to_bytes(8, "big") + block[8:])


def programs(binary, workers, directory):
    """Commands that encrypt `input` into `output`, by name."""
    plain, output = directory / "input", directory / "output"
    key = directory / "key"
    subprocess.run([binary, "keygen", "-o", key], check=True)
    more = ["--workers", str(workers)] if workers else []
    found = {
        "evener encrypt": [binary, "encrypt", "-k", key, *more, "-o", output, plain],
        "evener ctr": [binary, "ctr", "--key", KEY, "--iv", IV, *more, "-o", output, plain],
    }
    if shutil.which("age") and shutil.which("age-keygen"):
        identity = directory / "identity"
        subprocess.run(["age-keygen", "-o", identity], check=True, capture_output=True)
        listed = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True)
        found["age"] = ["age", "-r", listed.stdout.strip(), "-o", output, plain]
    if shutil.which("openssl"):
        found["openssl"] = ["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV, "-in", plain, "-out", output]
    found["cp"] = ["cp", plain, output]
    found[WRITING] = None
    return found


def write_ready(output, mib):
    block = bytes(range(256)) * 4096
    with output.open("wb", buffering=0) as file:
        for _ in range(mib):
            file.write(block)


def once(name, command, directory, mib):
    output = directory / "output"
    output.unlink(missing_ok=True)
    if command is None:
        begin = time.perf_counter()
        write_ready(output, mib)
        return time.perf_counter() - begin
    # Plans are remembered from round to round as a user's are, but not among the user's own.
    seconds = measure.timed(command, name, XDG_CACHE_HOME=directory / "cache").wall
    if output.stat().st_size < mib << 20:
        sys.exit(f"{name}: its output is too short")
    return seconds


def check(binary, directory):
    """Both programs' counter mode has to be the same, or the times mean nothing."""
    head = directory / "head"
    head.write_bytes((directory / "input").read_bytes()[: 1 << 20])
    ours = subprocess.run([binary, "ctr", "--key", KEY, "--iv", IV, head], check=True, capture_output=True).stdout
    enc = ["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV, "-in", head]
    if ours != subprocess.run(enc, check=True, capture_output=True).stdout:
        sys.exit("evener ctr and openssl enc do not agree")


def run(options, binary, directory):
    make_input(directory / "input", options.mib)
    commands = programs(binary, options.workers, directory)
    if "openssl" in commands:
        check(binary, directory)
    # The first round brings programs into memory and lets evener find a plan.
    return measure.rounds(
        commands, options.rounds, lambda name: once(name, commands[name], directory, options.mib), warm=1
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="size of the file (default: 1024)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where files lie (default: /dev/shm)")
    parser.add_argument("--workers", type=int, help="of evener; otherwise its own choice")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    options = parser.parse_args()
    # Input and output; every output is deleted before the next.
    room, wanted = shutil.disk_usage(options.dir).free, (options.mib * 2 + 64) << 20
    if room < wanted:
        sys.exit(f"{options.dir} has {room >> 20} MiB free, {wanted >> 20} are needed; choose --mib or --dir")

    binary = evener.build()
    with tempfile.TemporaryDirectory(prefix="evener-files-", dir=options.dir) as directory:
        rounds = run(options, binary, Path(directory))

    measure.show(f"file to file, {options.mib} MiB", rounds, options.mib, GOALS, "evener encrypt")
    for peer in GOALS.keys() & rounds[0].keys():
        print(f"writing alone over {peer}: {measure.ratio(rounds, peer, WRITING):.2f}x")
    if options.json:
        measure.write(
            options.json,
            versions={"age": measure.version("age", "--version"), "openssl": measure.version("openssl", "version")},
            mib=options.mib,
            workers=options.workers,
            unit="seconds of wall clock, a process from start to end",
            medians=measure.medians(rounds),
            rounds=rounds,
        )


if __name__ == "__main__":
    main()
