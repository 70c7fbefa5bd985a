"""Encryption of a file and of bytes, and a count that goes on where it was interrupted."""

import pathlib

import evener as ev

if pathlib.Path("backup.key").exists():
    key = ev.Key.load("backup.key")
else:
    key = ev.Key.create("backup.key")
pathlib.Path("backup.tar").write_bytes(bytes(3 << 20))

print(ev.encrypt("backup.tar", "backup.tar.sealed", key=key))
ev.decrypt("backup.tar.sealed", "part", key=key, range=(1000, 2000))
assert pathlib.Path("part").read_bytes() == bytes(1000)

sealed = ev.encrypt(b"a few bytes", key=key, context=b"letter 12")
assert ev.decrypt(sealed, key=key, context=b"letter 12") == b"a few bytes"

print(ev.queens(11, checkpoint="queens.checkpoint"))
