#!/usr/bin/env python3
"""`evener image serve` beside `qemu-nbd` and `nbdkit`, over Unix sockets, in one interleaved run.

    bench/peers/block/serve.py IMAGE [--rounds N] [--dir DIR] [--only ROW,…] [--servers NAME,…] [--json FILE]

IMAGE is a raw image of a file system; it and the directory, where the images of all servers are made and kept, should lie
in memory. Every round measures every server, a different one first, and each measurement starts its server anew, when
others leave the machine alone or have not for `--wait` seconds. Random reads are made of an image of every n-th block
that is not zero. A program that is missing is left out. Needs cargo, fio with its nbd engine, and nbdcopy.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import evener  # noqa: E402
import measure  # noqa: E402
import servers  # noqa: E402
import table  # noqa: E402

BLOCK = 65536


def survey(raw):
    """The places of blocks that are not zero."""
    zero = bytes(BLOCK)
    with open(raw, "rb") as file:
        blocks = iter(lambda: file.read(BLOCK), b"")
        return [number * BLOCK for number, block in enumerate(blocks) if block != zero[: len(block)]]


def sample(raw, places, most, to):
    """An image of every n-th block that is not zero: random reads of it meet what is in the whole, and no zeros."""
    step = max(1, len(places) * BLOCK // most)
    with open(raw, "rb") as file, open(to, "wb") as out:
        for place in places[::step]:
            file.seek(place)
            out.write(file.read(BLOCK))


def wait_until_quiet(seconds):
    """Waits until others leave the machine alone, but not for ever."""
    def idle():
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return fields[3] + fields[4], sum(fields)

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = idle()
        time.sleep(0.2)
        after = idle()
        if after[0] - before[0] >= 0.9 * (after[1] - before[1]):
            return


class Bench:
    def __init__(self, options):
        self.options = options
        self.evener = evener.build()
        self.speed = evener.build_example("evener-block", "codec_speed")
        self.made = servers.images(self.evener, options.image, options.dir)
        self.bytes = options.image.stat().st_size
        places = survey(options.image)
        self.data = len(places) * BLOCK
        part = options.dir / f"{options.image.name}.sample"
        if not part.exists():
            sample(options.image, places, options.sample, part)
        self.sampled = servers.images(self.evener, part, options.dir, ["zst", "evb", "qcow2"])
        self.window = part.stat().st_size
        # Removed with the last reference to it, at the latest when the program ends.
        self.folder = tempfile.TemporaryDirectory(prefix="evener-serve-")
        self.socket = Path(self.folder.name) / "socket"
        self.commands = servers.commands(self.evener, self.made, self.socket)
        self.of_sample = servers.commands(self.evener, self.sampled, self.socket)
        if options.servers:
            self.commands = {name: self.commands[name] for name in options.servers}

    def server(self, name, *more):
        return servers.Server(name, self.commands[name], self.socket, more)

    def fio(self, server, *more):
        """What fio says of its reads. Zeros are replies of few bytes, as all servers here say that they are."""
        command = ["fio", "--name=r", "--ioengine=nbd", f"--uri={server.uri}", "--output-format=json", *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{server.name}: fio: {done.stderr.strip()}")
        return json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]

    def copy(self, name):
        """The first pass by the clock. A second one by the server's processors, when it has all the memory it needs."""
        with self.server(name) as server:
            command = ["nbdcopy", server.uri, "null:"]
            seconds = measure.timed(command).wall
            if not name.startswith("evener"):
                return {"seconds": seconds, "cpu": server.cpu_seconds()}
            before = server.cpu_seconds()
            subprocess.run(command, check=True)
            return {"seconds": seconds, "cpu": server.cpu_seconds() - before}

    def sequential(self, name, depth):
        with self.server(name) as server:
            said = self.fio(server, "--rw=read", "--bs=512k", f"--iodepth={depth}", f"--size={self.bytes}")
            return {"seconds": said["runtime"] / 1000}

    def random(self, name, depth, warm):
        more = []
        if name.startswith("evener"):
            more = ["--cache", str(2 * self.window if warm else 0)]
        place = [f"--size={self.window}"]
        with servers.Server(name, self.of_sample[name], self.socket, more) as server:
            if warm:
                self.fio(server, "--rw=read", "--bs=64k", "--iodepth=4", *place)
            # From before a request is sent: fio's clat begins when sending it returns, and the reply may be there by then.
            time_limit = [f"--runtime={self.options.seconds}", "--time_based", "--lat_percentiles=1"]
            said = self.fio(server, "--rw=randread", "--bs=4k", f"--iodepth={depth}", *place, *time_limit)
            times = said["lat_ns"]["percentile"]
            return {"iops": said["iops"], "p50": times["50.000000"] / 1000, "p99": times["99.000000"] / 1000}

    def idle(self, name):
        with self.server(name) as server:
            client = server.client()
            before = server.cpu_seconds()
            time.sleep(self.options.seconds)
            share = (server.cpu_seconds() - before) / self.options.seconds
            client.close()
            return {"share": share}

    def decode(self, name, threads):
        """Seconds that decoding all blocks takes, and nothing else."""
        image = self.made["zst" if name == "evener zstd" else "evb"]
        done = subprocess.run([self.speed, "--threads", str(threads), image], capture_output=True, text=True, check=True)
        rate = float(re.split(r"\s+", done.stdout.splitlines()[1].strip())[-3])
        return {"seconds": self.data / 1e6 / rate, "rate": rate}

    def rows(self):
        """What is measured: a name, a function of a server's name, and for which servers."""
        ours = ["evener zstd", "evener lz4"]
        some = [*ours, "qemu-nbd"]
        everyone = [*some, "nbdkit xz", "nbdkit raw"]
        cpus = len(os.sched_getaffinity(0))
        rows = {
            "decode1": (lambda name: self.decode(name, 1), ours),
            "decode": (lambda name: self.decode(name, cpus), ours),
            "nbdcopy": (self.copy, everyone),
            "read512k-1": (lambda name: self.sequential(name, 1), everyone),
            "read512k-8": (lambda name: self.sequential(name, 8), everyone),
            "random-1-cold": (lambda name: self.random(name, 1, False), some),
            "random-1-warm": (lambda name: self.random(name, 1, True), some),
            "random-32-cold": (lambda name: self.random(name, 32, False), some),
            "random-32-warm": (lambda name: self.random(name, 32, True), some),
            "idle": (self.idle, ours),
        }
        only = self.options.only
        chosen = {row: what for row, what in rows.items() if not only or row in only}
        there = lambda names: [name for name in names if name in self.commands]  # noqa: E731
        return {row: (once, there(names)) for row, (once, names) in chosen.items()}

    def run(self):
        rounds = []
        for number in range(self.options.rounds):
            measured = {}
            for row, (once, names) in self.rows().items():
                measured[row] = {}
                for name in measure.turn(names, number):
                    wait_until_quiet(self.options.wait)
                    measured[row][name] = once(name)
            rounds.append(measured)
            print(f"round {number + 1} of {self.options.rounds}", file=sys.stderr)
        return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of random reads, and idle (default: 3)")
    parser.add_argument("--sample", type=int, default=64 << 20, help="bytes that are read at random (default: 64 MiB)")
    parser.add_argument("--wait", type=float, default=1, help="most seconds to wait for a quiet machine (default: 1)")
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where images are kept (default: /dev/shm)")
    parser.add_argument("--only", type=lambda text: text.split(","), help="some rows, by name")
    parser.add_argument("--servers", type=lambda text: text.split(","), help="some servers, by name")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    options = parser.parse_args()
    options.image = options.image.resolve()
    options.dir.mkdir(parents=True, exist_ok=True)
    for program in ["fio", "nbdcopy"]:
        if not shutil.which(program):
            sys.exit(f"{program} is not installed")

    bench = Bench(options)
    rounds = bench.run()
    medians = table.medians(rounds)
    table.show(medians, rounds, bench.data)
    if options.json:
        programs = ["qemu-nbd", "nbdkit", "nbdcopy", "fio", "xz"]
        measure.write(
            options.json,
            versions={name: measure.version(name, "--version") for name in programs},
            nice=os.nice(0),
            bytes=bench.bytes,
            data=bench.data,
            sample=bench.window,
            unit="seconds of wall clock and of the server's processors, microseconds for p50 and p99",
            medians=medians,
            rounds=rounds,
        )


if __name__ == "__main__":
    main()
