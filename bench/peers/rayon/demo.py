#!/usr/bin/env python3
"""The benchmarks of rayon-demo on rayon-core and on evener-rayon-core, interleaved.

    bench/peers/rayon/demo.py [--rounds 3] [--only TEXT,…] [--repository URL] [--folder FOLDER] [--json FILE]

Clones rayon 1.12 and builds its benchmarks twice in FOLDER, which is `EVENER_PEERS` or `bench/peers/out/rayon`. Both builds
have the same versions of all other crates, and loops that begin at a cache line. Each benchmark runs in a process of its
own, `--rounds` times on each engine, in turn. The figure is the median of ratios within a round; above 1, it is faster on
evener. Benchmarks that do not use rayon are left out. Needs cargo, git, and a network the first time.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402

TAG = "v1.12.0"
ENGINES = ("rayon", "evener")
# Loops of nine instructions run a quarter faster or slower depending on where in a cache line they begin.
ALIGNED = "-C llvm-args=-align-loops=64"
# Benchmarks that do not use rayon.
SERIAL = re.compile(r"::serial_|_seq(_|$)|fibonacci_(iterative|recursive)|factorial_(iterator|recursion)|bench::generations"
                    r"|euclid_serial|sieve_serial")


def run(*command, folder=None):
    # Benchmarks of the standard library need what only a nightly compiler has.
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": ALIGNED}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def build(folder, repository):
    """The binaries of the benchmarks by engine."""
    plain, own = (folder / engine for engine in ENGINES)
    if not own.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if not plain.exists():
            run("git", "clone", "--quiet", "--depth", "1", "--branch", TAG, repository, plain)
        run("cargo", "generate-lockfile", folder=plain)
        shutil.copytree(plain, own)
        # In rayon's own workspace the engine is a path, which a patch does not change.
        manifest = (own / "Cargo.toml").read_text()
        manifest = manifest.replace('path = "rayon-core"', f'path = "{evener.ROOT}/crates/rayon-core/patch"')
        manifest = manifest.replace('members = ["rayon-demo", "rayon-core"]', 'members = ["rayon-demo"]')
        manifest = manifest.replace('exclude = ["ci"]', 'exclude = ["ci", "rayon-core"]')
        (own / "Cargo.toml").write_text(manifest)
    binaries = {}
    for engine, source in zip(ENGINES, (plain, own)):
        used = run("cargo", "tree", "-p", "rayon", "-i", "rayon-core", "--depth", "0", folder=source).strip()
        if ("patch" in used) != (engine == "evener"):
            sys.exit(f"{source} uses {used}")
        told = run("cargo", "bench", "-p", "rayon-demo", "--no-run", "--message-format", "json",
                   "--target-dir", folder / "target", folder=source)
        for message in map(json.loads, told.splitlines()):
            if message.get("executable") and "bin" in message["target"]["kind"]:
                binaries[engine] = message["executable"]
    return binaries


def nanoseconds(binary, name):
    """What the test harness says of a benchmark: of an iteration."""
    told = run(binary, "--bench", "--exact", name)
    found = re.search(r"([\d,.]+) ns/iter", told)
    if not found:
        sys.exit(f"{name}: no figure in {told.strip()}")
    return float(found[1].replace(",", ""))


def line(result):
    """A row: nanoseconds of both, and the speed."""
    rounds = result["rounds"]
    middle = [statistics.median(one[engine] for one in rounds) for engine in ENGINES]
    return [*middle, statistics.median(one["rayon"] / one["evener"] for one in rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of names, by commas")
    parser.add_argument("--repository", default="https://github.com/rayon-rs/rayon")
    parser.add_argument("--folder", type=Path, default=os.environ.get("EVENER_PEERS", evener.ROOT / "bench/peers/out/rayon"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    binaries = build(options.folder.resolve() / "demo", options.repository)
    listed = re.findall(r"^(.*): benchmark$", run(binaries["rayon"], "--list", "--bench"), re.MULTILINE)
    wanted = [name for name in listed if not SERIAL.search(name)
              and any(part in name for part in options.only.split(","))]
    results = []
    print(f"{'':66}{'rayon, ns':>14}{'evener, ns':>14}{'speed':>8}")
    for name in wanted:
        rounds = []
        for number in range(options.rounds):
            rounds.append({engine: nanoseconds(binaries[engine], name) for engine in measure.turn(ENGINES, number)})
        results.append({"name": name, "rounds": rounds})
        rayon, own, speed = line(results[-1])
        print(f"{name:66}{rayon:14,.0f}{own:14,.0f}{speed:8.2f}", flush=True)
        if options.json:
            measure.write(options.json, results=results)
    speeds = sorted((line(result)[2], result["name"]) for result in results)
    print(f"{len(speeds)} benchmarks: median {statistics.median(s for s, _ in speeds):.2f}, least {speeds[0][0]:.2f}")


if __name__ == "__main__":
    main()
