#!/bin/sh
# The product cipher's parts beside Crypto++'s IDEA and Skipjack, on one core. Needs g++ and libcrypto++-dev.
# Arguments go to compare.py: --rounds N, --blocks N, --json FILE. CORE names the core (0).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../../target}
out=$target/peers
mkdir -p "$out"

g++ -O3 -march=native -o "$out/cryptopp_speed" "$here/cryptopp_speed.cpp" -lcryptopp
(cd "$here/../../.." && cargo build --release -q -p evener-crypt --example product_speed)
exec taskset -c "${CORE:-0}" python3 "$here/compare.py" \
    "$out/cryptopp_speed" "$target/release/examples/product_speed" "$@"
