"""The operators of graphs, generated from the table of filters."""

from types import ModuleType
from typing import Any, Callable

from . import _evener
from ._errors import GraphError

Graph = _evener.Graph


def text(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Returns a filter with its arguments as text for the command."""
    parts = [value(name, v) for v in args]
    parts += [f"{k}={value(name, v)}" for k, v in named.items() if v is not None]
    return f"{name}={':'.join(parts)}" if parts else name


def value(name: str, given: Any) -> str:
    """Returns an argument of a filter as text."""
    if isinstance(given, str):
        if any(c in given for c in ",:="):
            raise GraphError(f"{name}: {given!r} contains one of , : = ; give each argument separately")
        return given
    if isinstance(given, bool) or not hasattr(given, "__float__"):
        raise TypeError(f"{name}: an argument must be a number or a str, not {type(given).__name__}")
    number = float(given)
    return str(int(number)) if number.is_integer() else repr(number)


def document(entry: dict[str, Any]) -> str:
    """The docstring of an operator."""
    lines = [entry["about"][0].upper() + entry["about"][1:] + ".", ""]
    for arg, default, about, alone, _ in entry["args"]:
        needed = "required" if default is None else f"default {default}"
        lines.append(f"{arg}: {about} ({needed}{', excludes the others' if alone else ''})")
    if entry["luma_only"]:
        lines.append("In frames with chroma, only luma is filtered, and chroma becomes grey, unless planes='each'.")
    lines.append("Raises GraphError if an argument is missing, unknown or out of range.")
    return "\n".join(lines)


def parameters(entry: dict[str, Any]) -> tuple[str, str]:
    """Returns the parameters of an operator, and the arguments for a call of `text`."""
    if any(arg[3] for arg in entry["args"]):
        # The number of positional arguments decides which parameters they are; the graph does that.
        return "*args, **named", "args, named"
    shown = []
    for name, default, *_ in entry["args"]:
        if default is None:
            shown.append(name)
        elif is_number(default):
            shown.append(f"{name}={default}")
        else:
            shown.append(f"{name}={default!r}")
    names = ", ".join(f"{name!r}: {name}" for name, *_ in entry["args"])
    return ", ".join(shown), f"(), {{{names}}}"


def is_number(text: str) -> bool:
    """Returns whether an argument is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def operator(entry: dict[str, Any], name: str, of_graph: bool) -> Callable[..., Graph]:
    """Returns the function that adds a filter to a graph, or starts one. Its parameters are those of the filter."""
    shown, given = parameters(entry)
    body = f"text({entry['name']!r}, {given})"
    if of_graph:
        source = f"def {name}(self, {shown}):\n    return self.then({body})\n"
    else:
        source = f"def {name}({shown}):\n    return Graph({body})\n"
    scope: dict[str, Any] = {"text": text, "Graph": Graph}
    exec(source, scope)  # noqa: S102: generated from the table of filters only
    made: Callable[..., Graph] = scope[name]
    made.__module__ = "evener"
    made.__qualname__ = f"Graph.{name}" if of_graph else name
    made.__doc__ = document(entry)
    return made


def install(module: ModuleType) -> list[str]:
    """Adds all operators to `module` and to Graph, under all their names. Returns the names."""
    names = []
    for entry in _evener.filters():
        for name in [entry["name"], *entry["aliases"]]:
            setattr(module, name, operator(entry, name, False))
            setattr(Graph, name, operator(entry, name, True))
            names.append(name)
    return names

