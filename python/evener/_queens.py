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
    """The number of ways to place n queens on a board of n x n squares so that none attacks another.

    checkpoint: a file; a count that was interrupted goes on from there. It is written each `every` seconds.
    progress: True, or a callable that gets the thousandths of the work that are done, and 1000

    >>> queens(8)
    92

    Raises ValueError if the board is too large or the file is no checkpoint of it.
    """
    with shown(progress, "‰") as far:
        return _evener._queens(n, checkpoint=checkpoint, every=every, workers=workers, progress=far)
