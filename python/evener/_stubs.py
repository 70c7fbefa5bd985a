"""Writes the stubs of the operators: `python -m evener._stubs [FOLDER]`.

`_operators.pyi` is generated as a whole. In `_evener.pyi`, only the methods of Graph between two comments are generated. FOLDER
is the package's own folder by default.
"""

import sys
from pathlib import Path
from typing import Any

from . import _evener, _filters

BEGIN = "    # Operators, written by `python -m evener._stubs`; a test compares.\n"
END = "    # End of the operators.\n"


def operator(entry: dict[str, Any], name: str, receiver: str, indent: str) -> list[str]:
    """Returns the stubs of an operator. If an argument excludes the others, it has an overload of its own."""
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
    """Returns a parameter with its type and default."""
    name, default, *_, expression = arg
    if default is None:
        # Without a default, the type is unknown.
        return f"{name}: float | str"
    kind = "float | str" if expression else "float" if _filters.is_number(default) else "str"
    shown = default if _filters.is_number(default) else f'"{default}"'
    return f"{name}: {kind} = {shown}"


def stubs(written: str) -> str:
    """Returns the text of `_evener.pyi`, with new operators of Graph."""
    head, rest = written.split(BEGIN)
    _, tail = rest.split(END)
    lines = []
    for entry in _evener.filters():
        for name in [entry["name"], *entry["aliases"]]:
            lines += operator(entry, name, "self", "    ")
    return head + BEGIN + "".join(f"{line}\n" for line in lines) + END + tail


def package() -> str:
    """Returns the text of `_operators.pyi`: the functions that start a graph."""
    lines = ["# Written by `python -m evener._stubs`; a test compares.", "from typing import overload", ""]
    lines.append("from ._evener import Graph\n")
    names = []
    for entry in _evener.filters():
        for name in [entry["name"], *entry["aliases"]]:
            lines += operator(entry, name, "", "")
            names.append(name)
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in names), "]"]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Writes both files in a folder. In `_evener.pyi`, everything but the operators stays as it is."""
    module = folder / "_evener.pyi"
    module.write_text(stubs(module.read_text()))
    (folder / "_operators.pyi").write_text(package())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
