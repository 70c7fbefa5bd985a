"""Video files."""

import os
import warnings
from collections.abc import Iterable
from typing import Any

from . import _evener
from ._evener import Graph
from ._progress import Progress, shown
from ._report import Report

Path = str | os.PathLike[str]


class Source:
    """A video file, and the graph for its frames. Immutable; created by `read`."""

    def __init__(self, path: Path, graph: Graph | None = None, planes: str = "auto") -> None:
        self._path = os.fspath(path)
        self._graph = graph
        self._planes = planes

    def pipe(self, graph: Graph | str, planes: str | None = None) -> "Source":
        """Returns the same file with `graph` appended to its graph.

        planes: "auto" (edge and tone filters on luma, chroma becomes grey), "each" (all filters on all planes) or "luma"
            (no chroma)
        """
        graph = graph if isinstance(graph, Graph) else Graph(graph)
        both = graph if self._graph is None else self._graph.then(graph)
        return Source(self._path, both, planes or self._planes)

    def write(
        self,
        path: Path,
        *,
        progress: Progress = None,
        audio: bool = True,
        keep_partial: bool = False,
        workers: int | None = None,
        plan: str = "auto",
    ) -> Report:
        """Filters the file and writes the result, which appears when it is complete.

        path: a .y4m file, any file whose extension FFmpeg knows (if FFmpeg is installed), or "null:" for no output
        progress: True, or a callable that gets the number of finished frames and their total, which may be None
        audio: copy audio, if FFmpeg reads the input and writes the output
        keep_partial: keep the frames before the failure if the run fails

        Raises FileError; GraphError if the graph does not fit; ValueError if there is no graph. Ctrl-C keeps the frames
        written so far, and raises KeyboardInterrupt.
        """
        if self._graph is None:
            raise ValueError("no graph; give one: read(path).pipe(graph).write(path)")
        with shown(progress, "frames") as far:
            report, notes = _evener._filter_file(
                self._graph, self._path, os.fspath(path), audio, keep_partial, self._planes, workers, plan, far
            )
        _warn(self._path, notes)
        return report

    def __repr__(self) -> str:
        piped = "" if self._graph is None else f".pipe({str(self._graph)!r})"
        return f"evener.read({self._path!r}){piped}"


KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("preset", "bitrate", "maxrate", "bufsize", "profile", "level", "tune"), str),
    "crf": (int, float),
    "qp": int,
    "keyint": int,
}
"""Types of the encoder's settings."""

EXAMPLES = {
    "preset": "'fast'",
    "bitrate": "'2M'",
    "maxrate": "'2M'",
    "bufsize": "'4M'",
    "profile": "'high'",
    "level": "'4.1'",
    "tune": "'psnr'",
}


def read(path: Path) -> Source:
    """Opens a video: a .y4m file, any file or URL that FFmpeg reads (if installed), or "testsrc:WIDTHxHEIGHT:FRAMES"."""
    return Source(path)


def encode(
    input: Path,
    output: Path,
    *,
    graph: Graph | str | None = None,
    preset: str = "medium",
    crf: float | None = None,
    qp: int | None = None,
    bitrate: str | None = None,
    maxrate: str | None = None,
    bufsize: str | None = None,
    profile: str | None = None,
    level: str | None = None,
    keyint: int | None = None,
    keys: Iterable[int] = (),
    tune: str | None = None,
    psnr: bool = False,
    ssim: bool = False,
    audio: bool = True,
    keep_partial: bool = False,
    progress: Progress = None,
    workers: int | None = None,
    plan: str = "auto",
) -> Report:
    """Encodes a video as H.264, as the command `evener encode` does.

    input, output: as for `read` and `write`; .264 and .mp4 need no FFmpeg
    graph: filters to apply before encoding
    crf, qp, bitrate: give at most one: a constant quality (default 23), a fixed quantiser, or bits per second such as "2M"
    keyint: maximum distance between keyframes, in frames (default 250)
    keys: numbers of additional keyframes
    audio, keep_partial, progress: as for `Source.write`

    Raises FileError, GraphError, and ValueError for invalid settings.
    """
    graph = Graph(graph) if isinstance(graph, str) else graph
    asked: dict[str, Any] = {
        "preset": preset,
        "crf": crf,
        "qp": qp,
        "bitrate": bitrate,
        "maxrate": maxrate,
        "bufsize": bufsize,
        "profile": profile,
        "level": level,
        "keyint": keyint,
        "keys": list(keys),
        "tune": tune,
        "psnr": psnr,
        "ssim": ssim,
    }
    for name, kind in KINDS.items():
        given = asked[name]
        if given is not None and (isinstance(given, bool) or not isinstance(given, kind)):
            such = "a str, such as " + EXAMPLES[name] if kind is str else "a number"
            raise TypeError(f"{name}={given!r}: give {such}")
    with shown(progress, "B") as far:
        report, notes = _evener._encode_file(
            graph, os.fspath(input), os.fspath(output), audio, keep_partial, asked, workers, plan, far
        )
    _warn(os.fspath(input), notes)
    return report


def _warn(name: str, notes: list[str]) -> None:
    for note in notes:
        warnings.warn(f"{name}: {note}", stacklevel=3)
