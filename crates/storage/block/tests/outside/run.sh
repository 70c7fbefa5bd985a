#!/usr/bin/env bash
# What is under the GPL and therefore not here: QEMU's fuzzer of images and its CLOOP image, from the source package of
# the distribution, beside evener and qemu-img. OUTSIDE_ROUNDS images, 200 unless set.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../../../.."

cache=${EVENER_OUTSIDE_CACHE:-${CARGO_TARGET_DIR:-target}/outside}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
skip() {
    echo "skipped: $1"
    echo "ci.sh outside: $1" >>"${EVENER_SKIPPED:-/dev/null}"
    exit 0
}
command -v qemu-img >/dev/null || skip "qemu-img is not installed"

# Source packages, from where this machine has its packages, without touching its lists.
fetch() {
    local sources=$cache/apt
    mkdir -p "$sources/parts" "$sources/lists/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$sources/parts/${file##*/}"
    done
    { sed -n 's/^deb /deb-src /p' /etc/apt/sources.list 2>/dev/null || true; } >"$sources/parts/all.list"
    local apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$sources/parts"
        -o "Dir::State::lists=$sources/lists")
    (cd "$cache" && "${apt[@]}" update && "${apt[@]}" source --download-only qemu)
}
if ! ls "$cache"/qemu-*/tests/image-fuzzer/qcow2/layout.py >/dev/null 2>&1; then
    command -v apt-get >/dev/null || skip "there is no apt-get to fetch the source of qemu with"
    fetch || skip "the source of qemu cannot be had"
    tar -xf "$cache"/qemu_*.orig.tar.* -C "$cache" --wildcards \
        '*/tests/image-fuzzer/*' '*/sample_images/simple-pattern.cloop.bz2'
fi

cargo build --locked -q
evener=${CARGO_TARGET_DIR:-target}/debug/evener
source=$(echo "$cache"/qemu-*/tests)
python3 "$here/outside.py" "$evener" "$source" "${OUTSIDE_ROUNDS:-200}"
