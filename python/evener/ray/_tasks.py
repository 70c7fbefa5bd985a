"""Jobs as Ray tasks."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from .._errors import StreamError
from . import _place
from ._place import ray

Job = TypeVar("Job")
Result = TypeVar("Result")

PATIENCE = 10.0
"""Seconds to wait for cancelled tasks."""

RETRIES = 8
"""How often a job is restarted when its process or node dies. A job that kills its process must not do so for ever."""


def slots(num_cpus: float) -> int:
    """Returns how many tasks with `num_cpus` CPUs the cluster runs at once."""
    check(num_cpus)
    if not ray.is_initialized():
        ray.init()
    return max(1, int(ray.cluster_resources().get("CPU", 1) / num_cpus))


def check_nodes(num_cpus: float, num_gpus: float) -> None:
    """Rejects tasks that would wait for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= num_cpus and node.get("GPU", 0) >= num_gpus for node in nodes):
        raise ValueError(f"num_cpus={num_cpus}, num_gpus={num_gpus}: no node of the cluster has that many; give fewer")


def check(num_cpus: float, num_gpus: float = 0) -> None:
    """Rejects invalid numbers of CPUs and GPUs."""
    if num_cpus < 1 or num_cpus != int(num_cpus):
        raise ValueError(f"num_cpus={num_cpus}: give a whole number of CPUs, 1 or more")
    if num_gpus < 0:
        raise ValueError(f"num_gpus={num_gpus}: give 0 or more")


def each(
    work: Callable[[Job, int | None], Result], jobs: Sequence[Job], num_cpus: float, num_gpus: float
) -> Generator[tuple[int, Result], None, None]:
    """Calls `work(job, workers)` for all jobs, on any nodes. Yields the numbers and results of jobs as they finish.

    A job whose process or node dies is restarted, so calling `work` twice must be harmless, even at the same time.
    Later tasks get the plans that earlier tasks found.
    """
    most = 2 * slots(num_cpus)
    check_nodes(num_cpus, num_gpus)
    call = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus, max_retries=RETRIES)(_call)
    call = call.options(name=f"evener {getattr(work, 'func', work).__name__.strip('_')}")
    shared = ray.put(_place.plans())
    todo = iter(enumerate(jobs))
    under_way: dict[Any, int] = {}
    try:
        while True:
            while len(under_way) < most and (job := next(todo, None)) is not None:
                under_way[call.remote(work, job[1], shared)] = job[0]
            if not under_way:
                return
            ready, _ = ray.wait(list(under_way), num_returns=1)
            result, found = _get(ready[0])
            if found:
                _place.learn(found)
                shared = ray.put(_place.plans())
            yield under_way.pop(ready[0]), result
    finally:
        for task in under_way:
            ray.cancel(task)
        # The caller may remove the files that they use.
        if under_way:
            ray.wait(list(under_way), num_returns=len(under_way), timeout=PATIENCE)


def _call(work: Callable[[Job, int | None], Result], job: Job, known: bytes) -> tuple[Result, bytes]:
    result = work(job, _place.begin(known))
    return result, _place.news(known)


def _get(task: Any) -> Any:
    """Returns the result of a task, or raises its exception as the work raised it."""
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise StreamError(f"a job was lost {RETRIES + 1} times: {str(error).splitlines()[0]}") from error
