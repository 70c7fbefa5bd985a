#!/usr/bin/env python3
"""Files of age's format by `evener`, `age` and, where it is there, `rage`, in one interleaved run.

    bench/peers/crypt/age.py [--mib N] [--rounds N] [--dir DIR] [--json FILE]

Encrypts to a recipient and decrypts with its identity, from a file to a file and to /dev/null. The directory should lie in
memory, so that programs are measured and no disk. Every round runs each program once, a different one first, by the wall
clock from start to end of its process; its output of the round before is gone by then. `cp` takes its turn too, as what
the system needs for the copies alone. Every program decrypts what the others wrote before anything counts.
Needs cargo and age; rage is a crate.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402
from files import make_input  # noqa: E402

# What must be reached, as evener's speed over a peer's.
GOALS = {"age": 3.0, "rage": 3.0}
# The standard output of a program, thrown away.
NOWHERE = ["sh", "-c", 'exec "$0" "$@" >/dev/null']
TASKS = ["encrypt", "encrypt to /dev/null", "decrypt", "decrypt to /dev/null"]


def programs(binary, directory):
    """For each task the commands by name."""
    plain, sealed, output = (directory / name for name in ("input", "sealed", "output"))
    identity = directory / "identity"
    subprocess.run([binary, "keygen", "--age", "-o", identity], check=True, capture_output=True)
    shown = subprocess.run([binary, "keygen", "-y", identity], check=True, capture_output=True, text=True)
    recipient = shown.stdout.strip()
    tasks = {task: {} for task in TASKS}
    for name in ["evener", *GOALS]:
        if name != "evener" and not shutil.which(name):
            continue
        own = name == "evener"
        encrypt = [binary, "encrypt", "-r", recipient] if own else [name, "-r", recipient]
        decrypt = [binary, "decrypt", "-i", identity] if own else [name, "-d", "-i", identity]
        tasks["encrypt"][name] = [*encrypt, "-o", output, plain]
        tasks["encrypt to /dev/null"][name] = [*NOWHERE, *encrypt, plain]
        tasks["decrypt"][name] = [*decrypt, "-o", output, sealed]
        tasks["decrypt to /dev/null"][name] = [*NOWHERE, *decrypt, sealed]
    tasks["encrypt"]["cp"] = tasks["decrypt"]["cp"] = ["cp", plain, output]
    return tasks


def digest(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def check(tasks, directory):
    """Every program has to read what every other writes, or the times mean nothing."""
    wanted = digest(directory / "input")
    sealed, output = directory / "sealed", directory / "output"
    for writer in (name for name in tasks["encrypt"] if name != "cp"):
        subprocess.run(tasks["encrypt"][writer], check=True, capture_output=True)
        output.replace(sealed)
        for reader in (name for name in tasks["decrypt"] if name != "cp"):
            subprocess.run(tasks["decrypt"][reader], check=True, capture_output=True)
            if digest(output) != wanted:
                sys.exit(f"{reader} reads something else than {writer} wrote")
            output.unlink()


def once(name, command, directory):
    (directory / "output").unlink(missing_ok=True)
    # Plans are remembered from round to round as a user's are, but not among the user's own.
    return measure.timed(command, name, XDG_CACHE_HOME=directory / "cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="size of the file (default: 1024)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where files lie (default: /dev/shm)")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    options = parser.parse_args()
    # Input, encrypted input and output; every output is deleted before the next.
    room, wanted = shutil.disk_usage(options.dir).free, (options.mib * 3 + 64) << 20
    if room < wanted:
        sys.exit(f"{options.dir} has {room >> 20} MiB free, {wanted >> 20} are needed; choose --mib or --dir")

    binary = evener.build()
    found = {}
    with tempfile.TemporaryDirectory(prefix="evener-age-", dir=options.dir) as directory:
        directory = Path(directory)
        make_input(directory / "input", options.mib)
        tasks = programs(binary, directory)
        check(tasks, directory)
        for task, commands in tasks.items():
            # The first round brings programs into memory and lets evener find a plan.
            def run(name, commands=commands):
                return once(name, commands[name], directory)

            found[task] = measure.rounds(commands, options.rounds, run, warm=1)

    walls, processors = (
        {task: [{name: getattr(run, what) for name, run in one.items()} for one in rounds] for task, rounds in found.items()}
        for what in ("wall", "cpu")
    )
    for task, rounds in walls.items():
        measure.show(f"{task}, {options.mib} MiB", rounds, options.mib, GOALS, "evener")
        took = measure.medians(processors[task])
        print("processors, seconds: " + ", ".join(f"{name} {seconds:.3f}" for name, seconds in took.items()))
    if options.json:
        measure.write(
            options.json,
            versions={name: measure.version(name, "--version") for name in GOALS},
            mib=options.mib,
            unit="seconds of wall clock, a process from start to end",
            rounds=walls,
            processors=processors,
        )


if __name__ == "__main__":
    main()
