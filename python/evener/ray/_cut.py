"""Cuts videos at keyframes, and joins the processed pieces, with FFmpeg."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import IO, Any

from .._errors import FileError

IDR = {"h264": "5", "hevc": "19-20"}
"""Types of NAL units with IDR pictures: later pictures refer to nothing before them. Pictures may refer to frames across
other keyframes."""

CONTAINERS = {"mp4": ("mov", ".mov"), "matroska": ("matroska", ".mkv"), "mpegts": ("mpegts", ".ts"), "avi": ("avi", ".avi")}
"""The muxer and the extension of pieces, by the source's format, so that pieces keep the properties of its frames."""

TAGS = "width,height,pix_fmt,sample_aspect_ratio,field_order,r_frame_rate,chroma_location"
TAGS += ",color_range,color_space,color_primaries,color_transfer:stream_side_data=rotation"

BYTES_ALONE = (".y4m", ".264", ".h264", ".avc")
"""Extensions of files that are joined by concatenating their bytes."""


@dataclass(frozen=True)
class Clip:
    """The video of a file.

    format: FFmpeg's names of its format
    tags: properties of its frames
    frames: number of frames
    starts: numbers of the frames at which a piece may start, except the first frame
    offset: seconds from the start of the file to the first frame
    """

    format: str
    tags: dict[str, Any]
    frames: int
    starts: tuple[int, ...]
    offset: float


def probe(path: str) -> Clip:
    """Reads the packets of a file without decoding them."""
    said = _ask(path, f"format=format_name,start_time:stream=codec_name,time_base,{TAGS}:packet=pts,flags")
    tags, packets, whole = said["streams"][0], said.get("packets", []), said["format"]
    codec, base = tags.pop("codec_name", ""), Fraction(tags.pop("time_base"))
    format = whole.get("format_name", "")
    if any("pts" not in packet for packet in packets):
        return Clip(format, tags, len(packets), (), 0.0)  # A byte stream has no timestamps to cut at.
    times = [packet["pts"] * base for packet in packets]
    keys = [number for number, packet in enumerate(packets) if number and "K" in packet["flags"]]
    if codec in IDR:
        closed = _idr(path, IDR[codec])
        keys = [number for number in keys if times[number] in closed]
    else:
        # A later frame that is shown earlier may refer to frames before the keyframe.
        latest = list(accumulate(times, max))
        earliest = list(accumulate(reversed(times), min))[::-1]
        keys = [number for number in keys if latest[number - 1] < times[number] == earliest[number]]
    begin = Fraction(whole.get("start_time", 0))
    return Clip(format, tags, len(packets), tuple(keys), float(min(times, default=begin) - begin))


def _ask(path: str, entries: str) -> dict[str, Any]:
    """Returns what ffprobe reports about a file and its video."""
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-of", "json", "-show_entries", entries]
    said: dict[str, Any] = json.loads(_run(path, [*command, f"file:{path}"]))
    if not said.get("streams"):
        raise FileError(f"{path}: contains no video stream; give a file in which ffprobe finds one")
    return said


def _idr(path: str, types: str) -> set[Fraction]:
    """Returns the times of packets with NAL units of the given types."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-copyts", "-i", f"file:{path}", "-map", "0:V:0", "-c", "copy"]
    text = _run(path, [*command, "-bsf:v", f"filter_units=pass_types={types}", "-f", "framecrc", "-"])
    base, times = Fraction(1), set()
    for line in text.splitlines():
        if line.startswith("#tb 0: "):
            base = Fraction(line.removeprefix("#tb 0: "))
        elif not line.startswith("#"):
            times.add(int(line.split(",")[2]) * base)
    return times


def spread(clip: Clip, pieces: int) -> list[int]:
    """Returns the frame numbers at which to cut, for about `pieces` pieces of about the same length."""
    wanted = [clip.frames * piece // pieces for piece in range(1, pieces)]
    # A piece of a single IDR picture and the next piece would have the same idr_pic_id in H.264, which must differ.
    starts = [start for start in clip.starts if 2 <= start <= clip.frames - 2]
    nearest = {min(starts, key=lambda start: abs(start - frame)) for frame in wanted if starts}
    chosen: list[int] = []
    for start in sorted(nearest):
        if not chosen or start - chosen[-1] >= 2:
            chosen.append(start)
    return chosen


def cut(path: str, clip: Clip, cuts: list[int], folder: str) -> list[str]:
    """Cuts a file into pieces without re-encoding it. Returns their names, in order. If a piece cannot keep the properties of
    the frames, returns the file itself."""
    if not cuts:
        return [path]
    known = (CONTAINERS[name] for name in clip.format.split(",") if name in CONTAINERS)
    muxer, end = next(known, ("nut", ".nut"))
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", f"file:{path}", "-map", "0:V:0", "-c", "copy"]
    command += ["-f", "segment", "-segment_format", muxer, "-reset_timestamps", "1"]
    # The pattern has no folder, since a % in its name would be part of the pattern.
    _run(path, [*command, "-segment_frames", ",".join(map(str, cuts)), f"piece-%06d{end}"], folder)
    names = [os.path.join(folder, f"piece-{number:06}{end}") for number in range(len(cuts) + 1)]
    there = all(map(os.path.exists, names))
    return names if there and _ask(names[0], f"stream={TAGS}")["streams"][0] == clip.tags else [path]


def join(parts: list[str], output: str, source: str, audio: bool, offset: float) -> None:
    """Joins files into one, which appears when it is complete and is no more readable than the source.

    audio: copy the audio of the source, which starts `offset` seconds before the video
    """
    head, tail = os.path.split(output)
    try:
        with tempfile.TemporaryDirectory(prefix=".evener-", dir=head) as folder:
            temporary = os.path.join(folder, tail)
            if output.endswith(BYTES_ALONE):
                with open(temporary, "wb") as file:
                    _join_bytes(parts, file)
            else:
                _join_packets(parts, temporary, output, source if audio else None, offset)
            os.chmod(temporary, os.stat(temporary).st_mode & os.stat(source).st_mode)
            os.replace(temporary, output)
    except OSError as error:
        raise error if isinstance(error, FileError) else FileError(f"{output}: {error.strerror}") from error


def _join_bytes(parts: list[str], file: IO[bytes]) -> None:
    header = b""
    for part in parts:
        with open(part, "rb") as bytes:
            if part.endswith(".y4m"):
                own = bytes.readline()
                if header and own != header:
                    raise FileError(f"{part}: its frames differ from those of the previous piece; run it on one machine")
                file.write(b"" if header else own)
                header = own
            shutil.copyfileobj(bytes, file, 1 << 20)


def _join_packets(parts: list[str], temporary: str, output: str, source: str | None, offset: float) -> None:
    folder = os.path.dirname(parts[0])
    listed = os.path.join(folder, "parts.txt")
    with open(listed, "w") as file:
        file.writelines(f"file '{os.path.basename(part)}'\n" for part in parts)
    command = ["ffmpeg", "-v", "error", "-nostdin"]
    if source is not None:
        command += ["-itsoffset", str(offset)]
    command += ["-f", "concat", "-i", f"file:{listed}"]
    if source is not None:
        command += ["-i", f"file:{source}", "-map", "1:a?"]
    _run(output, [*command, "-map", "0:v:0", "-c", "copy", f"file:{temporary}"])


def _run(name: str, command: list[str], folder: str | None = None) -> str:
    """Runs a program and returns its output. If it fails, the error has the last line of its messages."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        raise FileError(f"{name}: cutting and joining needs {command[0]}; install FFmpeg") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FileError(f"{name}: {command[0]}: {said[-1]}")
    return done.stdout
