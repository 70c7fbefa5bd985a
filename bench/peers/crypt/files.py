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

KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
IV = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
# What must be reached, as evener's speed over a peer's.
GOALS = {"age": 4.0, "openssl": 1.5}
# The bound: what the system takes to write the file, whatever is in it.
WRITING = "ready bytes"


def evener_binary():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    build = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "evener", "--target-dir", target]
    subprocess.run(build, cwd=ROOT, check=True)
    return target / "release/evener"


def make_input(path, mib):
    """Bytes that cannot be compressed, though nobody here tries."""
    block = os.urandom(1 << 20)
    with path.open("wb") as file:
        for number in range(mib):
            file.write(number.to_bytes(8, "big") + block[8:])


def programs(evener, workers, directory):
    """Commands that encrypt `input` into `output`, by name."""
    plain, output = directory / "input", directory / "output"
    key = directory / "key"
    subprocess.run([evener, "keygen", "-o", key], check=True)
    more = ["--workers", str(workers)] if workers else []
    found = {
        "evener encrypt": [evener, "encrypt", "-k", key, *more, "-o", output, plain],
        "evener ctr": [evener, "ctr", "--key", KEY, "--iv", IV, *more, "-o", output, plain],
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


def measure(name, command, directory, mib):
    output = directory / "output"
    output.unlink(missing_ok=True)
    if command is None:
        begin = time.perf_counter()
        write_ready(output, mib)
        return time.perf_counter() - begin
    # Plans are remembered from round to round as a user's are, but not among the user's own.
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache")}
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - begin
    if done.returncode != 0 or output.stat().st_size < mib << 20:
        sys.exit(f"{name}: status {done.returncode}: {done.stderr.strip()}")
    return seconds


def check(evener, directory):
    """Both programs' counter mode has to be the same, or the times mean nothing."""
    head = directory / "head"
    head.write_bytes((directory / "input").read_bytes()[: 1 << 20])
    ours = subprocess.run([evener, "ctr", "--key", KEY, "--iv", IV, head], check=True, capture_output=True).stdout
    enc = ["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV, "-in", head]
    if ours != subprocess.run(enc, check=True, capture_output=True).stdout:
        sys.exit("evener ctr and openssl enc do not agree")


def version(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return (done.stdout or done.stderr).strip().splitlines()[0]


def run(options, evener, directory):
    make_input(directory / "input", options.mib)
    commands = programs(evener, options.workers, directory)
    if "openssl" in commands:
        check(evener, directory)
    names = list(commands)
    rounds = []
    # The first goes unrecorded: it brings programs into memory and lets evener find a plan.
    for number in range(options.rounds + 1):
        first = number % len(names)
        order = names[first:] + names[:first]
        seconds = {name: measure(name, commands[name], directory, options.mib) for name in order}
        if number > 0:
            rounds.append(seconds)
            print(f"round {number} of {options.rounds}", file=sys.stderr)
    return rounds


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

    evener = evener_binary()
    with tempfile.TemporaryDirectory(prefix="evener-files-", dir=options.dir) as directory:
        rounds = run(options, evener, Path(directory))

    medians = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    peers = [name for name in GOALS if name in medians]
    heads = "".join(f"{'x ' + peer:>12}" for peer in peers)
    print(f"{'file to file, ' + str(options.mib) + ' MiB':28}{'seconds':>9}{'best':>9}{'MiB/s':>9}{heads}")
    for name, median in medians.items():
        ratios = "".join(f"{medians[peer] / median:>12.2f}" for peer in peers)
        best = min(r[name] for r in rounds)
        print(f"{name:28}{median:9.3f}{best:9.3f}{options.mib / median:9.0f}{ratios}")
    for peer in peers:
        ratio = medians[peer] / medians["evener encrypt"]
        verdict = "reached" if ratio >= GOALS[peer] else "missed"
        most = medians[peer] / medians[WRITING]
        print(f"evener encrypt over {peer}: {ratio:.2f}x, to reach {GOALS[peer]}x: {verdict}; writing alone: {most:.2f}x")

    if options.json:
        report = {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine.describe(),
            "versions": {"age": version("age", "--version"), "openssl": version("openssl", "version")},
            "mib": options.mib,
            "workers": options.workers,
            "unit": "seconds of wall clock, a process from start to end",
            "medians": medians,
            "rounds": rounds,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
