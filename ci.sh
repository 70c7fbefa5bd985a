#!/usr/bin/env bash
# Checks to run at home, each by its name: ./ci.sh fmt lint test doc loom fuzz bench-smoke interop ptx long guest
# outside. Without a name: all that a change must pass but guest and outside, in the order that fails soonest. .ci/run
# has guest as well.
set -euo pipefail
cd "$(dirname "$0")"

fmt() { cargo fmt --all --check && cargo fmt --manifest-path fuzz/Cargo.toml --check; }

# Users build the command without its benchmarks; all of it is checked, and the command is tested as they build it too.
# Links between documents are checked last.
lint() {
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    cargo clippy -p evener --all-targets --locked -- -D warnings
    .ci/links.py
}

# The README's test command, with the benchmarks.
test() { cargo test --workspace --all-features; }

doc() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked; }

# Every interleaving of the rings and of parking, on the code that runs. About a minute.
loom() {
    RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom CARGO_PROFILE_RELEASE_LTO=off \
        cargo test -p evener-runtime --release --lib --locked -- loom
}

# Seconds for each target: ./ci.sh fuzz, or FUZZ_SECONDS=600 ./ci.sh fuzz. All are built at once, with the flags that
# cargo-fuzz has for --sanitizer none.
fuzz() {
    local host targets target words
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares" \
        cargo build --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --target "$host" --release --locked
    targets=$(sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"$|\1|p' fuzz/Cargo.toml)
    for target in $targets; do
        words=fuzz/dictionaries/$target.txt
        mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
        "fuzz/target/$host/release/$target" -max_total_time="${FUZZ_SECONDS:-5}" -timeout=20 -rss_limit_mb=4096 \
            -verbosity=0 -print_final_stats=1 "-artifact_prefix=fuzz/artifacts/$target/" \
            $([ -f "$words" ] && echo "-dict=$words") "fuzz/corpus/$target"
    done
}

# The command as it is released, with its benchmarks.
release() { cargo run --release --locked -q --features bench -- "$@"; }

# Whether the benchmarks still run and write what they say; no figure is judged.
bench-smoke() {
    local out file
    out=$(mktemp -d)
    release bench filters --graph A --graph B --graph D --graph "rotate=12" \
        --size 352x288 --plan auto --plan all --workers 1,2 --frames 30 --no-memory --ops \
        --json "$out/filters.json" --report "$out/filters.html"
    release bench filters --graph B --size 352x288 --plan sequential --workers 1,2 \
        --affinity none,io-same --frames 30 --no-memory --json "$out/placed.json" --report "$out/placed.html"
    python3 - "$out/filters.json" <<'PY'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
by_graph = {}
for r in results:
    assert r["ms"]["min"] > 0 and r["frames"] >= 30, r
    by_graph.setdefault(r["graph"], set()).add(r["sha256"])
assert all(len(hashes) == 1 for hashes in by_graph.values()), by_graph
print(len(results), "results, one hash for each graph")
PY
    for figure in "best fixed plan" "figures 2 and 3" "figures 4 and 6" "figure 5" "Table III"; do
        grep -q "$figure" "$out/filters.html" || { echo "the report has no $figure" >&2; return 1; }
    done
    grep -q "figure 7" "$out/placed.html" || { echo "the report has no figure 7" >&2; return 1; }
    release bench dispatch --rounds 2 --json "$out/dispatch.json"
    release bench crypt --bytes 64M --rounds 1 \
        --json "$out/crypt.json" --report "$out/crypt.html"
    release bench product --blocks 22,5632 --workers 2 --rounds 1 \
        --json "$out/product.json" --report "$out/product.html"
    release bench queens --n 9,12 --workers 2 --rounds 2 \
        --json "$out/queens.json" --report "$out/queens.html"
    release bench encode --clip testsrc:352x288:5 --clip testsrc:1280x720:3 --workers 2 --rounds 1 \
        --json "$out/encode.json" --report "$out/encode.html"
    grep -q "figure 6.18" "$out/encode.html" || { echo "the report has no figure 6.18" >&2; return 1; }
    release bench block --rounds 1 --json "$out/block.json"
    release bench tuner --graph A --size 352x288 --rounds 2 --frames 300 \
        --json "$out/tuner.json" --report "$out/tuner.html"
    python3 - "$out/tuner.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for part in ["auto", "disturbance", "bad_arm", "overhead", "memory"]:
    assert report[part], part
PY
    for file in {filters,placed,dispatch,crypt,encode,product,queens,block,tuner}.json {filters,placed,crypt,encode,product,queens,tuner}.html; do
        [ -s "$out/$file" ] || { echo "$file is missing or empty" >&2; return 1; }
    done
    rm -rf "$out"
}

# Files exchanged with pyca/cryptography and openssl. The first time it fetches the former into bench/peers/out/.
interop() {
    local wanted
    for wanted in "python3 -m venv --help" "python3 -m ensurepip --version" "openssl version"; do
        if ! $wanted >/dev/null 2>&1; then
            echo "skipped: '$wanted' does not work; install python3-venv and openssl"
            return
        fi
    done
    bench/peers/crypt/interop.py
}

# Whether each .ptx file is what its kernel source gives. The first time it fetches NVRTC.
ptx() {
    local venv=${CARGO_TARGET_DIR:-target}/nvrtc
    if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -m ensurepip --version >/dev/null 2>&1; then
        echo "skipped: python3 makes no virtual environments; install python3-venv"
        return
    fi
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r crates/devices/kernels/requirements.txt
    "$venv/bin/python" crates/devices/kernels/ptx.py --check
}

# What takes too long without optimisation: n-queens of 16 to 18 rows beside OEIS A000170 and A002562.
long() {
    local n plans totals plan
    while IFS=: read -r n plans totals; do
        for plan in $plans; do
            release queens "$n" --fundamental --plan "$plan" |
                diff - <(echo "N = $n: $totals fundamental")
        done
    done <<'TOTALS'
16:farm farm/steal sequential auto:14772512 solutions, 1846955
17:auto:95815104 solutions, 11977939
18:auto:666090624 solutions, 83263591
TOTALS
    release bench queens --n 16 --rounds 1 --json - |
        python3 -c 'import json, sys; assert {r["total"] for r in json.load(sys.stdin)["results"]} == {14772512}'
    echo "16 to 18 rows, every plan and every split of 16"
}

# Images served as disks, in a guest under QEMU whose kernel has the driver; two minutes, and more with a larger
# GUEST_ROUNDS, kills of the server, 10 unless set. The first time it fetches a kernel.
guest() { crates/block/tests/guest/run.sh; }

# Tests of QEMU under the GPL, which are fetched and not kept here: ./ci.sh outside, or OUTSIDE_ROUNDS=2000 ./ci.sh outside
outside() { crates/block/tests/outside/run.sh; }

if [ $# -eq 0 ]; then
    set -- fmt lint test doc ptx bench-smoke interop long loom fuzz
fi
for verb in "$@"; do
    printf '\n== %s\n' "$verb"
    begin=$SECONDS
    case $verb in
        fmt | lint | test | doc | loom | fuzz | bench-smoke | interop | ptx | long | guest | outside) "$verb" ;;
        *)
            echo "ci.sh: no check '$verb'; there are fmt lint test doc loom fuzz bench-smoke interop ptx long guest outside" >&2
            exit 2
            ;;
    esac
    printf '== %s took %s s\n' "$verb" "$((SECONDS - begin))"
done
