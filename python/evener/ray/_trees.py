"""File trees on a cluster."""

import os
from contextlib import closing
from dataclasses import dataclass

from .. import _crypt
from .._crypt import Path
from .._errors import CryptError
from .._evener import Key
from .._progress import Progress, shown
from ._tasks import check, each

BYTES = 64 << 20
"""A job has files of at least this many bytes in total, or `FILES` files."""
FILES = 256


@dataclass(frozen=True)
class Tree:
    """The encrypted tree: number of files, and bytes before encryption."""

    files: int
    bytes: int


@dataclass(frozen=True)
class Job:
    files: list[tuple[str, str]]
    size: int
    key: str
    context: bytes


def encrypt_tree(
    source: Path,
    output: Path,
    *,
    key: Path,
    context: bytes = b"",
    suffix: str = ".sealed",
    num_cpus: float = 1,
    progress: Progress = None,
) -> Tree:
    """Encrypts all files below a folder into another folder, each one separately, as `evener encrypt` does.

    source, output: folders that all nodes can access; a file `a/b` becomes `a/b.sealed`, and empty folders are kept
    key: the name of a key file that all nodes can read, so that no secret passes through Ray
    context: as for `evener.encrypt`, the same for all files
    suffix: appended to the file names
    num_cpus: CPUs of each task
    progress: True, or a callable that gets the encrypted bytes and the total

    Raises CryptError. Links and special files are rejected before anything is written. After a failure, the files encrypted
    so far remain, and no incomplete file does.
    """
    check(num_cpus)
    source, output, key = (os.path.abspath(name) for name in (source, output, key))
    Key.load(key)
    if os.path.commonpath([source, output]) == source:
        raise ValueError(f"{output}: is inside {source}; give another folder")
    folders, found = _listed(source)
    for folder in folders:
        os.makedirs(os.path.join(output, folder), exist_ok=True)
    jobs: list[Job] = []
    files: list[tuple[str, str]] = []
    size = 0
    for name, length in found:
        files.append((os.path.join(source, name), os.path.join(output, name + suffix)))
        size += length
        if size >= BYTES or len(files) >= FILES:
            jobs.append(Job(files, size, key, context))
            files, size = [], 0
    if files:
        jobs.append(Job(files, size, key, context))
    total, done = sum(job.size for job in jobs), 0
    with shown(progress, "B") as far, closing(each(_encrypt, jobs, num_cpus, 0)) as results:
        for number, _ in results:
            done += jobs[number].size
            if far:
                far(done, total)
    return Tree(len(found), total)


def _listed(source: str) -> tuple[list[str], list[tuple[str, int]]]:
    """Returns the folders below `source`, and the files with their sizes."""
    folders, files = [], []

    def failed(error: OSError) -> None:
        raise CryptError(f"{error.filename}: {error.strerror}")

    for folder, inside, names in os.walk(source, onerror=failed):
        folders.append(os.path.relpath(folder, source))
        for name in names + [name for name in inside if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                raise CryptError(f"{path}: is neither a file nor a folder; remove it from the tree")
            files.append((os.path.relpath(path, source), os.path.getsize(path)))
    return folders, sorted(files)


def _encrypt(job: Job, workers: int | None) -> None:
    key = Key.load(job.key)
    for source, output in job.files:
        _crypt.encrypt(source, output, key=key, context=job.context, workers=workers)
