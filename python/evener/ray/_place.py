"""What the process of an actor or a task may use, and the plans it begins with."""

import json
import zlib
from importlib import import_module
from typing import Any

from .. import _evener

ray: Any = import_module("ray")  # Its own types take mypy minutes.

_device = "none"


def plans() -> bytes:
    """The plans that runs on this machine have found to be the fastest, for actors on machines of the same kind.

    A plan is for a graph, the size of its frames, the number of workers, and a kind of machine: the model of its processor,
    its caches and the CPUs it may use.
    """
    return _packed(_text())


def _text() -> str:
    _evener.close_idle()
    return _evener._plans()


def _packed(text: str) -> bytes:
    """Plans as they travel. A thousand have some hundred kilobytes as text, too many for the arguments of an actor."""
    return zlib.compress(text.encode()) if text else b""


def learn(packed: bytes) -> None:
    """Remembers plans beside those that are there. Raises ValueError if they are none."""
    try:
        text = zlib.decompress(packed).decode() if packed else ""
    except (zlib.error, UnicodeDecodeError, TypeError):
        raise ValueError("these are no plans; give what evener.ray.plans() returned") from None
    _evener._remember(text)


def begin(known: bytes) -> int | None:
    """Prepares this process for work: remembers the plans `known`, and lets a device compute if there is a GPU for it.

    Returns the number of workers: the actor's or the task's `num_cpus`, at least one; None outside of both.
    """
    global _device
    learn(known)
    if not ray.is_initialized() or ray.get_runtime_context().worker.mode != ray.WORKER_MODE:
        return None
    assigned = ray.get_runtime_context().get_assigned_resources()
    device = "auto" if assigned.get("GPU", 0) > 0 else "none"
    if device != _device:
        _evener._use_device(device)
        _device = device
    return max(1, int(assigned.get("CPU", 1)))


def news(known: bytes) -> bytes:
    """The plans that were found beyond those `known`."""
    found: dict[str, Any] = json.loads(_text() or '{"plans": {}}')
    before = json.loads(zlib.decompress(known))["plans"] if known else {}
    found["plans"] = {key: plan for key, plan in found["plans"].items() if before.get(key) != plan}
    return _packed(json.dumps(found)) if found["plans"] else b""
