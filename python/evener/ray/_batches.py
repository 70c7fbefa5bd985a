"""Callables for `Dataset.map_batches`. An actor creates one once, and then calls it with batches of NumPy arrays."""

from __future__ import annotations

import os
from inspect import signature
from typing import TYPE_CHECKING, Any

from .. import _crypt, _files
from .._evener import Graph, Key
from ._place import begin

if TYPE_CHECKING:
    import numpy as np

    Batch = dict[str, np.ndarray[Any, Any]]


class Filter:
    """Runs a column of frames through a graph, in an actor of Ray Data.

    graph: the graph, or its text
    column: the column with frames of (H, W) or (H, W, 3), as for `evener.Graph`; by default the only column
    into: the column for the results; by default the same column
    planes: as for `Graph`
    plans: the result of `evener.ray.plans()` on a machine of the same kind, so that a new actor starts with the fastest plan

    Arrays may be read-only (`zero_copy_batch=True`). The number of workers is the actor's `num_cpus`.
    """

    def __init__(
        self,
        graph: Graph | str,
        column: str | None = None,
        *,
        into: str | None = None,
        planes: str = "auto",
        plans: bytes = b"",
    ) -> None:
        self._graph = graph if isinstance(graph, Graph) else Graph(graph)
        self._column, self._into, self._planes = column, into, planes
        self._workers = begin(plans)

    def __call__(self, batch: Batch) -> Batch:
        """Returns the batch with the results. Raises GraphError and FrameError as the graph does."""
        column = _column(batch, self._column)
        frames = batch[column]
        if frames.dtype == object:  # Frames of several sizes.
            results = _objects([self._run(frame) for frame in frames])
        else:
            results = self._run(frames)
        return {**batch, self._into or column: results}

    def _run(self, frames: Any) -> Any:
        return self._graph(frames, planes=self._planes, workers=self._workers)


class Encode:
    """Encodes video files as H.264, in an actor of Ray Data. Adds the columns `frames` and `bytes` to batches.

    input, output: the columns with file names, which must be valid on all nodes
    plans: as for `Filter`
    settings: as for `evener.encode`: graph, preset, crf, qp, …

    An output appears when it is complete, so encoding a row twice does no harm.
    """

    def __init__(self, input: str = "input", output: str = "output", *, plans: bytes = b"", **settings: Any) -> None:
        signature(_files.encode).bind("input", "output", **settings)
        self._input, self._output, self._settings = input, output, settings
        self._workers = begin(plans)

    def __call__(self, batch: Batch) -> Batch:
        """Returns the batch with the new columns. Raises FileError, GraphError and ValueError as `evener.encode` does."""
        import numpy as np

        names = zip(batch[_column(batch, self._input)], batch[_column(batch, self._output)])
        own = {"workers": self._workers, **self._settings}
        reports = [_files.encode(str(name), str(output), **own).to_dict() for name, output in names]
        frames = np.array([report["units"] for report in reports], np.int64)
        sizes = np.array([report["encoded"]["bytes"] for report in reports], np.int64)
        return {**batch, "frames": frames, "bytes": sizes}


class Encrypt:
    """Encrypts a column of bytes, in an actor of Ray Data.

    key: the name of a key file that all nodes can read, so that no secret passes through Ray
    column: the column to encrypt; by default the only column
    into: the column for the encrypted bytes; by default the same column
    context: as for `evener.encrypt`
    """

    def __init__(
        self,
        key: str | os.PathLike[str],
        column: str | None = None,
        *,
        into: str | None = None,
        context: bytes = b"",
    ) -> None:
        self._key = Key.load(key)
        self._column, self._into, self._context = column, into, context
        self._workers = begin(b"")

    def __call__(self, batch: Batch) -> Batch:
        """Returns the batch with the encrypted bytes. `evener.decrypt` or the command can decrypt each row separately."""
        column = _column(batch, self._column)
        own: dict[str, Any] = {"key": self._key, "context": self._context, "workers": self._workers}
        return {**batch, self._into or column: _objects([_crypt.encrypt(row, **own) for row in batch[column]])}


def _column(batch: Batch, name: str | None) -> str:
    if name is None:
        if len(batch) != 1:
            raise ValueError(f"the batch has the columns {', '.join(sorted(batch))}; choose one: column=…")
        return next(iter(batch))
    if name not in batch:
        raise ValueError(f"no column {name!r}; the batch has {', '.join(sorted(batch))}")
    return name


def _objects(rows: list[Any]) -> Any:
    """Returns rows as a column, even if their shapes differ."""
    import numpy as np

    column = np.empty(len(rows), object)
    for at, row in enumerate(rows):
        column[at] = row
    return column
