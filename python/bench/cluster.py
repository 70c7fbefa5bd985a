#!/usr/bin/env python3
"""Measures evener.ray on this machine: what a lost node costs, and a video on two tasks of a CPU beside one process.

Usage: cluster.py --clip VIDEO [--rounds 5] [--json FILE]. VIDEO needs key frames to cut at.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import threading
import time

import numpy as np
import ray
from ray.cluster_utils import Cluster

import evener as ev
import evener.ray as evr

NODE = {"num_cpus": 1, "object_store_memory": 500 << 20}
FRAMES, BATCH = 400, 10
SOON = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


class Counted(evr.Filter):
    """A filter that notes each call, and on which node; a call takes a tenth of a second longer."""

    def __init__(self, notes, *args):
        super().__init__(*args)
        self.notes = notes

    def __call__(self, batch):
        with open(self.notes, "a") as file:
            file.write(ray.get_runtime_context().get_node_id() + "\n")
        time.sleep(0.1)
        return super().__call__(batch)


def lost_node(cluster, folder, number):
    """Frames on two nodes, of which one is killed in the middle: calls beside those that are needed."""
    frames = np.random.default_rng(number).integers(0, 256, (FRAMES, 240, 320), dtype=np.uint8)
    expected = ev.blur().sobel()(frames)
    victim = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    notes = folder / f"notes-{number}"
    noted = lambda: notes.read_text().split() if notes.exists() else []
    killed = []

    def kill():
        while len(noted()) < FRAMES // BATCH // 2 or victim.node_id not in noted():
            time.sleep(0.02)
        killed.append(len(noted()))
        cluster.remove_node(victim, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    blocks = np.array_split(frames, FRAMES // BATCH)
    dataset = ray.data.from_numpy(blocks).map_batches(
        Counted,
        fn_constructor_args=[str(notes), ev.blur().sobel()],
        batch_size=BATCH,
        zero_copy_batch=True,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=2, max_tasks_in_flight_per_actor=1),
    )
    got = np.concatenate([batch["data"] for batch in dataset.iter_batches(batch_size=None)])
    thread.join()
    return {
        "identical": bool(np.array_equal(got, expected)),
        "calls": len(noted()),
        "needed": FRAMES // BATCH,
        "killed_after": killed[0],
        "on_the_lost_node": noted().count(victim.node_id),
    }


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def segments(clip, folder, rounds):
    """Seconds of a video by one process with two workers, and on the cluster, in turns."""
    graph = ev.graph("undistort,rotate=6,crop=0.8")
    coded = {"preset": "medium", "qp": 27}
    works = {
        "encode, one process": lambda out: ev.encode(clip, out, audio=False, workers=2, **coded),
        "encode, two tasks": lambda out: evr.video(clip, out, encode=coded, pieces=8, audio=False),
        "filter to y4m, one process": lambda out: ev.read(clip).pipe(graph).write(out, workers=2),
        "filter to y4m, two tasks": lambda out: evr.video(clip, out, graph=graph, pieces=4),
    }
    times, made = {name: [] for name in works}, {}
    for number in range(rounds + 1):
        for name, work in works.items():
            out = folder / f"out.{'264' if name.startswith('encode') else 'y4m'}"
            begin = time.perf_counter()
            made[name] = work(str(out))
            took = time.perf_counter() - begin
            if number:
                times[name].append(took)
            if name.startswith("filter"):
                made[name] = digest(out)
    assert made["filter to y4m, one process"] == made["filter to y4m, two tasks"]
    frames, result = made["encode, two tasks"].frames, {}
    for what in ["encode", "filter to y4m"]:
        one, two = (statistics.median(times[f"{what}, {how}"]) for how in ["one process", "two tasks"])
        result[what] = {
            "frames": frames,
            "one_fps": frames / one,
            "two_fps": frames / two,
            "ratio": one / two,
            "seconds": {name: took for name, took in times.items() if name.startswith(what)},
        }
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clip", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--only", choices=["lost", "segments"])
    args = parser.parse_args()
    head = {**NODE, "include_dashboard": False, "_system_config": SOON}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    model = next((line for line in open("/proc/cpuinfo") if line.startswith("model name")), ": unknown")
    results = {
        "machine": f"{model.split(':')[1].strip()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "ray": ray.__version__,
        "clip": pathlib.Path(args.clip).name,
    }
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        try:
            if args.only != "segments":
                results["lost"] = [lost_node(cluster, folder, number) for number in range(args.rounds)]
                for row in results["lost"]:
                    print(row)
            if args.only != "lost":
                cluster.add_node(**NODE)
                cluster.wait_for_nodes()
                results["segments"] = segments(os.path.abspath(args.clip), folder, args.rounds)
                for what, row in results["segments"].items():
                    print(f"{what}: {row['two_fps']:.1f} fps beside {row['one_fps']:.1f}, {row['ratio']:.2f}x")
        finally:
            ray.shutdown()
            cluster.shutdown()
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
