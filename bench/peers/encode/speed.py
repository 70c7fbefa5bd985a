#!/usr/bin/env python3
"""BD-rate and speed of `evener encode` beside x264 with matched tools and, if asked for, openh264 and rusty_h264.

    bench/peers/encode/speed.py --clip CLIP.y4m... [--rounds N] [--preset NAME] [--profile NAME] [--frames N]
                                [--h264enc PROGRAM] [--rusty PROGRAM] [--no-build] [--json FILE]
                                [-- OPTIONS OF evener encode]

Each clip is encoded at QP 22, 27, 32 and 37, on one thread, all programs in turn, round after round. Quality is the mean
over frames of luma PSNR of what ffmpeg decodes, and processor time the median over rounds. Needs x264 and ffmpeg;
openh264's console encoder is used if --h264enc names it, and rusty_h264 if --rusty names the program in rusty/.
"""

import argparse
import re
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import evener  # noqa: E402
import measure  # noqa: E402
from bd import bd_rate  # noqa: E402

QPS = (22, 27, 32, 37)
# x264 with the tools that a matched encoder has: one reference, hexagon search, quarter samples by SATD, all partitions.
MATCHED = "--profile baseline --ref 1 --me hex --subme 5 --trellis 0 --no-mbtree --aq-mode 0 --partitions all".split()


def header(clip):
    """Width, height, frame rate and bytes of a frame's data of a y4m file of 8 bits 4:2:0."""
    with open(clip, "rb") as file:
        fields = file.readline().decode().split()
    if not fields or fields[0] != "YUV4MPEG2":
        sys.exit(f"{clip}: not y4m")
    known = {field[0]: field[1:] for field in fields[1:]}
    if not known.get("C", "420").startswith("420") or known.get("C", "420").startswith("420p1"):
        sys.exit(f"{clip}: not 8 bits 4:2:0")
    width, height = int(known["W"]), int(known["H"])
    rate = known.get("F", "25:1").split(":")
    return width, height, int(rate[0]) / int(rate[1])


def shortened(clip, frames, folder):
    """The first frames of a clip as y4m of its own, and as raw planes; the number of frames."""
    short, raw = folder / f"{clip.stem}.y4m", folder / f"{clip.stem}.yuv"
    limit = ["-frames:v", str(frames)] if frames else []
    for output in (["-f", "yuv4mpegpipe", short], ["-f", "rawvideo", raw]):
        measure.timed(["ffmpeg", "-v", "error", "-y", "-i", clip, *limit, "-pix_fmt", "yuv420p", *output])
    width, height, _ = header(short)
    return short, raw, raw.stat().st_size // (width * height * 3 // 2)


def luma_psnr(stream, clip, folder):
    """The mean over frames of luma PSNR, and the number of frames that were decoded."""
    log = folder / "psnr.log"
    log.unlink(missing_ok=True)
    # Frames are paired by their number, not by the times that containers and streams give them.
    chain = f"[0:v]setpts=N[a];[1:v]setpts=N[b];[a][b]psnr=stats_file={log}"
    command = ["ffmpeg", "-v", "error", "-xerror", "-r", "25", "-f", "h264", "-i", stream, "-r", "25", "-i", clip]
    measure.timed([*command, "-lavfi", chain, "-f", "null", "-"])
    # A frame without any error has an infinite PSNR, which counts as 100 dB.
    found = re.findall(r"psnr_y:(\S+)", log.read_text())
    values = [100.0 if value == "inf" else float(value) for value in found]
    if not values:
        sys.exit(f"{stream}: nothing was decoded")
    return statistics.fmean(values), len(values)


def commands(options, clip, raw, frames, output, qp):
    """What each program is called with."""
    width, height, rate = header(clip)
    x264 = ["x264", "--quiet", "--threads", "1", "--qp", str(qp), *MATCHED, "-o", output, clip]
    ours = [
        evener.binary(), "encode", "-i", clip, "-o", output, "--qp", str(qp), "--preset", options.preset,
        "--profile", options.profile, "--workers", "1", *options.more,
    ]  # fmt: skip
    all_of_them = {"x264": x264, "evener": ours}
    if options.h264enc:
        # One layer in space and in time, no frame skipped: else it makes four of its own sizes, and three.
        all_of_them["openh264"] = [
            options.h264enc, "-org", raw, "-bf", output, "-sw", str(width), "-sh", str(height),
            "-frin", str(rate), "-frms", str(frames), "-rc", "-1", "-numl", "1", "-dw", "0", str(width),
            "-dh", "0", str(height), "-frout", "0", str(rate), "-lqp", "0", str(qp), "-threadIdc", "1",
            "-utype", "0", "-numtl", "1", "-fs", "0", "-cabac", "0", "-iper", "320", "-aq", "0", "-denois", "0", "-scene", "0", "-bgd", "0",
            "-complexity", str(options.complexity),
        ]  # fmt: skip
    if options.rusty:
        all_of_them["rusty_h264"] = [options.rusty, clip, output, str(qp), options.rusty_preset]
    return all_of_them


def measured(options, clip, folder):
    """Bytes, PSNR and seconds of each program at each QP."""
    short, raw, frames = shortened(clip, options.frames, folder)
    output = folder / "out.264"
    found = {}
    for number in range(options.rounds):
        for qp in QPS:
            calls = commands(options, short, raw, frames, output, qp)
            for name in measure.turn(calls, number):
                output.unlink(missing_ok=True)
                seconds = measure.timed(calls[name], name).cpu
                at = found.setdefault(name, {}).setdefault(qp, {"cpu": []})
                at["cpu"].append(seconds)
                if number == 0:
                    at["bytes"] = output.stat().st_size
                    at["psnr"], decoded = luma_psnr(output, short, folder)
                    if decoded != frames:
                        sys.exit(f"{name}, {clip.name}, QP {qp}: {decoded} of {frames} frames were decoded")
                elif output.stat().st_size != at["bytes"]:
                    sys.exit(f"{name}, {clip.name}, QP {qp}: another size than in the round before")
        print(f"{clip.name}: round {number + 1} of {options.rounds}", file=sys.stderr)
    return found, frames


def report(clip, found, frames):
    """Print a line for each program and QP, then BD-rate and speed of each; the summary."""
    print(f"{clip.name}, {frames} frames")
    print(f"{'':12}{'QP':>4}{'bytes':>12}{'PSNR':>8}{'cpu s':>9}")
    for name, by_qp in found.items():
        for qp, at in by_qp.items():
            print(f"{name:12}{qp:4}{at['bytes']:12}{at['psnr']:8.2f}{statistics.median(at['cpu']):9.2f}")
    curve = {name: [(at["bytes"], at["psnr"]) for at in by_qp.values()] for name, by_qp in found.items()}
    # Seconds of a round at all QPs together; ratios within a round, since the machine changes from one to the next.
    cpu = {name: [sum(each) for each in zip(*(at["cpu"] for at in by_qp.values()))] for name, by_qp in found.items()}
    summary = {}
    for name in found:
        rate = bd_rate(curve["x264"], curve[name])
        speed = statistics.median(peer / own for peer, own in zip(cpu["x264"], cpu[name]))
        summary[name] = {"bd_rate": rate, "speed": speed}
        print(f"{name}: BD-rate {rate:+.2f} %, {speed:.2f} times as fast as x264 by processor time")
    for peer in found:
        if peer not in ("x264", "evener"):
            rate = bd_rate(curve[peer], curve["evener"])
            speed = statistics.median(theirs / own for theirs, own in zip(cpu[peer], cpu["evener"]))
            summary[peer]["evener"] = {"bd_rate": rate, "speed": speed}
            print(f"evener beside {peer}: BD-rate {rate:+.2f} %, {speed:.2f} times as fast")
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=Path, nargs="+", required=True, help="y4m of 8 bits 4:2:0")
    parser.add_argument("--frames", type=int, help="so many frames of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--preset", default="medium", help="of evener encode")
    parser.add_argument("--profile", default="baseline", help="of evener encode")
    parser.add_argument("--h264enc", help="openh264's console encoder")
    parser.add_argument("--complexity", type=int, default=1, choices=(0, 1, 2), help="of openh264; medium unless given")
    parser.add_argument("--rusty", help="the program in rusty/")
    parser.add_argument("--rusty-preset", default="balanced", choices=("fast", "balanced", "quality"))
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("more", nargs="*", help="more options of evener encode, after --")
    options = parser.parse_args()
    for clip in options.clip:
        header(clip)
    if not options.no_build:
        evener.build()

    results = {}
    for clip in options.clip:
        with tempfile.TemporaryDirectory() as folder:
            found, frames = measured(options, clip, Path(folder))
        results[clip.name] = {"frames": frames, "programs": found, "summary": report(clip, found, frames)}
    if options.json:
        measure.write(
            options.json,
            evener=evener.version(),
            x264=measure.version("x264", "--version"),
            ffmpeg=measure.version("ffmpeg", "-version"),
            matched=MATCHED,
            peers={"openh264": options.complexity if options.h264enc else None, "rusty_h264": options.rusty and options.rusty_preset},
            preset=options.preset,
            profile=options.profile,
            more=options.more,
            rounds=options.rounds,
            clips=results,
        )


if __name__ == "__main__":
    main()
