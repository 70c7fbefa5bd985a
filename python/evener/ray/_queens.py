"""n queens on a cluster."""

import os
import time
from contextlib import closing

from .. import _evener
from .._progress import Progress, shown
from ._tasks import check, each, slots


def queens(
    n: int,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    ranges: int | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    progress: Progress = None,
) -> int:
    """Counts the ways to place n queens so that no queen attacks another, in ranges of starts.

    checkpoint: a file on the calling machine, from which an interrupted count resumes, here or by `evener queens`; it is
        written every `every` seconds, and contains the ranges before the first unfinished one
    ranges: approximate number of ranges; by default 16 for each concurrent task
    num_cpus, num_gpus: CPUs and GPUs of each task
    progress: as for `evener.queens`

    Raises ValueError if the board is too large, or if the file is not a checkpoint for it.
    """
    check(num_cpus, num_gpus)
    if ranges is not None and ranges < 1:
        raise ValueError(f"ranges={ranges}: give 1 or more")
    name = None if checkpoint is None else os.fspath(checkpoint)
    ledger = _evener._Ledger(n, ranges or 16 * slots(num_cpus), name)
    jobs = [(n, begin, end) for begin, end in ledger.open_ranges()]
    saved = time.monotonic()
    try:
        with shown(progress, "‰") as far, closing(each(_search, jobs, num_cpus, num_gpus)) as results:
            for number, found in results:
                _, begin, end = jobs[number]
                ledger.add(begin, end, found)
                if far:
                    far(int(1000 * ledger.share()), 1000)
                if time.monotonic() - saved >= every:
                    ledger.save()
                    saved = time.monotonic()
        total = ledger.total()
    finally:
        ledger.save()
        del ledger  # This releases its file, even if a traceback keeps this frame alive.
    assert total is not None, "all ranges are finished"
    return total


def _search(job: tuple[int, int, int], workers: int | None) -> int:
    return _evener._queens_range(*job, workers)
