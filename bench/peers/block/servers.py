"""The servers that `serve.py` compares, each with an image of its own, and what the system says about them."""

import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def images(evener, raw, directory, wanted=("zst", "evb", "qcow2", "xz")):
    """Makes the images that are not there yet, or evener made before it was built anew, and says which there are, by name."""
    made = {"raw": raw}
    pack = [evener, "image", "pack", raw]
    qcow2 = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-W", "-m", "16"]
    recipes = {
        "zst": lambda to: [*pack, to],
        "evb": lambda to: [*pack, to, "--codec", "lz4"],
        "qcow2": lambda to: [*qcow2, "-o", "compression_type=zstd", raw, to],
        "xz": lambda to: ["sh", "-c", f"xz -c -T2 --block-size=65536 '{raw}' > '{to}'"],
    }
    for name in wanted:
        recipe = recipes[name]
        program = {"qcow2": "qemu-img", "xz": "xz"}.get(name)
        if program and not shutil.which(program):
            print(f"skipped: {program} is not installed", file=sys.stderr)
            continue
        made[name] = directory / f"{raw.name}.{name}"
        by = None if program else evener
        if not made[name].exists() or by and os.path.getmtime(by) > made[name].stat().st_mtime:
            print(f"making {made[name]}", file=sys.stderr)
            unfinished = made[name].with_suffix(".part")
            subprocess.run(recipe(unfinished), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            unfinished.rename(made[name])
    return made


def commands(evener, made, at):
    """What starts each server, by name, from a path for its socket and more arguments of evener."""
    serve = [evener, "image", "serve"]
    known = {
        "evener zstd": ("zst", lambda more: [*serve, made["zst"], "--nbd", f"unix:{at}", *more]),
        "evener lz4": ("evb", lambda more: [*serve, made["evb"], "--nbd", f"unix:{at}", *more]),
        "qemu-nbd": ("qcow2", lambda _: ["qemu-nbd", "-r", "-t", "-e", "0", "-f", "qcow2", "-k", at, made["qcow2"]]),
        "nbdkit xz": ("xz", lambda _: ["nbdkit", "-f", "-r", "--filter=xz", "-U", at, "file", made["xz"]]),
        "nbdkit raw": ("raw", lambda _: ["nbdkit", "-f", "-r", "-U", at, "file", made["raw"]]),
    }
    found = {}
    for name, (image, command) in known.items():
        program = name.split()[0]
        if image in made and (program == "evener" or shutil.which(program)):
            found[name] = command
    return found


class Server:
    """A server that runs for as long as the block it is used in."""

    def __init__(self, name, command, at, more=()):
        self.name, self.at = name, Path(at)
        self.uri = f"nbd+unix:///?socket={at}"
        self.process = subprocess.Popen(command(list(more)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            try:
                socket.socket(socket.AF_UNIX).connect(str(at))
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"{name} has ended with status {self.process.returncode}")
                time.sleep(0.01)
        self.__exit__()
        sys.exit(f"{name} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.at.unlink(missing_ok=True)

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def client(self):
        """A client that has connected, and asks for nothing."""
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(self.at))
        option = struct.pack(">IQII", 3, 0x49484156454F5054, 7, 6) + bytes(6)
        client.sendall(option)
        time.sleep(0.2)
        client.recv(4096)
        return client
