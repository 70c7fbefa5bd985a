"""Writes `_evener.pyi`: the stubs of the module, with an operator for each filter. `python -m evener._stubs > _evener.pyi`"""

import sys
from typing import Any

from . import _evener, _filters

HEAD = '''# Written by `python -m evener._stubs`; a test compares.
import os
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, final, overload

from typing_extensions import disjoint_base

from ._progress import Far
from ._report import Report

__version__: str

@disjoint_base
class Graph:
    def __new__(cls, text: str) -> Self: ...
    def then(self, other: Graph | str) -> Graph: ...
    def __call__(
        self, frames: Any, out: Any = None, *, planes: str = "auto", workers: int | None = None, plan: str = "auto"
    ) -> Any: ...
    def profile(
        self, frames: Any, out: Any = None, *, planes: str = "auto", workers: int | None = None, plan: str = "auto"
    ) -> tuple[Any, Report]: ...
    def explain(self, frames: Any, *, dtype: Any = None, planes: str = "auto") -> str: ...
    def open(
        self,
        height: int,
        width: int,
        dtype: Any = None,
        *,
        channels: int = 1,
        format: str | None = None,
        planes: str = "auto",
        workers: int | None = None,
        plan: str = "auto",
    ) -> Stream: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
'''

TAIL = '''
@final
class Stream:
    def push(self, frame: Any, out: Any = None, block: bool = True, timeout: float | None = None) -> None: ...
    def pull(self, block: bool = True, timeout: float | None = None) -> Any: ...
    def _try_push(self, frame: Any, out: Any = None) -> bool: ...
    def _try_pull(self) -> Any: ...
    def __call__(self, frame: Any, out: Any = None) -> Any: ...
    def map(self, frames: Iterable[Any]) -> Iterator[Any]: ...
    def end(self) -> None: ...
    def close(self) -> Report | None: ...
    def cancel(self) -> None: ...
    @property
    def under_way(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

@final
class Key:
    @staticmethod
    def generate() -> Key: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Key: ...
    @staticmethod
    def create(path: str | os.PathLike[str]) -> Key: ...
    @staticmethod
    def from_bytes(key: bytes) -> Key: ...

@final
class Image:
    def __new__(
        cls, path: str | os.PathLike[str], *, cache: int = 67108864, workers: int | None = None
    ) -> Self: ...
    def read(self, offset: int = 0, size: int | None = None) -> bytes: ...
    @property
    def size(self) -> int: ...
    @property
    def format(self) -> str: ...
    def __len__(self) -> int: ...

def filters() -> list[dict[str, Any]]: ...
def close_idle() -> None: ...
def _forked() -> None: ...
def _at_exit() -> None: ...
def _kept() -> int: ...
def _crypt_bytes(
    encrypt: bool, data: Any, key: Key | None, passphrase: str | None, context: bytes, workers: int | None
) -> bytes: ...
def _crypt_file(
    encrypt: bool,
    input: str,
    output: str,
    key: Key | None,
    passphrase: str | None,
    context: bytes,
    range: tuple[int, int | None] | None,
    workers: int | None,
    progress: Far | None,
) -> Report: ...
def _ctr_bytes(data: Any, key: bytes, iv: bytes, at: int, workers: int | None) -> bytes: ...
def _ctr_file(
    input: str, output: str, key: bytes, iv: bytes, at: int, workers: int | None, progress: Far | None
) -> Report: ...
def _filter_file(
    graph: Graph,
    input: str,
    output: str,
    audio: bool,
    keep_partial: bool,
    planes: str,
    workers: int | None,
    plan: str,
    progress: Far | None,
) -> tuple[Report, list[str]]: ...
def _encode_file(
    graph: Graph | None,
    input: str,
    output: str,
    audio: bool,
    keep_partial: bool,
    settings: dict[str, Any],
    workers: int | None,
    plan: str,
    progress: Far | None,
) -> tuple[Report, list[str]]: ...
def _queens(
    n: int,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    workers: int | None = None,
    progress: Far | None = None,
) -> int: ...
def _queens_range(n: int, begin: int, end: int, workers: int | None) -> int: ...
def _plans() -> str: ...
def _remember(plans: str) -> None: ...
def _use_device(name: str) -> None: ...

@final
class _Ledger:
    def __new__(cls, n: int, parts: int, checkpoint: str | os.PathLike[str] | None) -> Self: ...
    def open_ranges(self) -> list[tuple[int, int]]: ...
    def add(self, begin: int, end: int, solutions: int) -> bool: ...
    def save(self) -> None: ...
    def total(self) -> int | None: ...
    def share(self) -> float: ...
'''


def operator(entry: dict[str, Any], name: str, receiver: str, indent: str) -> list[str]:
    """The stubs of an operator: one, or one for the arguments that exclude the others and one for those."""
    together = [arg for arg in entry["args"] if not arg[3]]
    ways = [[arg] for arg in entry["args"] if arg[3]] + ([together] if together or not entry["args"] else [])
    lines = []
    for way in ways:
        if len(ways) > 1:
            lines.append(f"{indent}@overload")
        parameters = ([receiver] if receiver else []) + [parameter(arg) for arg in way]
        lines.append(f"{indent}def {name}({', '.join(parameters)}) -> Graph: ...")
    return lines


def parameter(arg: tuple[str, str | None, str, bool, bool]) -> str:
    """A parameter with its type and default."""
    name, default, *_, expression = arg
    if default is None:
        # What it is, its text alone says.
        return f"{name}: float | str"
    kind = "float | str" if expression else "float" if _filters.is_number(default) else "str"
    shown = default if _filters.is_number(default) else f'"{default}"'
    return f"{name}: {kind} = {shown}"


def stubs() -> str:
    """All of `_evener.pyi`."""
    named = [(entry, name) for entry in _evener.filters() for name in [entry["name"], *entry["aliases"]]]
    lines = [HEAD.rstrip("\n")]
    for entry, name in named:
        lines += operator(entry, name, "self", "    ")
    return "\n".join(lines) + "\n" + TAIL


def package() -> str:
    """All of `_operators.pyi`: the functions that begin a graph."""
    lines = ["# Written by `python -m evener._stubs operators`; a test compares.", "from typing import overload", ""]
    lines.append("from ._evener import Graph\n")
    names = []
    for entry in _evener.filters():
        for name in [entry["name"], *entry["aliases"]]:
            lines += operator(entry, name, "", "")
            names.append(name)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(package() if sys.argv[1:] == ["operators"] else stubs(), end="")
