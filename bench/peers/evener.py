"""Builds and runs the `evener` binary, each measurement as a process of its own."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def cargo(*what):
    """Build something of this project for release."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", "--target-dir", TARGET, *what]
    subprocess.run(command, cwd=ROOT, check=True)


def build():
    """Build the binary; its path."""
    cargo("-p", "evener-cli", "--features", "bench")
    return TARGET / "release/evener"


def build_example(package, name):
    """Build an example of a crate; its path."""
    cargo("-p", package, "--example", name)
    return TARGET / "release/examples" / name


def binary():
    """Path of the release binary, or of the one that `EVENER_BIN` names."""
    if named := os.environ.get("EVENER_BIN"):
        path = Path(named)
    else:
        path = TARGET / "release/evener"
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
            import y4m  # It needs numpy, which nothing else here does.

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
