#!/usr/bin/env python3
"""Whole processes of short runs: evener under each plan beside ffmpeg, age and qemu-img, quiet and beside busy loops.

    bench/peers/short.py [--rounds 5] [--loops 0,1,4,10] [--only TEXT,…] [--rows NAME,…] [--long] [--json FILE] [--markdown FILE]

In short runs the start counts: what is measured, remembered and prepared before the first unit. Beside busy loops each
hand-over between threads counts, since a thread that wakes waits for its turn. The rows of a task are evener with
`--plan auto`, without remembered plans and with those of the run before, each plain plan by name, and the peer. Every
round runs each row once, a different one first. Inputs and outputs lie in memory; an output of the round before is gone.
The script starts as many busy loops as `--loops` says, one figure after the other, and ends them. Ratios are medians of
ratios within a round; above 1 evener is faster. A peer that is missing is left out. Needs cargo, or `--no-build` and
`EVENER_BIN`, and ffmpeg for the clips.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import evener
import measure

MIB = 1 << 20
GAUSSIAN = ("gaussian=2", "gblur=2")


@dataclass
class Run:
    """A process and those it waited for, from start to end: seconds, and how often they gave or lost the processor."""

    wall: float
    cpu: float
    waits: int
    preempted: int


@dataclass
class Task:
    """Commands that do the same: evener's, and the peer's where there is one."""

    name: str
    evener: list
    plans: tuple
    peer: tuple | None


def timed(command, cache):
    """Run a command to its end, by which everything here ends if it fails."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "EVENER_CONFIG": ""}
    with tempfile.TemporaryFile() as told:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=told, env=environment
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            told.seek(0)
            text = " ".join(map(str, command))[:300]
            sys.exit(f"{text}: status {process.returncode}: {told.read().decode(errors='replace').strip()}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_nvcsw, used.ru_nivcsw)


@contextmanager
def busy(count):
    """So many processes that do nothing but compute."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.send_signal(signal.SIGKILL)
            loop.wait()


def clip(path, size, frames):
    """A clip that moves, as y4m."""
    source = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25"]
    command = ["ffmpeg", "-v", "error", "-nostdin", *source, "-frames:v", str(frames)]
    subprocess.run([*command, "-pix_fmt", "yuv420p", path], check=True)


def programs(path, size):
    """A file of what lies in the folder of programs: about half of it compresses."""
    with open(path, "wb") as out:
        files = sorted(file for file in Path("/usr/bin").iterdir() if file.is_file() and not file.is_symlink())
        while out.tell() < size:
            before = out.tell()
            for file in files:
                if os.access(file, os.R_OK) and out.tell() < size:
                    out.write(file.read_bytes()[: size - out.tell()])
            if out.tell() == before:
                sys.exit("/usr/bin has nothing to read")
    return path


def filters(binary, folder, long, wants):
    clips = {
        "30 frames 1080p": ("1920x1080", 30),
        "60 frames 720p": ("1280x720", 60),
        "100 frames CIF": ("352x288", 100),
    }
    if long:
        clips["300 frames 1080p"] = ("1920x1080", 300)
    for number, (name, (size, frames)) in enumerate(clips.items()):
        path = folder / f"clip{number}.y4m"
        for graph, chain in (("hflip", "hflip"), GAUSSIAN):
            if not wants(f"filter {graph}, {name}"):
                continue
            if not path.exists():
                clip(path, size, frames)
            own = [binary, "filter", graph, "-i", path, "-o", "null:"]
            peer = ["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-vf", chain, "-f", "null", "-"]
            yield Task(f"filter {graph}, {name}", own, ("sequential", "tiled", "farm"), ("ffmpeg", peer))


def encryption(binary, folder, long, wants):
    identity = folder / "identity"
    subprocess.run([binary, "keygen", "--age", "-o", identity], check=True, capture_output=True)
    shown = subprocess.run([binary, "keygen", "-y", identity], check=True, capture_output=True, text=True)
    to, out = ["-r", shown.stdout.strip()], folder / "out"
    sizes = {"4 bytes": 4, "1 MiB": MIB, "10 MiB": 10 * MIB, "100 MiB": 100 * MIB}
    if long:
        sizes["1 GiB"] = 1 << 30
    for name, size in sizes.items():
        if not wants(f"encrypt {name}"):
            continue
        path = programs(folder / f"plain{size}", size)
        own = [binary, "encrypt", *to, "-o", out, path]
        yield Task(f"encrypt {name}", own, ("sequential", "farm"), ("age", ["age", *to, "-o", out, path]))
    small = folder / "small"
    small.mkdir()
    files = [small / f"{number:03}" for number in range(300)]
    for file in files:
        file.write_bytes(b"text")
    own = [binary, "encrypt", *to, "-o", f"{out}/", *files]
    each = 'mkdir -p "$1"; out=$1; to=$2; shift 2; for file; do age -r "$to" -o "$out/${file##*/}" "$file"; done'
    peer = ["sh", "-c", each, "sh", out, to[1], *files]
    yield Task("encrypt 300 files of 4 bytes", own, ("sequential", "farm"), ("age", peer))


def images(binary, folder, long, wants):
    out = folder / "out"
    for name, size in {"100 MiB": 100 * MIB, **({"900 MiB": 900 * MIB} if long else {})}.items():
        if not wants(f"pack {name}") and not wants(f"unpack a qcow2 of {name}"):
            continue
        raw, qcow2 = programs(folder / f"raw{size}", size), folder / f"qcow{size}"
        zstd = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-o", "compression_type=zstd", raw]
        own = [binary, "image", "pack", raw, out]
        yield Task(f"pack {name}", own, ("sequential", "farm"), ("qemu-img", [*zstd, out]))
        if shutil.which("qemu-img"):
            subprocess.run([*zstd, qcow2], check=True)
            own = [binary, "image", "unpack", qcow2, out]
            peer = ["qemu-img", "convert", "-f", "qcow2", "-O", "raw", qcow2, out]
            yield Task(f"unpack a qcow2 of {name}", own, ("sequential", "farm"), ("qemu-img", peer))


def rest(binary, folder, long, wants):
    yield Task("queens 8", [binary, "queens", "8"], ("sequential", "farm"), None)


def rows(task, folder):
    """What is run, by name: the command and the folder of what it remembers."""
    plain = [*task.evener, "--no-memory"]
    found = {
        "auto": (plain, folder / "cache"),
        "auto, remembered": (task.evener, folder / "cache"),
        **{plan: ([*plain, "--plan", plan], folder / "cache") for plan in task.plans},
    }
    if task.peer and shutil.which(task.peer[0]):
        found[task.peer[0]] = (task.peer[1], folder / "cache")
    return found


def once(command, cache, folder):
    out = folder / "out"
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    return timed(command, cache)


def measured(task, loops, options, folder):
    """Every row of a task beside so many loops."""
    table = rows(task, folder)
    if options.rows:
        table = {name: row for name, row in table.items() if name in options.rows.split(",")}
    with busy(loops):
        found = []
        for number in range(options.rounds + 1):
            turns = measure.turn(table, number)
            runs = {name: once(*table[name], folder) for name in turns}
            # The first round brings programs into memory and leaves plans.
            if number:
                found.append({name: runs[name] for name in table})
    return found


def ratio(found, above, below, what):
    """The median of a ratio within each round, since the machine's speed changes from one to the next."""
    pairs = [(getattr(one[above], what), getattr(one[below], what)) for one in found]
    return statistics.median(over / under if under else 1.0 for over, under in pairs)


def lines(task, loops, found):
    """A line of the table for each row."""
    plans = [plan for plan in task.plans if plan in found[0]]
    peer = task.peer[0] if task.peer and task.peer[0] in found[0] else None
    best = min(plans, key=lambda plan: statistics.median(one[plan].wall for one in found), default=None)
    for name in found[0]:
        middle = {what: statistics.median(getattr(one[name], what) for one in found) for what in asdict(found[0][name])}
        to_best = f"{ratio(found, best, name, 'wall'):.2f}" if best and name != peer else ""
        to_peer = [f"{ratio(found, peer, name, what):.2f}" if peer and name != peer else "" for what in ("wall", "cpu")]
        yield (
            f"| {task.name} | {loops} | {name} | {middle['wall'] * 1e3:.1f} | {middle['cpu'] * 1e3:.1f} | "
            f"{middle['waits']:.0f} | {to_best} | {to_peer[0]} | {to_peer[1]} |"
        )


HEAD = (
    "| task | loops | row | wall, ms | processor, ms | waits | x best plain plan | x peer | x peer, processor |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops", default="0,1,4,10", help="busy loops beside, one figure after the other")
    parser.add_argument("--only", default="", help="tasks whose names hold one of these texts")
    parser.add_argument("--rows", default="", help="these rows only: auto, farm, age, …")
    parser.add_argument("--long", action="store_true", help="also 300 frames, 1 GiB and 900 MiB")
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where files lie (default: /dev/shm)")
    parser.add_argument("--no-build", action="store_true", help="take the binary as it is")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    binary = evener.binary() if options.no_build else evener.build()
    results = []

    def wants(task):
        return any(part in task for part in options.only.split(","))

    text = list(HEAD)
    print("\n".join(HEAD))
    with tempfile.TemporaryDirectory(prefix="evener-short-", dir=options.dir) as name:
        folder = Path(name)
        kinds = (filters, encryption, images, rest)
        tasks = (task for kind in kinds for task in kind(binary, folder, options.long, wants))
        for task in filter(lambda task: wants(task.name), tasks):
            for loops in map(int, options.loops.split(",")):
                found = measured(task, loops, options, folder)
                for line in lines(task, loops, found):
                    text.append(line)
                    print(line, flush=True)
                rounds = [{name: asdict(run) for name, run in one.items()} for one in found]
                results.append({"task": task.name, "loops": loops, "rounds": rounds})
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text("\n".join(text) + "\n")
    if options.json:
        names = {"ffmpeg": "-version", "age": "--version", "qemu-img": "--version"}
        versions = {name: measure.version(name, option) for name, option in names.items()}
        measure.write(
            options.json,
            versions={**versions, "evener": evener.version()},
            unit="seconds of a process from start to end, and of processors; waits and preemptions of its threads",
            results=results,
        )


if __name__ == "__main__":
    main()
