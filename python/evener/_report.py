"""Reports of runs."""

import json
from html import escape
from typing import Any


class Report:
    """The report of a run. `print(report)` prints one line; `to_dict()` has all figures, in seconds and units per second."""

    def __init__(self, line: str, data: dict[str, Any]) -> None:
        self._line = line
        self._data = data

    @property
    def fps(self) -> float:
        """Frames (or other units) per second, from the start of the run to its end."""
        return float(self._data["units_per_s"])

    @property
    def plan(self) -> str | None:
        """The plan that the tuner found, in the form that `plan=` takes; None if nothing was computed."""
        plan = self._data["plan"]
        return plan and f"{plan['structure']}/{plan['dispatch']}/{plan['grain']}"

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures, as the command's `--json` does."""
        copied: dict[str, Any] = json.loads(json.dumps(self._data))
        return copied

    def __str__(self) -> str:
        return self._line

    def __repr__(self) -> str:
        return f"<evener.Report: {self._line}>"

    def _repr_html_(self) -> str:
        rows = [("plan", "units", "median")]
        for used in self._data["plans"]:
            plan = used["plan"]
            name = f"{plan['structure']}/{plan['dispatch']}/{plan['grain']}, {plan['workers']} workers"
            rows.append((name, str(used["units"]), f"{1e3 * used['median_s']:.3f} ms"))
        head, *body = [[escape(cell) for cell in row] for row in rows]
        lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body]
        titles = "".join(f"<th>{cell}</th>" for cell in head)
        return f"<p>{escape(self._line)}</p><table><tr>{titles}</tr>{''.join(lines)}</table>"


def of(line: str, text: str) -> Report:
    """Returns the report for the JSON text of the Rust module."""
    return Report(line, json.loads(text))
