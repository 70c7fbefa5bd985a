#!/usr/bin/env bash
# Checks to run at home, each by its name: ./ci.sh fmt lint test doc loom miri asan tsan fuzz fuzz-asan bench-smoke interop
# ptx gstreamer python ray long soak guest packages outside profile semver. Without a name it runs all but miri, asan, tsan,
# fuzz-asan, soak, guest, packages, outside, profile and semver; quick checks come first. .ci/run runs guest as well.
set -euo pipefail
cd "$(dirname "$0")"

# Tests and checks that cannot run here add a line to this file, which is printed at the end. With EVENER_NO_SKIP=1 they
# fail.
EVENER_SKIPPED=$(mktemp)
export EVENER_SKIPPED
trap 'ended' EXIT

# Says that the check, or a part of it, is skipped: skipped WHY
skipped() {
    echo "skipped: $1"
    echo "ci.sh $verb: $1" >>"$EVENER_SKIPPED"
    if [ "${EVENER_NO_SKIP:-}" = 1 ]; then
        echo "ci.sh: EVENER_NO_SKIP=1 makes that a failure" >&2
        exit 1
    fi
}

# What was skipped, each once.
ended() {
    if [ -s "$EVENER_SKIPPED" ]; then
        printf '\n== skipped: %s\n' "$(sort -u "$EVENER_SKIPPED" | wc -l)"
        sort -u "$EVENER_SKIPPED"
    fi
    rm -f "$EVENER_SKIPPED"
}

fmt() {
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo fmt --manifest-path gstreamer/Cargo.toml --check
}

# Users build the command without its benchmarks; all of it is checked, and the command is tested as they build it too.
# Tests say by `evener_testing::skip` that they are skipped, which is counted. Links between documents are checked last.
lint() {
    if grep -rn '"skipped: ' --include='*.rs' crates | grep -v '^crates/core/testing/'; then
        echo "evener_testing::skip says that a test is skipped" >&2
        return 1
    fi
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    cargo clippy -p evener-cli --all-targets --locked -- -D warnings
    .ci/links.py
}

# The README's test command, with the benchmarks. Tests wait more than they compute, so more run at once than there are
# CPUs on a small machine. They send signals. `nohup` and `&` make a process ignore some of these, so they are set back.
test() {
    RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) < 4 ? 4 : $(nproc)))} \
        env --default-signal=HUP,INT,QUIT cargo test --workspace --all-features
}

doc() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked; }

# Every interleaving of the deques, of the rings, of parking and of the flags in shared memory, on the code that runs. About
# a minute.
loom() {
    RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom CARGO_PROFILE_RELEASE_LTO=off \
        cargo test -p evener-pool -p evener-runtime -p evener-net-client --release --lib --locked -- loom
}

# What Miri can run of what is unsafe: the runtime's rings, buffers, lent memory and dispatch; the library and its pool.
# Some minutes; with a nightly toolchain.
miri() {
    if ! cargo +nightly miri --version >/dev/null 2>&1; then
        skipped "there is no Miri; rustup toolchain install nightly --component miri,rust-src"
        return
    fi
    # Miri knows the calls of the C library, and no assembly. It takes long for backtraces. The threads of the library's pool
    # do not end, which it would take for a leak.
    local flags="-Zmiri-disable-isolation"
    local tests=(env RUST_BACKTRACE=0 RUSTFLAGS="--cfg rustix_use_libc" CARGO_TARGET_DIR=target/miri)
    "${tests[@]}" MIRIFLAGS="$flags" cargo +nightly miri test -p evener-runtime --lib --locked -- \
        buffer:: dispatch::spsc what_a_worker_begins nested_runs mailbox_shares workers_have_names pools_end
    "${tests[@]}" MIRIFLAGS="$flags -Zmiri-ignore-leaks" cargo +nightly miri test -p evener --test small --locked
}

# libevener and its examples in C with AddressSanitizer, which also looks for leaks. Valgrind cannot run them then.
asan() {
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" EVENER_CC_FLAGS="-fsanitize=address" CARGO_TARGET_DIR=target/asan \
        cargo test --target "$(host)" -p evener-capi --locked -- --skip valgrind
}

# The runtime's tests with ThreadSanitizer, which needs a standard library that is built with it as well. Without those
# that measure time.
tsan() {
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
        skipped "there are no sources of the standard library; rustup component add rust-src"
        return
    fi
    local tests=(env RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread" CARGO_TARGET_DIR=target/tsan
        cargo test -Zbuild-std --target "$(host)" -p evener-runtime --locked)
    "${tests[@]}" --lib -- buffer:: dispatch:: io:: kept:: rounds:: stream::
    "${tests[@]}" --test stream -- --skip live:: --skip is_no_cost --skip side_by_side
}

host() { rustc -vV | sed -n 's/^host: //p'; }

# Seconds for each target: ./ci.sh fuzz, or FUZZ_SECONDS=600 ./ci.sh fuzz. FUZZ_TARGETS names some of them.
fuzz() { fuzzed fuzz/target; }

# The same with AddressSanitizer: FUZZ_SECONDS=3600 ./ci.sh fuzz-asan. C code that is built with it has the same static
# names in a file twice, which is allowed.
fuzz-asan() {
    ASAN_OPTIONS=detect_odr_violation=0 RUSTC_BOOTSTRAP=1 fuzzed fuzz/target/asan -Zsanitizer=address
}

# Builds all targets at once, with the flags that cargo-fuzz has, and runs each: fuzzed FOLDER FLAG…
fuzzed() {
    local folder=$1 targets target words
    shift
    RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares $*" \
        cargo build --manifest-path fuzz/Cargo.toml --target-dir "$folder" --target "$(host)" --release --locked
    targets=$(sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"$|\1|p' fuzz/Cargo.toml)
    for target in ${FUZZ_TARGETS:-$targets}; do
        words=fuzz/dictionaries/$target.txt
        mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
        "$folder/$(host)/release/$target" -max_total_time="${FUZZ_SECONDS:-5}" -timeout=20 -rss_limit_mb=4096 \
            -verbosity=0 -print_final_stats=1 "-artifact_prefix=fuzz/artifacts/$target/" \
            $([ -f "$words" ] && echo "-dict=$words") "fuzz/corpus/$target"
    done
}

# The element of GStreamer, and the pipelines of its document.
gstreamer() {
    if ! pkg-config --exists 'gstreamer-video-1.0 >= 1.22'; then
        skipped "there are no libraries of GStreamer 1.22"
        return
    fi
    cargo clippy --manifest-path gstreamer/Cargo.toml --all-targets --locked -- -D warnings
    cargo test --manifest-path gstreamer/Cargo.toml --locked
    cargo build --manifest-path gstreamer/Cargo.toml --locked
    local line target
    target=$(realpath -m "${CARGO_TARGET_DIR:-gstreamer/target}")
    grep '^gst-launch-1.0 ' docs/gstreamer.md | while read -r line; do
        echo "$line"
        GST_PLUGIN_PATH=$target/debug GST_REGISTRY=$target/registry.bin \
            timeout 60 bash -c "${line/gst-launch-1.0/gst-launch-1.0 -q}" </dev/null
    done
}

# The command with its benchmarks, as the tests have built it: its kernels are optimised, and nothing is built twice.
built() {
    cargo test --workspace --all-features --locked -q --no-run
    command=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug/evener
}

# Whether the benchmarks still run and write what they say; no figure is judged.
bench-smoke() {
    local out file command
    built
    out=$(mktemp -d)
    "$command" bench filters --graph A --graph B --graph D --graph "rotate=12" \
        --size 352x288 --plan auto --plan all --workers 1,2 --frames 30 --no-memory --ops \
        --json "$out/filters.json" --report "$out/filters.html"
    "$command" bench filters --graph B --size 352x288 --plan sequential --workers 1,2 \
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
    "$command" bench dispatch --rounds 2 --json "$out/dispatch.json"
    "$command" bench crypt --bytes 64M --rounds 1 \
        --json "$out/crypt.json" --report "$out/crypt.html"
    "$command" bench product --blocks 22,5632 --workers 2 --rounds 1 \
        --json "$out/product.json" --report "$out/product.html"
    "$command" bench queens --n 9,12 --workers 2 --rounds 2 \
        --json "$out/queens.json" --report "$out/queens.html"
    "$command" bench encode --clip testsrc:352x288:5 --clip testsrc:1280x720:3 --workers 2 --rounds 1 \
        --json "$out/encode.json" --report "$out/encode.html"
    grep -q "figure 6.18" "$out/encode.html" || { echo "the report has no figure 6.18" >&2; return 1; }
    "$command" bench block --rounds 1 --json "$out/block.json"
    "$command" bench net --only wire,loopback,udp --rounds 1 --seconds 0.1 --json "$out/net.json" --report "$out/net.html"
    if unshare --user --map-root-user --net ip link set lo up 2>/dev/null; then
        unshare --user --map-root-user --net "$command" bench gateway --only stuck --rounds 1 --seconds 0.2 \
            --json "$out/gateway.json" --report "$out/gateway.html"
        [ -s "$out/gateway.json" ] && [ -s "$out/gateway.html" ]
    else
        skipped "the gateway, as network namespaces cannot be made"
    fi
    "$command" bench tuner --graph A --size 352x288 --rounds 2 --frames 300 \
        --json "$out/tuner.json" --report "$out/tuner.html"
    python3 - "$out/tuner.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
for part in ["auto", "disturbance", "bad_arm", "overhead", "memory"]:
    assert report[part], part
PY
    for file in {filters,placed,dispatch,crypt,encode,product,queens,block,net,tuner}.json {filters,placed,crypt,encode,product,queens,net,tuner}.html; do
        [ -s "$out/$file" ] || { echo "$file is missing or empty" >&2; return 1; }
    done
    rm -rf "$out"
}

# Files exchanged with pyca/cryptography and openssl. The first time it fetches the former into bench/peers/out/.
interop() {
    local wanted
    for wanted in "python3 -m venv --help" "python3 -m ensurepip --version" "openssl version"; do
        if ! $wanted >/dev/null 2>&1; then
            skipped "'$wanted' does not work; install python3-venv and openssl"
            return
        fi
    done
    local command
    built
    bench/peers/crypt/interop.py "$command"
}

# Whether the packed PTX is what the kernel sources give. The first time it fetches NVRTC.
ptx() {
    local venv=${CARGO_TARGET_DIR:-target}/nvrtc
    if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -m ensurepip --version >/dev/null 2>&1; then
        skipped "python3 makes no virtual environments; install python3-venv"
        return
    fi
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r crates/core/devices/kernels/requirements.txt
    "$venv/bin/python" crates/core/devices/kernels/ptx.py --check
}

# Makes a virtual environment with what a file lists: environment FOLDER FILE. It says why not.
environment() {
    if ! python3 -c 'import ensurepip, sys; assert sys.version_info >= (3, 11)' 2>/dev/null; then
        skipped "there is no Python 3.11 that makes virtual environments; install python3 and python3-venv"
        return 1
    fi
    [ -x "$1/bin/pip" ] || python3 -m venv "$1" || return 1
    if ! "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"; then
        skipped "pip reaches no registry"
        return 1
    fi
}

# Builds the wheel of the package for Python as the tests are built, since a release takes more than twice as long, and
# installs it: wheel ENVIRONMENT
wheel() {
    local wheels
    wheels=$(realpath -m "${CARGO_TARGET_DIR:-target}")/wheels
    rm -rf "$wheels"
    "$1/bin/maturin" build --quiet --locked -m python/Cargo.toml -o "$wheels"
    wheel=$(echo "$wheels"/evener-*.whl)
    echo "$wheel has $(stat -c %s "$wheel") bytes"
    [ "$(stat -c %s "$wheel")" -le 6000000 ]
    "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
}

# The package for Python, in a virtual environment of its own, beside the command. Needs a registry the first time.
python() {
    local target wheel command
    target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    environment "$target/python" python/tests/requirements.txt || return 0
    built
    wheel "$target/python"
    EVENER_COMMAND=$command env --default-signal=HUP,INT,QUIT "$target/python/bin/pytest" -q -p no:cacheprovider \
        --ignore python/tests/test_ray.py python/tests
    smoke "$wheel" "$target"
}

# The same on a cluster of Ray, whose two nodes are processes of this machine. The first time it fetches Ray, of 600 MB.
ray() {
    local target wheel command
    target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    environment "$target/ray" python/tests/requirements-ray.txt || return 0
    built
    wheel "$target/ray"
    EVENER_COMMAND=$command RAY_USAGE_STATS_ENABLED=0 \
        timeout 300 "$target/ray/bin/pytest" -q -p no:cacheprovider python/tests/test_ray.py
}

# The same wheel in the other interpreters that are here, with what needs no more than NumPy.
smoke() {
    local wheel=$1 target=$2 version python venv tested
    tested=$(python3 -c 'import sys; print("3.%d" % sys.version_info.minor)')
    for version in 3.11 3.12 3.13; do
        [ "$version" != "$tested" ] || continue
        python=$(interpreter "$version") || { skipped "Python $version, which is not here"; continue; }
        venv=$target/python-$version
        [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check pytest numpy
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
        "$venv/bin/pytest" -q -p no:cacheprovider python/tests/test_arrays.py python/tests/test_graph.py
    done
}

# The interpreter of a version, on the path or of pyenv, if it makes virtual environments.
interpreter() {
    local found
    for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$found" -c 'import ensurepip' 2>/dev/null; then
            echo "$found"
            return
        fi
    done
    return 1
}

# What takes long: n-queens of 16 to 18 rows beside OEIS A000170 and A002562, and how long it says that it will take.
long() {
    local n plans totals plan command
    built
    while IFS=: read -r n plans totals; do
        for plan in $plans; do
            "$command" queens "$n" --fundamental --plan "$plan" |
                diff - <(echo "N = $n: $totals fundamental")
        done
    done <<'TOTALS'
16:farm farm/steal sequential auto:14772512 solutions, 1846955
17:auto:95815104 solutions, 11977939
18:auto:666090624 solutions, 83263591
TOTALS
    "$command" bench queens --n 16 --rounds 1 --json - |
        python3 -c 'import json, sys; assert {r["total"] for r in json.load(sys.stdin)["results"]} == {14772512}'
    echo "16 to 18 rows, every plan and every split of 16"
    # Without vectors, since 17 rows take less than a second with them. Half-way the estimate is right within a few
    # percent. It is compared by processor time, so that what others do on the processors meanwhile adds nothing.
    EVENER_CPU=scalar python3 - "$command" <<'PY'
import os, re, resource, subprocess, sys
def used(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
run = [sys.argv[1], "queens", "17", "--workers", "1", "--log-every", "0.5"]
child = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
told = []
for line in child.stderr:
    told.append((used(child.pid), re.match(r"([0-9.]+) % after ([0-9.]+) s, ([0-9.]+) s left", line)))
assert child.wait() == 0
times = resource.getrusage(resource.RUSAGE_CHILDREN)
took = times.ru_utime + times.ru_stime
errors = [at * (1 + float(t[3]) / float(t[2])) / took - 1 for at, t in told if t and 45 < float(t[1]) < 55]
print("17 rows: half-way the end was foretold with errors of", *(f"{error:.1%}" for error in errors))
assert errors and max(map(abs, errors)) <= 0.2
PY
}

# The gateway at half load for half an hour, or for SOAK_SECONDS: whether memory and descriptors grow.
soak() {
    local command
    built
    unshare --user --map-root-user --net "$command" bench gateway --only soak --rounds 1 \
        --seconds "${SOAK_SECONDS:-1800}" --json target/soak.json --report target/soak.html
    echo "memory and descriptors over time: target/soak.html"
}

# Images served as disks, in a guest under QEMU whose kernel has the driver; two minutes, and more with a larger
# GUEST_ROUNDS, kills of the server, 10 unless set. The first time it fetches a kernel.
guest() {
    local command
    built
    EVENER=$command crates/storage/block/tests/guest/run.sh
}

# A static binary and a Debian package in target/packages/, tried on bare roots. It fetches a Debian the first time.
packages() {
    packaging/build.sh
    packaging/try.sh
}

# Tests of QEMU under the GPL, which are fetched and not kept here: ./ci.sh outside, or OUTSIDE_ROUNDS=2000 ./ci.sh outside
outside() { crates/storage/block/tests/outside/run.sh; }

# Whether kernels owe their speed to link-time optimisation: calls that stay in them without it, and user time beside a
# build that has it. Half an hour, on a machine that does nothing else.
profile() {
    local target
    if ! objdump --version >/dev/null 2>&1; then
        skipped "there is no objdump; install binutils"
        return
    fi
    target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    bench/profile.py --build
    bench/calls.py "$target/profile-plain/release/evener"
    bench/profile.py
}

# Whether programs that use the libraries still compile, beside a revision or the newest tag: ./ci.sh semver [REVISION]
semver() {
    local since=${1:-}
    if ! cargo semver-checks --version >/dev/null 2>&1; then
        skipped "there is no cargo-semver-checks; cargo install --locked cargo-semver-checks"
        return
    fi
    [ -n "$since" ] || since=$(git describe --tags --abbrev=0 2>/dev/null) || {
        skipped "there is no tag to compare with; ./ci.sh semver REVISION"
        return
    }
    git rev-parse --quiet --verify "$since^{commit}" >/dev/null || { echo "there is no revision $since" >&2; return 1; }
    # What is to be published: the library, the engine for rayon, and the threads of both.
    cargo semver-checks -p evener -p evener-pool -p evener-rayon-core --baseline-rev "$since"
}

if [ $# -eq 0 ]; then
    set -- fmt lint test doc ptx bench-smoke python ray interop gstreamer long loom fuzz
fi
while [ $# -gt 0 ]; do
    verb=$1
    shift
    printf '\n== %s\n' "$verb"
    begin=$SECONDS
    case $verb in
        fmt | lint | test | doc | loom | miri | asan | tsan | fuzz | fuzz-asan | bench-smoke | interop | ptx | gstreamer | python | ray | long | soak | guest | packages | outside | profile) "$verb" ;;
        semver) # The one that takes an argument comes last.
            semver "$@"
            set --
            ;;
        *)
            echo "ci.sh: no check '$verb'; there are fmt lint test doc loom miri asan tsan fuzz fuzz-asan bench-smoke interop ptx gstreamer python ray long soak guest packages outside profile semver" >&2
            exit 2
            ;;
    esac
    printf '== %s took %s s\n' "$verb" "$((SECONDS - begin))"
done
