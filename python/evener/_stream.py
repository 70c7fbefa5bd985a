"""Methods of streams that are written in Python."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from ._errors import Closed
from ._evener import Stream


def enter(self: Stream) -> Stream:
    return self


def leave(
    self: Stream,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    if kind is None:
        self.close()
    else:
        self.cancel()


def results(self: Stream) -> Iterator[Any]:
    """Yields results until `end()` was called and the last result was pulled."""
    while True:
        try:
            yield self.pull()
        except Closed:
            return


def map_frames(self: Stream, frames: Iterable[Any]) -> Iterator[Any]:
    """Yields the results of all frames, in order, each as soon as it is ready. Nothing else may use the stream meanwhile.

    If the caller stops early, the remaining results are dropped. Raises ValueError if frames are under way already.
    """
    if self.under_way:
        raise ValueError("frames are under way in this stream; pull their results first")
    try:
        for frame in frames:
            while not self._try_push(frame):
                yield self.pull()
            result = self._try_pull()
            if result is not None:
                yield result
        while self.under_way:
            yield self.pull()
    finally:
        while not self.closed and self.under_way:
            self.pull()


map_frames.__name__ = "map"
for _name, _function in {"__enter__": enter, "__exit__": leave, "__iter__": results, "map": map_frames}.items():
    setattr(Stream, _name, _function)
