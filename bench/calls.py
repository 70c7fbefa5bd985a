#!/usr/bin/env python3
"""Whether kernels call what should have been inlined into them.

Usage: bench/calls.py COMMAND

COMMAND is a build of the command with its symbols, best without LTO: then nothing is inlined that code does not ask
for. A kernel is a function of these crates with registers of 256 or 512 bits, or with rounds of AES. It may call what
panics, what copies, fills and allocates memory, and what ALLOWED has. Needs objdump of binutils.
"""

import collections
import re
import subprocess
import sys

KERNEL = re.compile(r"<?(mut |&|\[)*evener_")
REGISTERS = re.compile(r"%[yz]mm|\taesenc")
HEADER = re.compile(r"[0-9a-f]+ <(.*)>:$")
CALL = re.compile(r"\t(?:call|jmp)\s+(?:\*\S+\s+# )?[0-9a-f]+ <(.*)>$")
# Where a name goes on after this, it is the place of a jump in a function.
INSIDE = re.compile(r"\+0x[0-9a-f]+$")
SYSTEM = re.compile(
    r"panic|_fail|unwrap_failed|_Unwind|handle_error|handle_alloc|__rust_|do_reserve_and_handle|grow_one"
    r"|^(memcpy|memmove|memset|memcmp|bcmp)@"
)
# Callers and what they may call. None of it is called for each register, block or board.
ALLOWED = [
    # For each key or message.
    (r"aes::(schedule|gcm::powers)", r""),
    (r"aes::gcm::(open|seal)", r"copy_from_slice_impl"),
    (r"chacha20poly1305::avx512::(run|poly1305::Lanes::(new|sum))", r""),
    # For each job or row.
    (r"queens::kernels", r"::resize$"),
    (r"product::kernels", r"copy_from_slice_impl"),
    (r"evener_image::", r"ZipImpl<A,B>>::new|TrustedRandomAccessNoCoerce::size|fill$|::resize$"),
    # For each run of outputs.
    (r"bilinear::pairs::", r"pairs::(run::locate|edge::outputs)|spans::spans|copy_from_slice_impl"),
    # For pictures that are too small.
    (r"samples::x86::", r"scalar::half_pel"),
]


def calls(command):
    """What each kernel calls, and how often."""
    listing = ["objdump", "-d", "-C", "--no-show-raw-insn", command]
    found = collections.defaultdict(collections.Counter)
    kernels = set()
    name = ""
    with subprocess.Popen(listing, stdout=subprocess.PIPE, text=True) as lines:
        for line in lines.stdout:
            line = line.rstrip()
            if header := HEADER.match(line):
                name = header[1]
            elif not KERNEL.match(name):
                continue
            elif REGISTERS.search(line):
                kernels.add(name)
            elif (call := CALL.search(line)) and not INSIDE.search(call[1]):
                found[name][call[1]] += 1
    if lines.returncode:
        sys.exit("objdump failed")
    return {name: found[name] for name in sorted(kernels)}


def is_allowed(caller, callee):
    if SYSTEM.search(callee) or caller == callee:
        return True
    return any(re.search(of, caller) and re.search(to, callee) for of, to in ALLOWED)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kernels = calls(sys.argv[1])
    if not kernels:
        sys.exit("there are no kernels; has the command no symbols?")
    count = 0
    for caller, found in kernels.items():
        for callee, times in found.items():
            if not is_allowed(caller, callee):
                print(f"{caller}\n    calls {callee}, in {times} places")
                count += 1
    print(f"{len(kernels)} kernels, {count} calls of them to be inlined")
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
