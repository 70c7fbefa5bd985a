"""Images of QEMU's own tests, read by evener and by qemu-img.

    outside.py EVENER SOURCE ROUNDS

SOURCE is the folder `tests` of QEMU's source. Ends with status 1 and a line for each disagreement.
"""

import bz2
import random
import subprocess
import sys
import tempfile
from pathlib import Path

LARGEST = 256 << 20
failures = []


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, timeout=60)
    return done.returncode, done.stderr.decode(errors="replace").strip()


def compare(evener, folder, what, image, form):
    """What evener reads is what qemu-img reads, and what only evener refuses is said in a line."""
    ours, theirs = folder / "ours", folder / "theirs"
    for output in (ours, theirs):
        output.unlink(missing_ok=True)
    status, said = run(evener, "image", "unpack", "--format", form, image, ours)
    if status not in (0, 1) or (status == 1 and len(said.splitlines()) != 1):
        failures.append(f"{what}: evener ends with {status}: {said}")
    other, reason = run("qemu-img", "convert", "-f", form, "-O", "raw", image, theirs)
    if status != 0:
        return "refused" if other else "refused by evener alone"
    if other != 0:
        verified, _ = run(evener, "image", "verify", "--format", form, image)
        if verified == 0:
            failures.append(f"{what}: qemu-img refuses what evener calls good: {reason}")
        return "told"
    got, wanted = ours.read_bytes(), theirs.read_bytes()
    # qemu-img reads whole sectors.
    if got[: len(wanted)] != wanted or len(got) - len(wanted) not in range(512):
        failures.append(f"{what}: {len(got)} bytes are not the {len(wanted)} of qemu-img")
    return "read"


def fuzzed(layout, name, seed):
    """An image of one layer, of which random fields are changed."""
    random.seed(seed)
    image = layout.Image()
    image.create_feature_name_table()
    image.set_end_of_extension_area()
    image.create_l_structures()
    image.create_refcount_structures()
    # Of many wrong numbers only the first is ever seen.
    image.bias = random.choice([0, 0.01, 0.03, 0.1])
    image.fuzz()
    image.write(str(name))
    header = bytearray(name.read_bytes())
    if seed % 4:
        # Half of them are marked as corrupt, and evener reads none of those.
        header[79] &= ~2
        name.write_bytes(header)
    return int.from_bytes(header[24:32], "big")


def main():
    evener, source, rounds = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), int(sys.argv[3])
    sys.path.insert(0, str(source / "image-fuzzer"))
    from qcow2 import layout

    # It takes samples of sets, which Python from 3.11 on does not.
    sample = random.sample
    random.sample = lambda population, k: sample(sorted(population), k)

    counts = {}
    with tempfile.TemporaryDirectory(prefix="evener-outside-") as name:
        folder = Path(name)
        image = folder / "image"
        packed = (source / "qemu-iotests/sample_images/simple-pattern.cloop.bz2").read_bytes()
        image.write_bytes(bz2.decompress(packed))
        compare(evener, folder, "simple-pattern.cloop", image, "cloop")
        for seed in range(rounds):
            size = fuzzed(layout, image, seed)
            if size > LARGEST:
                status, said = run(evener, "image", "info", "--format", "qcow2", image)
                if status not in (0, 1):
                    failures.append(f"seed {seed}: evener ends with {status}: {said}")
                continue
            end = compare(evener, folder, f"seed {seed}", image, "qcow2")
            counts[end] = counts.get(end, 0) + 1
    for failure in failures:
        print(failure)
    print(f"{len(failures)} disagreements, {counts}")
    sys.exit(1 if failures else 0)


main()
