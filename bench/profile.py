#!/usr/bin/env python3
"""Whether kernels owe their speed to the profile: user time of whole processes of two builds of the command.

Usage: bench/profile.py [--build | --builds REFERENCE PLAIN] [--rounds 5] [--only WORD,…] [--most 1.05]

Builds the command with fat LTO and one codegen unit, and with 16 units and no LTO: without even the one between the units
of a crate, which cargo's default profile has. So what is not inlined by what the code says is not inlined. Both do the
same work in turns, and must write the same. A row says what the second takes of user time by the first, of medians. It
fails where that is more than --most. EVENER_CPU is passed on. Clips in EVENER_CLIPS are encoded too, as ffmpeg decodes
them. With --build it only builds.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROFILES = {"lto": ("fat", 1), "plain": ("off", 16)}
GRAPHS = [
    "null",
    "blur,sobel,threshold=0.25",
    "undistort,rotate=6,crop=0.8",
    "undistort,rotate=60,crop=0.8",
    "posterize,threshold,binary",
    "blur",
    "gaussian=2",
    "sobel",
    "median",
    "denoise",
    "unsharp",
    "undistort",
    "rotate=6",
    "resize=1280:720",
    "resize=2560:1440",
    "hflip",
    "transpose",
    "pad=iw+64:ih+64:32:32",
    "eq=1.2:0.05:1.3",
    "eq=gamma=1.4",
    "deinterlace",
]
OTHER_PLANS = [
    ("blur,sobel,threshold=0.25", "tiled"),
    ("blur,sobel,threshold=0.25", "backward-cached"),
    ("undistort,rotate=6,crop=0.8", "sequential"),
    ("threshold,rotate=30,binary", "batched"),
]
FORMATS = ["420p10", "444", "mono"]
# Seconds that are measured at least, unless that takes more than 20 runs: user time is counted in ticks of some ms.
LEAST = 1.0
KEY = "30313233343536373839616263646566"


def build(name):
    """The command, built with a profile."""
    lto, units = PROFILES[name]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / f"profile-{name}"
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "-p", "evener-cli", "--target-dir", str(target)]
        + ["--config", f'profile.release.lto="{lto}"', "--config", f"profile.release.codegen-units={units}"]
        # bench/calls.py reads the symbols.
        + ["--config", "profile.release.strip=false"],
        cwd=ROOT,
        check=True,
    )
    return target / "release" / "evener"


def filtered(graph, clip, plan="farm"):
    return ["filter", graph, "-i", clip, "-o", "OUT.y4m", "--plan", plan, "--workers", "1", "--no-memory"]


def rows(command, folder):
    """Names, and what is run: OUT is where it writes to."""

    def evener(*arguments):
        subprocess.run([command, *arguments, "--no-config", "-q"], check=True, stdout=subprocess.DEVNULL)

    def clip(name, source):
        path = str(folder / f"{name}.y4m")
        evener("filter", "null", "-i", source, "-o", path, "--no-memory")
        return path

    video = clip("video", "testsrc:1920x1080:60")
    for graph in GRAPHS:
        yield f"filter {graph}", filtered(graph, video)
    for graph, plan in OTHER_PLANS:
        yield f"filter {graph}, {plan}", filtered(graph, video, plan)
    for pixels in FORMATS:
        other = clip(pixels, f"testsrc:1920x1080:20:{pixels}")
        yield f"filter blur, {pixels}", filtered("blur", other)

    yield "queens 16", ["queens", "16", "--workers", "1", "--no-memory"]

    plain, key = folder / "plain", folder / "key"
    with open(plain, "wb") as file:
        block = hashlib.shake_256(b"plain").digest(1 << 20)
        for i in range(1024):
            file.write(block)
    evener("keygen", "-o", str(key))
    identity = folder / "identity"
    evener("keygen", "--age", "-o", str(identity))
    one = ["--plan", "farm", "--workers", "1", "--no-memory"]
    yield "encrypt", ["encrypt", "-k", str(key), str(plain), "-o", "OUT.random", *one]
    evener("encrypt", "-k", str(key), str(plain), "-o", str(folder / "sealed"))
    yield "decrypt", ["decrypt", "-k", str(key), str(folder / "sealed"), "-o", "OUT", *one]
    evener("encrypt", "-i", str(identity), str(plain), "-o", str(folder / "age"))
    yield "encrypt, age", ["encrypt", "-i", str(identity), str(plain), "-o", "OUT.random", *one]
    yield "decrypt, age", ["decrypt", "-i", str(identity), str(folder / "age"), "-o", "OUT", *one]
    ctr = ["--key", KEY * 2, "--iv", KEY]
    yield "ctr", ["ctr", *ctr, str(plain), "-o", "OUT", *one]
    few = folder / "few"
    few.write_bytes(hashlib.shake_256(b"few").digest(24 << 20))
    yield "product", ["product", "encrypt", "--key", KEY, str(few), "-o", "OUT", "--plan", "farm", "--workers", "1", "--no-memory"]

    image = folder / "image"
    with open(video, "rb") as source:
        image.write_bytes(source.read(64 << 20))
    evener("image", "pack", str(image), str(folder / "packed"))
    yield "image pack", ["image", "pack", str(image), "OUT"]
    yield "image verify", ["image", "verify", str(folder / "packed")]
    yield "image unpack", ["image", "unpack", str(folder / "packed"), "OUT"]

    clips = os.environ.get("EVENER_CLIPS")
    videos = {"testsrc": video}
    for path in sorted(Path(clips).glob("*.264")) if clips else []:
        videos[path.stem] = clip(path.stem, str(path))
    for name, source in videos.items():
        for preset in ["medium", "ultrafast"]:
            yield f"encode {name}, {preset}", [
                *["encode", "-i", source, "-o", "OUT.264", "--preset", preset, "--crf", "24"],
                *["--workers", "1", "--no-memory"],
            ]


def run(command, arguments, folder):
    """Seconds of user time, and the file that is written."""
    names = [a for a in arguments if a.startswith("OUT")]
    out = folder / f"out{names[0][3:]}" if names else None
    arguments = [str(out) if a in names else a for a in arguments]
    with subprocess.Popen([command, *arguments, "--no-config", "-q"], stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"it failed: {' '.join(arguments)}")
    return usage.ru_utime, out


def compared(builds, arguments, folder):
    """Whether the builds write the same, and how often to run them, so that their time can be measured."""
    hashes = set()
    for command in builds:
        took, out = run(command, arguments, folder)
        if out and out.suffix != ".random":
            with open(out, "rb") as file:
                hashes.add(hashlib.file_digest(file, "sha256").digest())
    return len(hashes) < 2, min(20, 1 + int(LEAST / max(took, 0.01)))


def timed(command, arguments, folder, times):
    """Seconds of user time, of so many runs; frames are not written."""
    arguments = ["null:" if a == "OUT.y4m" else a for a in arguments]
    return sum(run(command, arguments, folder)[0] for _ in range(times)) / times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--builds", nargs=2, metavar=("REFERENCE", "PLAIN"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="rows that have one of these words in their name", default="")
    parser.add_argument("--most", type=float, default=1.05)
    options = parser.parse_args()
    builds = options.builds or [build(name) for name in PROFILES]
    if options.build:
        return
    builds = [str(Path(path).resolve()) for path in builds]
    words = [word for word in options.only.split(",") if word]
    slow = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        folder = Path(folder)
        print("| | reference, s | plain, s | plain / reference |\n| --- | --- | --- | --- |", flush=True)
        for name, arguments in rows(builds[0], folder):
            if words and not any(word in name for word in words):
                continue
            same, often = compared(builds, arguments, folder)
            if not same:
                sys.exit(f"{name}: the builds do not write the same")
            times = [], []
            for _ in range(options.rounds):
                for command, seconds in zip(builds, times):
                    seconds.append(timed(command, arguments, folder, often))
            reference, plain = map(statistics.median, times)
            print(f"| {name} | {reference:.3f} | {plain:.3f} | {plain / reference:.2f} |", flush=True)
            if plain > options.most * reference:
                slow.append(name)
    if slow:
        sys.exit(f"more than {options.most} times as long: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
