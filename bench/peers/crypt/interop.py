#!/usr/bin/env python3
"""evener's files and streams, exchanged both ways with pyca/cryptography (Cobblestone-256) and `openssl enc` (CTR).

    bench/peers/crypt/interop.py [EVENER]

makes a virtual environment of its own in bench/peers/out/ (needs a network the first time), builds evener unless a binary
is named, and ends with status 1 and a line for each disagreement, or 0.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import evener  # noqa: E402

VENV = HERE.parent / "out/crypt-venv"
REQUIREMENT = "cryptography>=50,<60"

CHUNK = 16384
SIZES = [0, 1, 15, 16, 17, 1000, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 4321, 2_500_000]
CONTEXTS = ["", "backup of 2026"]
CTR_OFFSETS = [0, 1, 15, 16, 31, 4096, 100_001]

failures = []


def inside_venv():
    """This program again, with the interpreter that has pyca/cryptography."""
    python = VENV / "bin/python"
    stamp = VENV / "requirement"
    if not stamp.exists() or stamp.read_text() != REQUIREMENT:
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT]
        subprocess.run(pip, check=True)
        stamp.write_text(REQUIREMENT)
    if Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [python, __file__, *sys.argv[1:]])


def evener_binary():
    return Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else evener.build()


def text_of(size):
    """Bytes without a pattern, the same in every run."""
    return hashlib.shake_128(b"evener %d" % size).digest(size)


def run(command, stdin=b""):
    done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()


def must(what, command, stdin=b""):
    """The output of a command that has to succeed; None if it did not."""
    status, output, said = run(command, stdin)
    if status != 0:
        failures.append(f"{what}: status {status}: {said}")
        return None
    return output


def same(what, got, wanted):
    if got is not None and got != wanted:
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        failures.append(f"{what}: {len(got)} bytes, wanted {len(wanted)}, different from byte {at} on")


def cobblestone(binary, directory):
    from cryptography.cobblestone import Cobblestone256Decryptor, Cobblestone256Encryptor

    key_file = directory / "key"
    must("keygen", [binary, "keygen", "-o", key_file])
    if not key_file.exists():
        failures.append("keygen: made no file")
        return
    mode = key_file.stat().st_mode & 0o777
    if mode != 0o600:
        failures.append(f"keygen: mode {mode:o}")
    key = bytes.fromhex(key_file.read_text().strip())

    for size in SIZES:
        text = text_of(size)
        plain, sealed, theirs = (directory / name for name in ("plain", "sealed", "theirs"))
        plain.write_bytes(text)
        for context in CONTEXTS:
            what = f"{size} bytes, context '{context}'"
            options = ["-k", key_file, *(["--context", context] if context else [])]

            for written in (sealed, theirs):
                written.unlink(missing_ok=True)
            must(f"encrypt {what}", [binary, "encrypt", *options, "-o", sealed, plain])
            through = must(f"encrypt, pipe, {what}", [binary, "encrypt", *options], text)
            for how, file in (("", sealed.read_bytes() if sealed.exists() else None), (", pipe", through)):
                if file is None:
                    continue
                decryptor = Cobblestone256Decryptor(key, context=context.encode())
                try:
                    same(f"cryptography of encrypt{how}, {what}", decryptor.update(file) + decryptor.finalize(), text)
                except Exception as error:  # whatever it raises is a disagreement
                    failures.append(f"cryptography refuses encrypt{how}, {what}: {error!r}")

            encryptor = Cobblestone256Encryptor(key, context=context.encode())
            file = encryptor.update(text) + encryptor.finalize()
            theirs.write_bytes(file)
            same(f"decrypt of cryptography, {what}", must(f"decrypt {what}", [binary, "decrypt", *options, theirs]), text)
            through = must(f"decrypt, pipe, {what}", [binary, "decrypt", *options], file)
            same(f"decrypt of cryptography, pipe, {what}", through, text)
            for start, end in {(0, size), (size // 3, size // 2), (size, size)}:
                part = must(
                    f"decrypt --range, {what}", [binary, "decrypt", *options, "--range", f"{start}-{end}", theirs]
                )
                same(f"decrypt --range {start}-{end}, {what}", part, text[start:end])

            damaged = bytearray(file)
            damaged[len(file) // 2] ^= 1
            out = directory / "damaged"
            theirs.write_bytes(damaged)
            status, _, said = run([binary, "decrypt", *options, "-o", out, theirs])
            if status != 1 or out.exists() or len(said.splitlines()) != 1:
                failures.append(f"a damaged file, {what}: status {status}, output {out.exists()}, said {said!r}")


def counter_mode(binary, directory):
    keys = {bits: text_of(bits)[: bits // 8].hex() for bits in (128, 192, 256)}
    ivs = ["000102030405060708090a0b0c0d0e0f", "00000000fffffffffffffffffffffffe", "f" * 32]
    for bits, key in keys.items():
        for iv in ivs:
            for size in SIZES:
                text = text_of(size)
                what = f"AES-{bits}, IV {iv}, {size} bytes"
                wanted = must(f"openssl enc, {what}", ["openssl", "enc", f"-aes-{bits}-ctr", "-K", key, "-iv", iv], text)
                if wanted is None:
                    continue
                command = [binary, "ctr", "--key", key, "--iv", iv]
                same(f"ctr, pipe, {what}", must(f"ctr, {what}", command, text), wanted)
                file, out = directory / "stream", directory / "out"
                file.write_bytes(text)
                out.unlink(missing_ok=True)
                must(f"ctr -o, {what}", [*command, "-o", out, file])
                same(f"ctr -o, {what}", out.read_bytes() if out.exists() else None, wanted)
                for offset in CTR_OFFSETS:
                    if offset < size:
                        part = must(f"ctr --at, {what}", [*command, "--at", str(offset)], text[offset:])
                        same(f"ctr --at {offset}, {what}", part, wanted[offset:])


def main():
    inside_venv()
    binary = evener_binary()
    with tempfile.TemporaryDirectory(prefix="evener-interop-") as directory:
        cobblestone(binary, Path(directory))
        counter_mode(binary, Path(directory))
    for failure in failures:
        print(failure)
    print(f"{len(failures)} disagreements" if failures else "evener, pyca/cryptography and openssl agree")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
