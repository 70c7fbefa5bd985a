"""What `serve.py` prints: medians, and ratios within a round beside what must be reached."""

import statistics


def medians(rounds):
    """The median of every figure, by row and server."""
    return {
        row: {
            name: {figure: statistics.median(r[row][name][figure] for r in rounds) for figure in figures}
            for name, figures in named.items()
        }
        for row, named in rounds[0].items()
    }


def ratio(rounds, row, figure, over, under, under_row=None):
    """The median of a ratio within each round, since the machine's speed changes from one to the next."""
    try:
        return statistics.median(r[row][over][figure] / r[under_row or row][under][figure] for r in rounds)
    except KeyError:
        return None


def in_turn(rounds, row):
    """All cores decode, and then the client reads as many bytes that need no decoding: both take processors it shares."""
    try:
        return statistics.median(
            (r["decode"]["evener zstd"]["seconds"] + r[row]["nbdkit raw"]["seconds"]) / r[row]["evener zstd"]["seconds"]
            for r in rounds
        )
    except KeyError:
        return None


def show(found, rounds, data):
    for row, named in found.items():
        for name, figures in named.items():
            told = "  ".join(f"{figure} {value:.4g}" for figure, value in figures.items())
            if row in ("nbdcopy", "read512k-1", "read512k-8"):
                told += f"  MB/s {data / 1e6 / figures['seconds']:.0f}"
            print(f"{row:16}{name:14}{told}")
    print()
    for text, value, goal, at_least in goals(found, rounds):
        if value is not None:
            reached = value >= goal if at_least else value <= goal
            sign = ">=" if at_least else "<="
            print(f"{text:58}{value:10.4g}  {sign} {goal:<6} {'reached' if reached else 'missed'}")


def goals(found, rounds):
    """What must be reached: text, figure, goal, and whether that is the least or the most."""
    zstd, lz4, qemu = "evener zstd", "evener lz4", "qemu-nbd"
    for row in ["nbdcopy", "read512k-1", "read512k-8"]:
        yield f"{row}: zstd over qemu-nbd", ratio(rounds, row, "seconds", qemu, zstd), 1.5, True
        decode = ratio(rounds, "decode", "seconds", zstd, zstd, row)
        yield f"{row}: zstd over what all cores decode", decode, 0.8, True
        yield f"{row}: zstd over decoding and raw reads in turn", in_turn(rounds, row), 1, True
        yield f"{row}: zstd over nbdkit xz", ratio(rounds, row, "seconds", "nbdkit xz", zstd), 8, True
        yield f"{row}: lz4 over nbdkit on the raw file", ratio(rounds, row, "seconds", "nbdkit raw", lz4), 0.8, True
    cold = found.get("random-1-cold", {})
    for name, most in [(zstd, 75), (lz4, 40)]:
        if name in cold:
            yield f"4K at random, depth 1, cold: {name}, p50 in us", cold[name]["p50"], most, False
    for row in ["cold", "warm"]:
        for figure in ["p50", "p99"]:
            for name in [zstd, lz4]:
                value = ratio(rounds, f"random-1-{row}", figure, name, qemu)
                yield f"4K at random, depth 1, {row}: {figure}, {name} over qemu-nbd", value, 1, False
    for row in ["random-32-cold", "random-32-warm"]:
        for name in [zstd, lz4]:
            yield f"{row}: {name} over qemu-nbd", ratio(rounds, row, "iops", name, qemu), 1.5, True
    for name in [zstd, lz4]:
        warm = found.get("random-32-warm", {}).get(name)
        if warm:
            yield f"random-32-warm: {name}, reads a second", warm["iops"], 90000, True
        try:
            spent = [r["nbdcopy"][name]["cpu"] / r["decode1"][name]["seconds"] for r in rounds]
            yield f"processor time over decoding alone: {name}", statistics.median(spent), 1.15, False
        except KeyError:
            pass
        idle = found.get("idle", {}).get(name)
        if idle:
            yield f"idle: {name}, share of a core", idle["share"], 0.01, False
