"""Whole processes: `evener filter` against `ffmpeg -vf` on a decoded clip in memory.

Usage: run.sh ffmpeg [--json FILE] [--rounds 7] [--clip street_1920x1080_54f] [--repeat 1]

Both read the same y4m from /dev/shm and put the result nowhere: parsing, conversion from and to 8
bits, start and end of the process are all inside. The clip is found through EVENER_CLIPS.
"""

import argparse
import datetime
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import evener
import machine
import measure


@dataclass(frozen=True)
class Comparison:
    """A graph and the chains of ffmpeg filters that come nearest; the fastest of them counts."""

    letter: str
    graph: str
    chains: dict


KERNEL = "1 2 1 2 4 2 1 2 1"
# evener's edge and tonal filters work on luma and set chroma to the middle, so nothing is asked of
# ffmpeg on chroma either, and in one chain it may drop the chroma planes altogether.
EDGES = "sobel=planes=1,lutyuv=y='if(gt(val,0.25*maxval),val,0)'"
LENS = "lenscorrection=k1=-0.1:k2=0:i=bilinear,rotate=-6*PI/180:bilinear=1:c=black"

COMPARISONS = (
    Comparison(
        "A",
        "blur,sobel,threshold=0.25",
        {
            "convolution": f"convolution=0m='{KERNEL}':0rdiv=1/16,{EDGES}:u=128:v=128",
            "gblur": f"gblur=sigma=0.85:planes=1,{EDGES}:u=128:v=128",
            "gray, convolution": f"format=gray,convolution=0m='{KERNEL}':0rdiv=1/16,{EDGES}",
            "gray, gblur": f"format=gray,gblur=sigma=0.85:planes=1,{EDGES}",
        },
    ),
    Comparison("B", "undistort,rotate=6,crop=0.8", {"lens": f"{LENS},crop=iw*0.8:ih*0.8"}),
)

THREADS = {
    "default threads": [],
    "2 filter threads": ["-filter_threads", "2"],
    "2 threads": ["-threads", "2", "-filter_threads", "2"],
    "1 filter thread": ["-filter_threads", "1"],
}


def seconds(command):
    return measure.timed(command).wall


def decode(clip, folder, repeat):
    """Decode a clip to y4m; returns its path and how many frames it has."""
    clips = os.environ.get("EVENER_CLIPS")
    if not clips:
        raise SystemExit("EVENER_CLIPS names no folder; set it to the folder of the clips")
    source = next((p for p in sorted(Path(clips).iterdir()) if p.stem == clip), None)
    if source is None:
        raise SystemExit(f"{clips} has no clip {clip}")
    path = Path(folder) / f"{clip}.y4m"
    command = ["ffmpeg", "-v", "error", "-stream_loop", str(repeat - 1), "-i", source]
    seconds([*command, "-f", "yuv4mpegpipe", "-strict", "-1", "-fps_mode", "passthrough", path])
    with open(path, "rb") as file:
        header = file.readline()
        tags = {t[0]: t[1:] for t in header.decode().split()[1:]}
    width, height = int(tags["W"]), int(tags["H"])
    if not tags.get("C", "420").startswith("420") or "p1" in tags.get("C", "420"):
        raise SystemExit(f"{clip} decodes to {tags['C']}, expected 8-bit 4:2:0")
    frame = len(b"FRAME\n") + width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    return path, (path.stat().st_size - len(header)) // frame


def ffmpeg_command(path, chain, threads):
    head = ["ffmpeg", "-v", "error", "-nostdin", *threads, "-i", path]
    return [*head, "-vf", chain, "-f", "null", "-"]


def fastest_command(comparison, path):
    """The quickest of all chains and thread settings, three runs each: (name, command, scores)."""
    commands = {
        f"{chain}, {threads}": ffmpeg_command(path, text, flags)
        for chain, text in comparison.chains.items()
        for threads, flags in THREADS.items()
    }
    scores = {name: min(seconds(c) for _ in range(3)) for name, c in commands.items()}
    name = min(scores, key=scores.get)
    return name, commands[name], scores


def interleaved(comparison, path, frames, options):
    """Interleaved rounds of one graph."""
    name, command, scores = fastest_command(comparison, path)
    sides = {"ffmpeg": command}
    if not options.peers_only:
        own = [evener.binary(), "filter", comparison.graph, "-i", path, "-o", "null:"]
        sides["evener"] = [*own, *options.evener_args.split()]
        seconds(sides["evener"])
    found = measure.rounds(sides, options.rounds, lambda side: seconds(sides[side]))
    medians = measure.medians(found)
    result = {
        "letter": comparison.letter,
        "graph": comparison.graph,
        "frames": frames,
        "ffmpeg_variant": name,
        "ffmpeg_scores_s": scores,
        "commands": {s: [str(part) for part in c] for s, c in sides.items()},
        "rounds_s": {side: [one[side] for one in found] for side in sides},
        "median_s": medians,
        "fps": {side: frames / s for side, s in medians.items()},
    }
    if "evener" in medians:
        result["ratio"] = medians["ffmpeg"] / medians["evener"]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clip", default="street_1920x1080_54f")
    parser.add_argument("--repeat", type=int, default=1, help="play the clip this many times")
    parser.add_argument("--only", default="AB")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--evener-args", default="", help="further arguments of `evener filter`")
    parser.add_argument("--peers-only", action="store_true", help="leave evener out")
    parser.add_argument("--no-build", action="store_true", help="take the binary as it is")
    options = parser.parse_args()
    if shutil.which("ffmpeg") is None:
        raise SystemExit("no ffmpeg on this machine; install it (Debian package `ffmpeg`)")
    described = machine.describe()
    if not options.peers_only and not options.no_build:
        evener.build()

    results = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path, frames = decode(options.clip, folder, options.repeat)
        for comparison in COMPARISONS:
            if comparison.letter in options.only:
                results.append(interleaved(comparison, path, frames, options))

    print(f"{described['cpu']}, {described['cpus']} CPUs, {options.date}, {options.clip} "
          f"x {options.repeat}, {options.rounds} rounds, whole process\n")  # fmt: skip
    print("| graph | ffmpeg s | evener s | ffmpeg fps | evener fps | ratio | ffmpeg's best |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for r in results:
        cells = [r["graph"]]
        cells += [f"{r['median_s'][s]:.3f}" if s in r["fps"] else "" for s in ("ffmpeg", "evener")]
        cells += [f"{r['fps'][s]:.0f}" if s in r["fps"] else "" for s in ("ffmpeg", "evener")]
        cells += [f"{r['ratio']:.2f}" if "ratio" in r else "", r["ffmpeg_variant"]]
        print("| " + " | ".join(cells) + " |")
    if options.json:
        versions = {"ffmpeg": measure.version("ffmpeg", "-version")}
        if not options.peers_only:
            versions["evener"] = evener.version()
        measure.write(
            options.json,
            date=options.date,
            machine=described,
            versions=versions,
            clip=options.clip,
            repeat=options.repeat,
            results=results,
        )
        print(f"raw results in {options.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
