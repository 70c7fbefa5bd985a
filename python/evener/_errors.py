"""The exceptions of the package."""

import queue


class Error(Exception):
    """Base class of all exceptions of evener; the subclasses say what failed."""


class GraphError(Error, ValueError):
    """A graph that is invalid, or does not fit the frames."""


class FrameError(Error, ValueError):
    """Frames that a graph cannot take: wrong shape or layout, overlapping or read-only memory."""


class StreamError(Error, RuntimeError):
    """A run that failed."""


class FileError(Error, OSError):
    """A video file that cannot be read, encoded or written."""


class CryptError(Error, RuntimeError):
    """Encryption or decryption failed: altered data, a wrong key, a file that cannot be read or written."""


class ImageError(Error, OSError):
    """A disk image that cannot be read."""


class Closed(Error, ValueError):
    """A stream that is closed, or was opened before this process was forked."""


class Full(Error, queue.Full):
    """A stream had no room for a frame before the timeout."""


class Empty(Error, queue.Empty):
    """A stream had no result before the timeout."""
