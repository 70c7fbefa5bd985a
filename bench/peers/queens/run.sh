#!/bin/sh
# Counting queens on one core: evener's kernels beside a classic C program. Needs gcc.
# Arguments go to compare.py: --sizes N..., --rounds N, --peer NAME=COMMAND, --json FILE. CORE names the core (0).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../../target}
out=$target/peers
mkdir -p "$out"

gcc -O3 -march=native -o "$out/somers" "$here/somers.c"
(cd "$here/../../.." && cargo build --release -q -p evener-queens --example count)
exec taskset -c "${CORE:-0}" python3 "$here/compare.py" "$out/somers" "$target/release/examples/count" "$@"
