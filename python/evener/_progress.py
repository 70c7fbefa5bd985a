"""Progress of runs on files: a callable, tqdm if it is installed, or a line on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Far = Callable[[int, int | None], None]
"""Called with the amount done and the total, which may be None: frames, bytes, or thousandths of the work."""

Progress = bool | Far | None


@contextmanager
def shown(progress: Progress, unit: str) -> Iterator[Far | None]:
    """Yields the function that a run calls with its progress."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise TypeError(f"progress={progress!r}: give True, a callable or None")
    else:
        try:
            tqdm = import_module("tqdm.auto").tqdm
        except ImportError:
            yield from _line(unit)
        else:
            yield from _bar(tqdm, unit)


def _bar(tqdm: Any, unit: str) -> Iterator[Far]:
    with tqdm(unit=unit, unit_scale=unit == "B") as bar:

        def update(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield update


def _line(unit: str) -> Iterator[Far]:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    last = ""

    def update(done: int, total: int | None) -> None:
        nonlocal last
        of = "" if total is None else f" of {total}"
        line = f"{done}{of} {unit}"
        if is_terminal and line != last:
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
            last = line

    try:
        yield update
    finally:
        if last:
            print(file=sys.stderr)
