"""Encryption of files and of bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, overload

from . import _evener
from ._evener import Key
from ._progress import Progress, shown
from ._report import Report

if TYPE_CHECKING:
    from typing_extensions import Buffer

Path = str | os.PathLike[str]


@overload
def encrypt(
    data: Buffer,
    output: None = None,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    workers: int | None = None,
) -> bytes: ...


@overload
def encrypt(
    data: Path,
    output: Path,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    progress: Progress = None,
    workers: int | None = None,
) -> Report: ...


def encrypt(
    data: Buffer | Path,
    output: Path | None = None,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    progress: Progress = None,
    workers: int | None = None,
) -> bytes | Report:
    """Encrypts bytes, or the file of that name into another, in chunks that are sealed (c2sp.org/chunked-encryption).

    data: an object with bytes, whose encrypted bytes are returned; or the name of a file, with that of the output
    key, passphrase: one of them; `decrypt` needs the same
    context: bytes that `decrypt` must be given too; they are not in the output

    Raises CryptError. Ctrl-C leaves no file.
    """
    if output is None:
        return _evener._crypt_bytes(True, _bytes(data), key, passphrase, context, workers)
    with shown(progress, "B") as far:
        names = _name(data), os.fspath(output)
        return _evener._crypt_file(True, *names, key, passphrase, context, None, workers, far)


@overload
def decrypt(
    data: Buffer,
    output: None = None,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    workers: int | None = None,
) -> bytes: ...


@overload
def decrypt(
    data: Path,
    output: Path,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    range: tuple[int, int | None] | None = None,
    progress: Progress = None,
    workers: int | None = None,
) -> Report: ...


def decrypt(
    data: Buffer | Path,
    output: Path | None = None,
    *,
    key: Key | None = None,
    passphrase: str | None = None,
    context: bytes = b"",
    range: tuple[int, int | None] | None = None,
    progress: Progress = None,
    workers: int | None = None,
) -> bytes | Report:
    """Decrypts what `encrypt` or the command `evener encrypt` made.

    range: of a file, only the decrypted bytes from the first number to before the second, or to the end

    Raises CryptError if anything was altered, or the key, passphrase or context is another.
    """
    if output is None:
        if range is not None:
            raise ValueError("range is for files; take a slice of what is decrypted")
        return _evener._crypt_bytes(False, _bytes(data), key, passphrase, context, workers)
    with shown(progress, "B") as far:
        names = _name(data), os.fspath(output)
        return _evener._crypt_file(False, *names, key, passphrase, context, range, workers, far)


@overload
def ctr(
    data: Buffer,
    output: None = None,
    *,
    key: bytes,
    iv: bytes,
    at: int = 0,
    workers: int | None = None,
) -> bytes: ...


@overload
def ctr(
    data: Path,
    output: Path,
    *,
    key: bytes,
    iv: bytes,
    at: int = 0,
    progress: Progress = None,
    workers: int | None = None,
) -> Report: ...


def ctr(
    data: Buffer | Path,
    output: Path | None = None,
    *,
    key: bytes,
    iv: bytes,
    at: int = 0,
    progress: Progress = None,
    workers: int | None = None,
) -> bytes | Report:
    """AES in counter mode, which encrypts and decrypts, as `openssl enc -aes-256-ctr` does. Altered bytes go unnoticed.

    key: 16, 24 or 32 bytes
    iv: the first counter, 16 bytes, which no other message with this key may have
    at: which byte of the stream the first byte is

    Raises ValueError for keys and counters of other lengths, CryptError for files.
    """
    if output is None:
        return _evener._ctr_bytes(_bytes(data), key, iv, at, workers)
    with shown(progress, "B") as far:
        return _evener._ctr_file(_name(data), os.fspath(output), key, iv, at, workers, far)


def _bytes(data: Buffer | Path) -> Buffer:
    if isinstance(data, (str, os.PathLike)):
        raise TypeError("the name of a file needs that of an output; to encrypt text, give text.encode()")
    return data


def _name(data: Buffer | Path) -> str:
    if not isinstance(data, (str, os.PathLike)):
        raise TypeError("bytes are returned and have no output; leave it out, or give the name of a file")
    return os.fspath(data)
