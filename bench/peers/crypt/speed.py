#!/usr/bin/env python3
"""Kernels of evener on one thread beside `openssl speed` and, with --crates, beside crates; all in one interleaved run.

Every round runs each program once, a different one first; a figure is the median over the rounds, by processor time.
Needs cargo and openssl; --crates also needs what those crates need to build (a C compiler, cmake). With --aes-ni both
evener and openssl use what a processor with AES-NI and without VAES has.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import evener  # noqa: E402
import measure  # noqa: E402


# Bits of OPENSSL_ia32cap to clear, in its second word: AVX512F, DQ, IFMA, BW and VL, VAES, VPCLMULQDQ.
WIDE = sum(1 << bit for bit in (16, 17, 21, 30, 31, 41, 42))


def lines(command):
    """What a program in the manner of bulk_speed says: (what, who) -> GB/s."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        what, who, _, rate = line.split()
        found[what, who] = float(rate)
    return found


def openssl(cipher, size, what, seconds):
    command = ["openssl", "speed", "-seconds", str(seconds), "-bytes", str(size), "-evp", cipher]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The last line is the name and thousands of bytes a second: `AES-256-CTR  6548701.35k`.
    rate = re.search(r"([0-9.]+)k\s*$", output)
    if rate is None:
        sys.exit(f"cannot read what openssl said:\n{output}")
    return {(what, "openssl"): float(rate[1]) * 1000 / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=1, help="of each openssl speed (default: 1)")
    parser.add_argument("--crates", action="store_true", help="measure crates as well")
    parser.add_argument("--aes-ni", action="store_true", help="without VAES and AVX-512")
    parser.add_argument("--json", type=Path, help="write every round to this file")
    options = parser.parse_args()

    if options.aes_ni:
        os.environ |= {"EVENER_CPU": "sse2", "OPENSSL_ia32cap": f":~{WIDE:#x}"}
    bulk_speed = evener.build_example("evener-crypt", "bulk_speed")
    programs = [
        lambda: lines([bulk_speed, "--rounds", "3"]),
        # `openssl speed` works in place, from cache, as `ctr-in-place` does.
        lambda: openssl("aes-256-ctr", 65536, "ctr-in-place", options.seconds),
        lambda: openssl("aes-256-gcm", 16384, "seal", options.seconds),
        lambda: openssl("chacha20-poly1305", 65536, "chacha-seal", options.seconds),
    ]
    if options.crates:
        crates = evener.ROOT / "bench/peers/out/crates"
        command = ["cargo", "build", "--release", "--quiet", "--target-dir", crates]
        subprocess.run(command, cwd=HERE / "crates", check=True)
        programs.append(lambda: lines([crates / "release/crypt-crates"]))

    rounds = []
    for number in range(options.rounds):
        found = {}
        for program in measure.turn(programs, number):
            found.update(program())
        rounds.append(found)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)

    asked = ("ctr-in-place", "seal", "chacha-seal")
    peer = {what: statistics.median(r[what, "openssl"] for r in rounds) for what in asked}
    peer |= {"ctr": peer["ctr-in-place"], "open": peer["seal"], "chacha-open": peer["chacha-seal"]}
    print(f"{'what':14}{'who':12}{'GB/s':>8}{'best':>8}{'of openssl':>12}")
    for what, who in sorted(rounds[0], key=lambda key: (key[0], key[1])):
        rates = [r[what, who] for r in rounds]
        median = statistics.median(rates)
        print(f"{what:14}{who:12}{median:8.2f}{max(rates):8.2f}{median / peer[what]:11.2f}x")

    if options.json:
        measure.write(
            options.json,
            openssl=measure.version("openssl", "version"),
            unit="GB/s, one thread, by processor time",
            aes_ni=options.aes_ni,
            rounds=[[[*key, rate] for key, rate in r.items()] for r in rounds],
        )


if __name__ == "__main__":
    main()
