"""The functions that start a graph, one for each filter."""

import sys as _sys

from . import _filters

__all__ = _filters.install(_sys.modules[__name__])
