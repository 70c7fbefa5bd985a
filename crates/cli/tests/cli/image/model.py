"""Random requests through libnbd to a server, each compared with a model of the disk.

    model.py URI MODEL work     requests, a fixed row of them; the model begins as the file MODEL and is left there
    model.py URI MODEL check    all bytes are those of the model
"""

import random
import sys

import nbd

REQUESTS = 400
ZERO = 2  # NBD_STATE_ZERO of base:allocation


def connect(uri):
    handle = nbd.NBD()
    handle.add_meta_context("base:allocation")
    handle.connect_uri(uri)
    return handle


def place(rng, size):
    """A range: of any length, a sector, or whole pages; now and then at the end."""
    length = rng.choice([1, 7, 512, 4096, 65536, rng.randrange(1, 200_000)])
    start = rng.choice([rng.randrange(size), rng.randrange(size) & -4096, size - length])
    start = max(0, start)
    return start, min(length, size - start)


def some(rng, length):
    return rng.choice([rng.randbytes(length), bytes([rng.randrange(256)]) * length, bytes(length)])


def same(what, got, wanted):
    if got != wanted:
        at = next(i for i, (a, b) in enumerate(zip(got, wanted)) if a != b)
        sys.exit(f"{what}: byte {at} is {got[at]}, wanted {wanted[at]}")


def extents(handle, what, start, length, model):
    """Extents begin where was asked, are not empty, and what they call zero is."""
    told = []

    def take(context, at, entries, _error):
        assert context == "base:allocation" and at == start, (what, context, at)
        told.extend(zip(entries[::2], entries[1::2]))

    handle.block_status(length, start, take)
    assert told, what
    at = start
    for bytes_, flags in told:
        assert bytes_ > 0, (what, told)
        end = min(at + bytes_, len(model))
        if flags & ZERO:
            same(f"{what}, said to be zero from {at} to {end}", bytes(model[at:end]), bytes(end - at))
        at += bytes_


def several(handle, rng, model):
    """Requests that are under way at once, in ranges of their own."""
    step = len(model) // 8
    waiting = []
    for part in range(8):
        start, length = place(rng, step)
        start += part * step
        if rng.random() < 0.5:
            data = some(rng, length)
            model[start : start + length] = data
            waiting.append((handle.aio_pwrite(data, start), None, start, length))
        else:
            buffer = nbd.Buffer(length)
            waiting.append((handle.aio_pread(buffer, start), buffer, start, length))
    for cookie, buffer, start, length in waiting:
        while not handle.aio_command_completed(cookie):
            handle.poll(-1)
        if buffer is not None:
            same(f"read of {length} at {start} beside others", bytes(buffer.to_bytearray()), bytes(model[start : start + length]))


def work(uri, model):
    rng = random.Random(2026)
    handle = connect(uri)
    size = handle.get_size()
    assert size == len(model), size
    assert not handle.is_read_only() and handle.can_flush()
    counts = {}
    for number in range(REQUESTS):
        start, length = place(rng, size)
        end = start + length
        kind = rng.choices(["read", "write", "zero", "trim", "flush", "status", "several"], [6, 6, 3, 2, 1, 3, 1])[0]
        what = f"request {number}, {kind} of {length} at {start}"
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "read":
            same(what, bytes(handle.pread(length, start)), bytes(model[start:end]))
        elif kind == "write":
            data = some(rng, length)
            handle.pwrite(data, start, rng.choice([0, nbd.CMD_FLAG_FUA]) if handle.can_fua() else 0)
            model[start:end] = data
        elif kind == "zero" and handle.can_zero():
            handle.zero(length, start, rng.choice([0, nbd.CMD_FLAG_NO_HOLE]))
            model[start:end] = bytes(length)
        elif kind == "trim" and handle.can_trim():
            handle.trim(length, start)
            # It may stay or become zero.
            now = bytes(handle.pread(length, start))
            for i, byte in enumerate(now):
                if byte not in (0, model[start + i]):
                    sys.exit(f"{what}: byte {i} is {byte}, was {model[start + i]}")
            model[start:end] = now
        elif kind == "flush":
            handle.flush()
        elif kind == "status":
            extents(handle, what, start, length, model)
        elif kind == "several":
            several(handle, rng, model)
    handle.flush()
    handle.shutdown()
    print(counts)


def check(uri, model):
    handle = connect(uri)
    step = 1 << 20
    for start in range(0, len(model), step):
        part = bytes(model[start : start + step])
        same(f"at the end, from {start}", bytes(handle.pread(len(part), start)), part)
    extents(handle, "at the end", 0, len(model), model)
    handle.shutdown()


def main():
    uri, name, job = sys.argv[1:]
    with open(name, "rb") as file:
        model = bytearray(file.read())
    if job == "check":
        check(uri, model)
        return
    work(uri, model)
    check(uri, model)
    with open(name, "wb") as file:
        file.write(model)


main()
