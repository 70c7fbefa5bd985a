"""n queens."""

import os

from . import _evener
from ._progress import Progress, shown


def queens(
    n: int,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    workers: int | None = None,
    progress: Progress = None,
) -> int:
    """Counts the ways to place n queens on a board of n x n squares so that no queen attacks another.

    checkpoint: a file from which an interrupted count resumes; it is written every `every` seconds
    progress: True, or a callable that gets the finished thousandths of the work, and 1000

    >>> queens(8)
    92

    Raises ValueError if the board is too large, or if the file is not a checkpoint for it.
    """
    with shown(progress, "‰") as far:
        return _evener._queens(n, checkpoint=checkpoint, every=every, workers=workers, progress=far)
