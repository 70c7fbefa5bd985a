"""Builds and runs the `evener` binary, each measurement as a process of its own."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import y4m

ROOT = Path(__file__).resolve().parents[2]


def build():
    """Build the release binary; cargo's own output goes to the terminal."""
    subprocess.run(["cargo", "build", "--release", "-p", "evener"], cwd=ROOT, check=True)


def binary():
    """Path of the release binary, or of the one that `EVENER_BIN` names."""
    if named := os.environ.get("EVENER_BIN"):
        path = Path(named)
    else:
        path = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "evener"
    if not path.exists():
        raise SystemExit(f"no {path}; leave out --no-build, or name a binary in EVENER_BIN")
    return path


def version():
    found = subprocess.run([binary(), "--version"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def bench_filters(graph, size, frames, plan="auto", workers=2, simd=None, codes=None):
    """Time a graph on one plane in memory, that of 8-bit `codes` if given; one record of the command's results."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        picture = ["--size", f"{size[0]}x{size[1]}"]
        if codes is not None:
            y4m.write(Path(folder) / "plane.y4m", [codes])
            picture = ["-i", Path(folder) / "plane.y4m"]
        command = [
            binary(), "bench", "filters", "--graph", graph, *picture, "--plan", plan,
            "--workers", str(workers), "--frames", str(frames), "--no-memory", "--json", result,
        ]  # fmt: skip
        run(command, simd)
        (record,) = json.loads(result.read_text())["results"]
    return record


def filter_file(graph, source, sink, plan="tiled", simd=None):
    """Run `evener filter` from one file to another."""
    run([binary(), "filter", graph, "-i", source, "-o", sink, "--plan", plan], simd)


def run(command, simd=None):
    """Run a command; a failure is reported with what the command wrote."""
    environment = dict(os.environ)
    if simd:
        environment["EVENER_CPU"] = simd
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        text = " ".join(str(part) for part in command)
        raise SystemExit(f"{text}\nended with status {done.returncode}:\n{done.stderr.strip()}")
