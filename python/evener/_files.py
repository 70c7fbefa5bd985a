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
    """A video file, and the graph that its frames go through. Immutable; made by `read`."""

    def __init__(self, path: Path, graph: Graph | None = None, planes: str = "auto") -> None:
        self._path = os.fspath(path)
        self._graph = graph
        self._planes = planes

    def pipe(self, graph: Graph | str, planes: str | None = None) -> "Source":
        """The same file with `graph` behind the graphs it has.

        planes: auto (edges and tones on luma, chroma grey), each (all filters on all planes) or luma (no chroma)
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
        """Runs the file through the graph into another, which appears when it is complete.

        path: a .y4m file, any file that FFmpeg writes by its extension if it is installed, or null: for nothing
        progress: True, or a callable that gets the frames that are done, and how many there are or None
        audio: sound is copied where both files go through FFmpeg
        keep_partial: a run that fails keeps the frames before the failure

        Raises FileError, GraphError if the graph does not fit, ValueError if there is no graph. Ctrl-C keeps the frames so
        far, and raises KeyboardInterrupt.
        """
        if self._graph is None:
            raise ValueError("there is no graph; give one: read(path).pipe(graph).write(path)")
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
"""What settings of the encoder are."""

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
    """A video: a .y4m file, any file or address that FFmpeg reads if it is installed, or testsrc:WIDTHxHEIGHT:FRAMES."""
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
    graph: filters before the encoder
    crf, qp, bitrate: one of them; the quality to keep (23), a fixed quantiser, or bits a second such as "2M"
    keyint, keys: a key frame after at most so many frames (250), and frames that are key frames too, by number

    Raises FileError, GraphError, and ValueError for settings that cannot be.
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
