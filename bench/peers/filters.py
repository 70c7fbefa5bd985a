"""Whole processes: each filter of `evener filter` against FFmpeg's of the same meaning, on a decoded clip in memory.

Usage: EVENER_CLIPS=FOLDER python3 bench/peers/filters.py [--json FILE] [--rounds 5] [--only NAME,…]

Both read frames of 8 bits in 4:2:0 from /dev/shm, evener as y4m and ffmpeg as raw samples, and put the result nowhere.
ffmpeg has `-threads 2 -filter_threads 2`. Start and end of the processes are inside; `null` is the same without a
filter. Where meanings differ, the third column of FILTERS says how.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import evener
import ffmpeg
import measure

KERNEL = "1 2 1 2 4 2 1 2 1"
PLANES = ":".join(f"{p}m='{KERNEL}'" for p in range(3))
MIDDLE = "u=128:v=128"

# evener's filter, FFmpeg's, and what differs.
FILTERS = (
    ("null", "null", ""),
    ("hflip", "hflip", ""),
    ("vflip", "vflip", "FFmpeg turns pointers"),
    ("transpose", "transpose", ""),
    ("crop=0.8", "crop=iw*0.8:ih*0.8", "FFmpeg moves pointers"),
    ("pad=iw+64:ih+64:32:32", "pad=iw+64:ih+64:32:32", ""),
    ("rotate=6", "rotate=-6*PI/180:bilinear=1", ""),
    ("undistort=k1=-0.1", "lenscorrection=k1=-0.1:k2=0:i=bilinear", ""),
    ("resize=1280:720", "scale=1280:720:flags=bilinear", ""),
    ("resize=2560:1440", "scale=2560:1440:flags=bilinear", ""),
    ("scale=3840:2160", "scale=3840:2160:flags=bicubic", ""),
    ("scale=3840:2160:flags=bilinear", "scale=3840:2160:flags=bilinear", ""),
    ("scale=1280:720", "scale=1280:720:flags=bicubic", ""),
    ("scale=960:540", "scale=960:540:flags=bicubic", ""),
    ("scale=960:540:flags=bilinear", "scale=960:540:flags=bilinear", ""),
    ("scale=1280:720:flags=lanczos", "scale=1280:720:flags=lanczos", ""),
    ("scale=1280:720:flags=area", "scale=1280:720:flags=area", ""),
    ("scale=1280:720,pad=1280:800:0:40", "scale=1280:720:flags=bicubic,pad=1280:800:0:40", ""),
    ("blur", f"convolution={PLANES}", ""),
    ("gaussian=2", "gblur=2", "FFmpeg's is recursive"),
    ("gblur=4", "gblur=4", "FFmpeg's is recursive"),
    ("gblur=10", "gblur=10", "FFmpeg's is recursive"),
    ("gblur=30", "gblur=30", "FFmpeg's is recursive"),
    ("unsharp", "unsharp", ""),
    ("unsharp=ca=1", "unsharp=ca=1", ""),
    ("median", "median", ""),
    ("denoise=0.1", "bilateral=sigmaS=1.5:sigmaR=0.1:planes=7", "FFmpeg's is recursive"),
    ("sobel", f"sobel=planes=1,lutyuv={MIDDLE}", ""),
    ("threshold=0.4", f"lutyuv=y='if(gt(val,103),val,16)':{MIDDLE}", ""),
    ("posterize=8", f"lutyuv=y='floor(val/32)*31':{MIDDLE}", ""),
    ("eq=1.2:0.05:1.3", "eq=contrast=1.2:brightness=0.05:saturation=1.3", ""),
    ("eq=gamma=1.4", "eq=gamma=1.4", ""),
    ("deinterlace", "pp=li", "FFmpeg's reads and writes in place"),
    ("overlay=MARK:100:100", "movie=MARK[o];[in][o]overlay=100:100", ""),
)


def raw_samples(y4m, to):
    """The frames of a y4m file without their lines."""
    with open(y4m, "rb") as source, open(to, "wb") as sink:
        tags = {t[0]: t[1:] for t in source.readline().decode().split()[1:]}
        width, height = int(tags["W"]), int(tags["H"])
        frame = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
        while source.readline():
            sink.write(source.read(frame))
    return f"{width}x{height}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clip", default="street_1920x1080_54f")
    parser.add_argument("--only", default="", help="evener's filters, by the beginnings of their texts")
    parser.add_argument("--no-build", action="store_true", help="take the binary as it is")
    options = parser.parse_args()
    if not options.no_build:
        evener.build()
    wanted = tuple(options.only.split(","))
    results = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        path, frames = ffmpeg.decode(options.clip, folder, 1)
        raw, mark = Path(folder) / "raw.yuv", Path(folder) / "mark.png"
        size = raw_samples(path, raw)
        picture = ["-f", "lavfi", "-i", "color=red@0.5:s=256x128,format=rgba", "-frames:v", "1", mark]
        measure.timed(["ffmpeg", "-v", "error", *picture])
        threads = ["-threads", "2", "-filter_threads", "2"]
        source = ["-f", "rawvideo", "-s", size, "-pix_fmt", "yuv420p", "-i", raw]
        for graph, chain, differs in FILTERS:
            if not graph.startswith(wanted):
                continue
            own, peer = (text.replace("MARK", str(mark)) for text in (graph, chain))
            sides = {
                "ffmpeg": ["ffmpeg", "-v", "error", "-nostdin", *threads, *source, "-vf", peer, "-f", "null", "-"],
                "evener": [evener.binary(), "filter", own, "-i", path, "-o", "null:"],
            }
            found = measure.rounds(sides, options.rounds, lambda side: measure.timed(sides[side]), warm=1)  # noqa: B023
            per_frame = {
                side: {
                    what: 1000 / frames * statistics.median(getattr(one[side], what) for one in found)
                    for what in ("wall", "cpu")
                }
                for side in sides
            }
            rounds = [{side: [run.wall, run.cpu] for side, run in one.items()} for one in found]
            results.append(
                {"graph": graph, "chain": chain, "differs": differs, "ms": per_frame, "rounds_s": rounds}
            )  # fmt: skip
            own, peer = per_frame["evener"], per_frame["ffmpeg"]
            print(f"| {graph} | {peer['cpu']:.2f} | {own['cpu']:.2f} | {peer['cpu'] / own['cpu']:.2f} | "
                  f"{peer['wall']:.2f} | {own['wall']:.2f} | {peer['wall'] / own['wall']:.2f} |", flush=True)  # fmt: skip
    if options.json:
        measure.write(
            options.json,
            versions={"ffmpeg": measure.version("ffmpeg", "-version"), "evener": evener.version()},
            clip=options.clip,
            frames=frames,
            rounds=options.rounds,
            results=results,
        )


if __name__ == "__main__":
    main()
