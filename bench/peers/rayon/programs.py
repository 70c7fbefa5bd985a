#!/usr/bin/env python3
"""Programs that use rayon, as they come and on evener's threads by `[patch.crates-io] rayon-core` alone, interleaved.

    bench/peers/rayon/programs.py [--rounds 11] [--only NAME,…] [--folder FOLDER] [--json FILE]

Fetches the programs from crates.io and builds each twice in FOLDER, which is `EVENER_PEERS` or `bench/peers/out/rayon`; both
builds have the same versions of all other crates. Inputs are made there too. Every round runs both builds of each task once,
a different one first. What they print and write has to be the same. Ratios are medians of ratios within a round: of speed,
above 1 if the program is faster on evener, and of processor time, below 1 if it needs less. Needs cargo and a network the
first time.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402

PROGRAMS = {"oxipng": "10.2.1", "tokei": "15.0.0", "dssim": "3.5.1"}
ENGINES = ("rayon", "evener")
PATCH = f'\n[patch.crates-io]\nrayon-core = {{ path = "{evener.ROOT}/crates/rayon-core/patch" }}\n'


@dataclass
class Task:
    """A command of a program. Where `written` is given, it is emptied before, and what is in it afterwards counts."""

    name: str
    program: str
    arguments: list
    written: Path | None = None


def cargo(*arguments, folder):
    done = subprocess.run(["cargo", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cargo {' '.join(arguments)} in {folder}: {done.stderr.strip()}")
    return done.stdout


def fetched(folder):
    """Where the sources of the programs are, and those of all crates that they use, in a folder of their own."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").write_text("")
    wanted = "".join(f'{name} = "={version}"\n' for name, version in PROGRAMS.items())
    manifest = '[package]\nname = "programs"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
    (folder / "Cargo.toml").write_text(manifest + wanted)
    vendored = folder / "vendor"
    if not vendored.exists():
        cargo("vendor", "--versioned-dirs", str(vendored), folder=folder)
    packages = json.loads(cargo("metadata", "--format-version", "1", folder=folder))["packages"]
    paths = {package["name"]: Path(package["manifest_path"]).parent for package in packages}
    return {name: paths[name] for name in PROGRAMS}, vendored


def engine_of(folder):
    """What Cargo says of the rayon-core that a program is built with, with a path if it is evener's."""
    return cargo("tree", "-i", "rayon-core", "--depth", "0", folder=folder).strip()


def resolve(source, plain, own):
    """Makes both copies of a program: with the same versions of all crates but rayon-core, the newest one of rayon's."""
    shutil.copytree(source, own)
    with (own / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n" + PATCH)
    cargo("update", "-p", "rayon-core", folder=own)
    if "(" not in engine_of(own):
        # The lock file holds back what the threads need.
        cargo("update", "-p", "rayon-core", "-p", "errno", folder=own)
    shutil.copytree(source, plain)
    with (plain / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    # Cargo adds rayon's engine to it, where the patch is missing.
    shutil.copy(own / "Cargo.lock", plain / "Cargo.lock")


def build(name, source, folder):
    """Builds a program with both engines; the binaries."""
    places = [folder / f"{name}-{PROGRAMS[name]}" / engine for engine in ENGINES]
    if not places[0].exists():
        resolve(source, *places)
    binaries = {}
    for engine, place in zip(ENGINES, places):
        used = engine_of(place)
        if ("(" in used) != (engine == "evener"):
            sys.exit(f"{place} uses {used}")
        print(f"{name}: {used}", file=sys.stderr)
        cargo("build", "--release", "--bin", name, "--target-dir", str(folder / "target"), folder=place)
        binaries[engine] = place / f"{name}-{engine}"
        shutil.copy(folder / "target/release" / name, binaries[engine])
    return binaries


def picture(path, width, height, noise):
    """Writes a PNG of soft shades, edges and noise, always the same one for the same arguments."""
    grains = random.Random(1).randbytes(width * height * 3)
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            inside = (x // 97 + y // 61) % 3
            shades = (x * 200 // width, y * 200 // height, (x + y) * 90 // (width + height) + 60 * inside)
            at = (y * width + x) * 3
            rows += bytes(shade + grains[at + i] * noise // 256 for i, shade in enumerate(shades))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(rows), 6))
                     + chunk(b"IEND", b""))


def tasks(folder, vendored):
    pictures = folder / "pictures"
    sizes = [(1600, 1200), *((200 + 40 * i, 160 + 32 * i) for i in range(12))]
    names = [pictures / f"{width}x{height}.png" for width, height in sizes]
    noisy = pictures / "noisy.png"
    if not noisy.exists():
        pictures.mkdir(exist_ok=True)
        for name, size in zip(names, sizes):
            picture(name, *size, noise=8)
        picture(noisy, *sizes[0], noise=40)
    optimised = folder / "optimised"
    return [
        Task("oxipng -o 2, one PNG", "oxipng", ["-o", "2", "--quiet", "--dir", optimised, names[0]], optimised),
        Task("oxipng -o 2, twelve PNGs", "oxipng", ["-o", "2", "--quiet", "--dir", optimised, *names[1:]], optimised),
        Task("tokei, the programs' crates", "tokei", ["--no-ignore", vendored]),
        Task("tokei, evener's crates", "tokei", ["--no-ignore", evener.ROOT / "crates"]),
        Task("dssim, two PNGs", "dssim", [names[0], noisy]),
    ]


def digest(run, written):
    """What a run printed and wrote."""
    found = hashlib.sha256(run.out.encode())
    for path in sorted(written.iterdir()) if written else []:
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def measured(task, binaries, rounds):
    seen = {}

    def once(engine):
        if task.written:
            shutil.rmtree(task.written, ignore_errors=True)
            task.written.mkdir()
        run = measure.timed([binaries[engine], *task.arguments], task.name)
        seen.setdefault(engine, digest(run, task.written))
        if len(set(seen.values())) > 1 or digest(run, task.written) != seen[engine]:
            sys.exit(f"{task.name}: the outputs differ")
        return {"wall": run.wall, "cpu": run.cpu}

    return measure.rounds(ENGINES, rounds, once, warm=1)


def line(result):
    """A row: seconds of both, speed, processor seconds of both, and their ratio."""
    rounds = result["rounds"]

    def median(engine, what):
        return statistics.median(one[engine][what] for one in rounds)

    speed = statistics.median(one["rayon"]["wall"] / one["evener"]["wall"] for one in rounds)
    cpu = statistics.median(one["evener"]["cpu"] / one["rayon"]["cpu"] for one in rounds)
    return [*(median(engine, "wall") for engine in ENGINES), speed, *(median(engine, "cpu") for engine in ENGINES), cpu]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="", help="names of programs, by commas")
    parser.add_argument("--folder", type=Path, default=os.environ.get("EVENER_PEERS", evener.ROOT / "bench/peers/out/rayon"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    only = options.only.split(",") if options.only else list(PROGRAMS)
    folder = options.folder.resolve() / "programs"
    sources, vendored = fetched(folder / "fetched")
    binaries = {name: build(name, sources[name], folder) for name in only}
    results = []
    print(f"{'':28}{'rayon, s':>10}{'evener, s':>10}{'speed':>8}{'rayon, cpu s':>14}{'evener, cpu s':>14}{'ratio':>8}")
    for task in tasks(folder, vendored):
        if task.program not in only:
            continue
        rounds = measured(task, binaries[task.program], options.rounds)
        results.append({"task": task.name, "version": PROGRAMS[task.program], "rounds": rounds})
        cells = line(results[-1])
        widths = (10, 10, 8, 14, 14, 8)
        digits = (3, 3, 2, 3, 3, 2)
        print(f"{task.name:28}" + "".join(f"{c:{w}.{d}f}" for c, w, d in zip(cells, widths, digits)), flush=True)
    if options.json:
        measure.write(options.json, results=results)


if __name__ == "__main__":
    main()
