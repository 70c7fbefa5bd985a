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
    """Encrypts bytes or a file, in authenticated chunks (c2sp.org/chunked-encryption).

    data: bytes or another buffer, to return the encrypted bytes; or the name of a file, to write the file `output`
    key, passphrase: give one of them; `decrypt` needs the same one
    context: bytes that `decrypt` needs too; they are not stored in the output

    Raises CryptError. Ctrl-C leaves no output file.
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
    """Decrypts the output of `encrypt` or of the command `evener encrypt`.

    range: (start, end), to decrypt only these bytes of a file; `end` is excluded, and None means the end of the file

    Raises CryptError if the data was altered, or if the key, the passphrase or the context is wrong.
    """
    if output is None:
        if range is not None:
            raise ValueError("range is for files; slice the decrypted bytes instead")
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
    """Encrypts or decrypts with AES in counter mode, as `openssl enc -aes-256-ctr` does. Altered bytes go unnoticed.

    key: 16, 24 or 32 bytes
    iv: the initial counter, 16 bytes; never use it for another message with the same key
    at: the offset of the first byte in the stream

    Raises ValueError if the key or the counter has another length, CryptError if a file cannot be read or written.
    """
    if output is None:
        return _evener._ctr_bytes(_bytes(data), key, iv, at, workers)
    with shown(progress, "B") as far:
        return _evener._ctr_file(_name(data), os.fspath(output), key, iv, at, workers, far)


def _bytes(data: Buffer | Path) -> Buffer:
    if isinstance(data, (str, os.PathLike)):
        raise TypeError("a file name needs an output name; to encrypt text, give text.encode()")
    return data


def _name(data: Buffer | Path) -> str:
    if not isinstance(data, (str, os.PathLike)):
        raise TypeError("encrypted bytes are returned and need no output; leave it out, or give the name of an input file")
    return os.fspath(data)
