"""Trees of files on a cluster."""

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
"""A job has files of at least so many bytes together, or `FILES`."""
FILES = 256


@dataclass(frozen=True)
class Tree:
    """What was encrypted: how many files, and their bytes before."""

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
    """Encrypts all files below a folder into another, each by itself, as `evener encrypt` does.

    source, output: folders that all nodes see; a file `a/b` becomes `a/b.sealed`, and folders stay, also empty ones
    key: the name of a key file that all nodes see, so that no secret goes through Ray
    context: as for `evener.encrypt`, the same for all files
    suffix: what the names get
    num_cpus: of each task
    progress: True, or a callable that gets the bytes that are done, and how many there are

    Raises CryptError. Links, and what is neither a file nor a folder, are refused before anything is written. Where it fails,
    files that are encrypted stay, and none is there in part.
    """
    check(num_cpus)
    source, output, key = (os.path.abspath(name) for name in (source, output, key))
    Key.load(key)
    if os.path.commonpath([source, output]) == source:
        raise ValueError(f"{output}: lies in {source}; give another folder")
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
    """The folders and the files below `source`, with their bytes."""
    folders, files = [], []

    def failed(error: OSError) -> None:
        raise CryptError(f"{error.filename}: {error.strerror}")

    for folder, inside, names in os.walk(source, onerror=failed):
        folders.append(os.path.relpath(folder, source))
        for name in names + [name for name in inside if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                raise CryptError(f"{path}: is neither a file nor a folder; take it out of the tree")
            files.append((os.path.relpath(path, source), os.path.getsize(path)))
    return folders, sorted(files)


def _encrypt(job: Job, workers: int | None) -> None:
    key = Key.load(job.key)
    for source, output in job.files:
        _crypt.encrypt(source, output, key=key, context=job.context, workers=workers)
