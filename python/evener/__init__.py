"""evener: video filters, an H.264 encoder, encryption and disk images, on every CPU core of a machine.

While a job runs, evener measures how to divide the work, and adapts.

>>> import evener as ev
>>> g = ev.blur().sobel().threshold(0.25)
>>> str(g)
'blur,sobel,threshold=t=0.25:keep=above'
"""

import atexit as _atexit
import os as _os

from . import _evener, _operators, _stream
from ._crypt import ctr, decrypt, encrypt
from ._errors import (
    Closed,
    CryptError,
    Empty,
    Error,
    FileError,
    FrameError,
    Full,
    GraphError,
    ImageError,
    StreamError,
)
from ._evener import Graph, Image, Key, Stream, __version__, close_idle, filters
from ._files import Source, encode, read
from ._operators import *
from ._queens import queens
from ._report import Report

graph = Graph  # graph(text): a graph from the text that the command `evener filter` takes

_os.register_at_fork(after_in_child=_evener._forked)
_atexit.register(_evener._at_exit)

__all__ = [
    "Closed",
    "CryptError",
    "Empty",
    "Error",
    "FileError",
    "FrameError",
    "Full",
    "Graph",
    "GraphError",
    "Image",
    "ImageError",
    "Key",
    "Report",
    "Source",
    "Stream",
    "StreamError",
    "__version__",
    "close_idle",
    "ctr",
    "decrypt",
    "encode",
    "encrypt",
    "filters",
    "graph",
    "queens",
    "read",
]
__all__ += _operators.__all__
