"""The CPUs and GPUs of an actor's or a task's process, and its initial plans."""

import json
import zlib
from importlib import import_module
from typing import Any

from .. import _evener

ray: Any = import_module("ray")  # Its own types take mypy minutes.

_device = "none"


def plans() -> bytes:
    """Returns the fastest plans found on this machine, for actors on machines of the same kind.

    A plan belongs to a graph, a frame size, a number of workers and a kind of machine: its CPU model, its caches and the
    CPUs that it may use.
    """
    return _packed(_text())


def _text() -> str:
    _evener.close_idle()
    return _evener._plans()


def _packed(text: str) -> bytes:
    """Compresses plans for transport: a thousand take some hundred kilobytes as text, too much for an actor's arguments."""
    return zlib.compress(text.encode()) if text else b""


def learn(packed: bytes) -> None:
    """Adds plans to the remembered ones. Raises ValueError if they are invalid."""
    try:
        text = zlib.decompress(packed).decode() if packed else ""
    except (zlib.error, UnicodeDecodeError, TypeError):
        raise ValueError("not plans; give the result of evener.ray.plans()") from None
    _evener._remember(text)


def begin(known: bytes) -> int | None:
    """Prepares this process: remembers the plans `known`, and enables a device if Ray assigned a GPU.

    Returns the number of workers: the `num_cpus` of the actor or task, at least one; None outside of both.
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
    """Returns the plans found in addition to `known`."""
    found: dict[str, Any] = json.loads(_text() or '{"plans": {}}')
    before = json.loads(zlib.decompress(known))["plans"] if known else {}
    found["plans"] = {key: plan for key, plan in found["plans"].items() if before.get(key) != plan}
    return _packed(json.dumps(found)) if found["plans"] else b""
