"""Programs in turn, round after round: what all scripts here that time whole processes have in common."""

import datetime
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import machine

# The load is that before anything runs.
MACHINE = machine.describe()


@dataclass
class Run:
    """A process from start to end: seconds by the clock and of processors, and what it wrote."""

    wall: float
    cpu: float
    out: str


def timed(command, name=None, **more):
    """Run a command to its end, by which everything here ends if it fails; `more` are variables of its environment."""
    environment = {**os.environ, **{key: str(value) for key, value in more.items()}}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{name or ' '.join(map(str, command))}: status {done.returncode}: {done.stderr.strip()}")
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout)


def turn(names, number):
    """The order of a round: another one comes first in each."""
    names = list(names)
    first = number % max(len(names), 1)
    return names[first:] + names[:first]


def rounds(names, count, once, warm=0):
    """What `once` says of each name, round by round; so many rounds before go unrecorded."""
    found = []
    for number in range(warm + count):
        measured = {name: once(name) for name in turn(names, number)}
        if number >= warm:
            found.append({name: measured[name] for name in names})
            print(f"round {len(found)} of {count}", file=sys.stderr)
    return found


def medians(found):
    """The median of every name over rounds of numbers."""
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def ratio(found, above, below):
    """The median of a ratio within each round, since the machine's speed changes from one to the next."""
    return statistics.median(one[above] / one[below] for one in found)


def show(title, found, mib, goals, ours, sizes=None):
    """Print a line for each program: its seconds, what it does of `mib` MiB in one, how many times faster than each peer
    with a goal it is, and the MiB it wrote if `sizes` has their bytes; then how far `ours` is from those goals."""
    middle = medians(found)
    peers = [name for name in goals if name in middle]
    heads = f"{'MiB':>9}" if sizes else ""
    heads += "".join(f"{'x ' + peer:>12}" for peer in peers)
    print(f"{title:28}{'seconds':>9}{'best':>9}{'MiB/s':>9}{heads}")
    for name, median in middle.items():
        cells = f"{sizes[name] / 2**20:9.1f}" if sizes else ""
        cells += "".join(f"{middle[peer] / median:>12.2f}" for peer in peers)
        best = min(one[name] for one in found)
        print(f"{name:28}{median:9.3f}{best:9.3f}{mib / median:9.0f}{cells}")
    for peer in peers:
        reached = ratio(found, peer, ours)
        verdict = "reached" if reached >= goals[peer] else "missed"
        print(f"{ours} over {peer}: {reached:.2f}x, to reach {goals[peer]}x: {verdict}")


def version(*command):
    """The first line in which a program says its version, if there is such a program."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def write(path, **report):
    """Write what was measured, when and where."""
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"date": date, "machine": MACHINE, **report}, indent=1) + "\n")
