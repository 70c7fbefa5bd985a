"""Videos on a cluster."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from .. import _files
from .._errors import FileError
from .._evener import Graph
from .._files import Path
from .._progress import Progress, shown
from . import _cut
from ._tasks import check, each, slots

SETTINGS = ("preset", "crf", "qp", "bitrate", "profile", "level", "keyint", "tune")


@dataclass(frozen=True)
class Video:
    """The written video.

    frames: number of frames
    cuts: numbers of the frames at which pieces started, except the first frame
    """

    frames: int
    cuts: tuple[int, ...]


@dataclass(frozen=True)
class Job:
    piece: str
    result: str
    graph: Graph | None
    planes: str
    encode: dict[str, Any] | None


def video(
    input: Path,
    output: Path,
    *,
    graph: Graph | str | None = None,
    planes: str = "auto",
    encode: dict[str, Any] | None = None,
    pieces: int | None = None,
    audio: bool = True,
    folder: Path | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    progress: Progress = None,
) -> Video:
    """Cuts a video at keyframes, filters or encodes the pieces, or both, and joins the results.

    input: a file that FFmpeg reads
    output: a .y4m file, or any file whose extension FFmpeg knows; with `encode` also .264
    graph, planes: as for `read(input).pipe(graph, planes).write(output)`
    encode: settings of `evener.encode`, such as `{"preset": "fast", "qp": 27}`, or `{}` for its defaults; without it FFmpeg
        encodes, as for `write`
    pieces: approximate number of pieces; by default 4 for each concurrent task. The limit is the number of IDR pictures, or
        of other keyframes across which no frame refers
    audio: copy audio, unless the output is .y4m or .264
    folder: a folder for pieces and their results that all nodes can access; by default beside the output
    num_cpus, num_gpus: CPUs and GPUs of each task
    progress: True, or a callable that gets the finished frames and the total

    docs/cluster.md says when the result equals that of one machine. Raises as `write` and `encode` do, and then leaves no
    output.
    """
    check(num_cpus, num_gpus)
    if graph is None and encode is None:
        raise ValueError("nothing to do; give a graph, or encode={…}")
    if pieces is not None and pieces < 1:
        raise ValueError(f"pieces={pieces}: give 1 or more")
    for name in encode or {}:
        if name not in SETTINGS:
            raise ValueError(f"encode: {name!r} cannot be set for pieces; these can: {', '.join(SETTINGS)}")
    input, output = os.path.abspath(input), os.path.abspath(output)
    if input == output:
        raise ValueError(f"{output}: is also the input; give another output")
    end = os.path.splitext(output)[1]
    if not end:
        raise ValueError(f"{output}: has no extension, which determines the format; give one, such as .mkv")
    graph = Graph(graph) if isinstance(graph, str) else graph
    clip = _cut.probe(input)
    cuts = _cut.spread(clip, pieces or 4 * slots(num_cpus))
    # The encoder writes mp4 itself, and every container can hold its stream.
    part = ".mp4" if encode is not None and end not in _cut.BYTES_ALONE else end
    try:
        place = tempfile.mkdtemp(prefix=".evener-", dir=folder or os.path.dirname(output))
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}") from error
    try:
        sources = _cut.cut(input, clip, cuts, place)
        if len(sources) == 1:
            cuts = []
            if pieces != 1:
                warnings.warn(f"{input}: has no keyframe to cut at, so it is one piece", stacklevel=2)
        results = [os.path.join(place, f"result-{number:06}{part}") for number in range(len(sources))]
        bounds = [0, *cuts, clip.frames]
        jobs = [Job(source, result, graph, planes, encode) for source, result in zip(sources, results)]
        done, notes = 0, set()
        with shown(progress, "frames") as far, closing(each(_work, jobs, num_cpus, num_gpus)) as done_jobs:
            for number, (frames, said) in done_jobs:
                wanted = bounds[number + 1] - bounds[number]
                if cuts and frames != wanted:
                    raise FileError(
                        f"{input}: frames {bounds[number]} to {bounds[number + 1]} became {frames}; its frame rate varies "
                        "or it is damaged, so run it on one machine"
                    )
                done += frames
                notes.update(said)
                if far:
                    far(done, clip.frames)
        for note in sorted(notes):
            warnings.warn(f"{input}: {note}", stacklevel=2)
        _cut.join(results, output, input, audio, clip.offset)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Video(done, tuple(cuts))


def _work(job: Job, workers: int | None) -> tuple[int, list[str]]:
    """Processes a piece. Returns its number of frames, and warnings. The result appears when it is complete."""
    own: dict[str, Any] = {"audio": False, "workers": workers}
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        if job.encode is not None:
            report = _files.encode(job.piece, job.result, graph=job.graph, **own, **job.encode)
        else:
            assert job.graph is not None, "it was checked"
            report = _files.Source(job.piece, job.graph, job.planes).write(job.result, **own)
    said = [str(note.message).removeprefix(f"{job.piece}: ") for note in notes]
    # The start time of a piece follows from its neighbours and `join`.
    return int(report.to_dict()["units"]), [note for note in said if not note.startswith("its time begins")]
