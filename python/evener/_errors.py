"""The exceptions of the package."""

import queue


class Error(Exception):
    """What evener raises itself; the classes below say what failed."""


class GraphError(Error, ValueError):
    """A graph that cannot be read, or does not fit the frames."""


class FrameError(Error, ValueError):
    """Frames that a graph cannot take: their shape, their layout, memory that overlaps or is read-only."""


class StreamError(Error, RuntimeError):
    """A run that failed."""


class FileError(Error, OSError):
    """A video file that cannot be read, coded or written."""


class CryptError(Error, RuntimeError):
    """What cannot be encrypted or decrypted: altered bytes, another key, a file that cannot be read or written."""


class ImageError(Error, OSError):
    """A disk image that cannot be read."""


class Closed(Error, ValueError):
    """A stream that is closed, or was opened before the process was forked."""


class Full(Error, queue.Full):
    """A stream had no room for a frame in time."""


class Empty(Error, queue.Empty):
    """A stream had no result in time."""
