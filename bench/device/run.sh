#!/usr/bin/env bash
# What a device brings beside the cores, and what several cores bring: rows of whole processes, each with its report as
# JSON in a folder. Needs evener, and nothing else.
#
#     bench/device/run.sh FOLDER          within 9 minutes, on a machine with a graphics processor
#     bench/device/run.sh FOLDER small    within a minute, to see that it works
#
# EVENER is the program (target/release/evener), DEVICE the device (auto), MINUTES the time that all may take. Rows that
# there is no time for are named in `skipped.txt`, those that failed in `failed.txt`; `log.txt` has what each one said.
set -uo pipefail

usage='usage: bench/device/run.sh FOLDER [small]'
out=${1:?$usage}
small=${2:-}
case $small in '' | small) ;; *) echo "$usage" >&2; exit 2 ;; esac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
evener=${EVENER:-${CARGO_TARGET_DIR:-$here/../../target}/release/evener}
device=${DEVICE:-auto}
deadline=$((SECONDS + 60 * ${MINUTES:-9}))
mkdir -p "$out"
out=$(cd "$out" && pwd)
: >"$out/log.txt"

if [ "$small" ]; then
    size=320x180 frames=60 boards="12" largest=12 of_cores=12
else
    size=1920x1080 frames=3000 boards="18 19 20 21" largest=22 of_cores=20
fi
cpus=$(nproc)

# Frames and files are read from memory where there is room for them.
scratch=$(mktemp -d)
if [ "$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt $((12 << 20)) ] 2>/dev/null; then
    rmdir "$scratch"
    scratch=$(mktemp -d -p /dev/shm)
fi
trap 'rm -rf "$scratch"' EXIT

# row NAME SECONDS COMMAND...: runs evener for at most so long. Its standard output is of no interest.
row() {
    local name=$1 limit=$2 left=$((deadline - SECONDS)) begin=$SECONDS status
    shift 2
    if [ "$left" -lt 5 ]; then
        echo "$name" >>"$out/skipped.txt"
        return
    fi
    [ "$limit" -lt "$left" ] || limit=$left
    printf '\n== %s: evener %s\n' "$name" "$*" >>"$out/log.txt"
    timeout -k 5 "$limit" "$evener" "$@" >/dev/null 2>>"$out/log.txt"
    status=$?
    [ "$status" -eq 0 ] || echo "$name: status $status" >>"$out/failed.txt"
    echo "$name: $((SECONDS - begin)) s"
}

# The machine, its devices with their arithmetic, and how fast bytes move. The first call of a driver is slow.
row open 60 queens 12 --device "$device" --no-memory --json "$out/open.json"
printf '\n== topology\n' >>"$out/log.txt"
timeout 120 "$evener" topology --json >"$out/topology.json" 2>>"$out/log.txt" || echo topology >>"$out/failed.txt"

# Boards: on the device beside one core, which is nearly the device alone; beside all cores, in a farm and as the tuner
# has it; and on the cores.
for n in $boards; do
    row "queens-$n-one" 60 queens "$n" --device "$device" --plan farm --workers 1 --no-memory --json "$out/queens-$n-one.json"
    row "queens-$n-farm" 60 queens "$n" --device "$device" --plan farm --no-memory --json "$out/queens-$n-farm.json"
    row "queens-$n-auto" 60 queens "$n" --device "$device" --no-memory --json "$out/queens-$n-auto.json"
    [ "$n" -gt "$of_cores" ] ||
        row "queens-$n-cores" 60 queens "$n" --device none --no-memory --json "$out/queens-$n-cores.json"
done

# Graphs, letters as in bench/peers/pipelines.py: on the cores, split between cores and device, and with one core beside
# the device.
clip=$scratch/clip.y4m
row clip 60 filter flip=h --device none -i "testsrc:$size:$frames" -o "$clip"
graphs="A:blur,sobel,threshold=0.25 B:undistort,rotate=6,crop=0.8 C:undistort,rotate=60,crop=0.8
    D:posterize,threshold,binary E:threshold,binary,rotate=30 F:threshold,rotate=30,binary G:rotate=30,threshold,binary"
for pair in $graphs; do
    letter=${pair%%:*} graph=${pair#*:}
    filter() {
        row "filter-$letter-$1" 20 filter "$graph" -i "$clip" -o null: --no-memory --json "$out/filter-$letter-$1.json" "${@:2}"
    }
    filter cores --device none
    filter split --device "$device"
    filter one --device "$device" --plan farm --workers 1
done

# Video: motion search on the device, the rest on the cores.
encode() {
    row "encode-$1" 30 encode -i "testsrc:$size:$((frames / 10))" -o null: --no-memory --json "$out/encode-$1.json" "${@:2}"
}
encode cores --device none
encode wavefront --device "$device" --plan wavefront
encode auto --device "$device"

# Cores: what more of them bring, without a device.
"$evener" keygen -o "$scratch/key" >>"$out/log.txt" 2>&1
for workers in 1 2 4 8 16; do
    [ "$workers" -le "$cpus" ] || continue
    of=$workers
    row "scale-queens-$of" 30 queens "${boards%% *}" --device none --workers "$of" --no-memory --json "$out/scale-queens-$of.json"
    row "scale-filter-$of" 60 filter undistort,rotate=6,crop=0.8 --device none -i "$clip" -o null: --workers "$of" --no-memory \
        --json "$out/scale-filter-$of.json"
    row "scale-encrypt-$of" 30 encrypt -k "$scratch/key" "$clip" --workers "$of" --no-memory --json "$out/scale-encrypt-$of.json"
done

# The longest row comes last.
row "queens-$largest-large" 240 queens "$largest" --device "$device" --plan farm --no-memory --json "$out/queens-$largest-large.json"

echo "$(ls "$out" | grep -c 'json$') reports in $out"
for list in failed skipped; do
    [ ! -s "$out/$list.txt" ] || { echo "$list:"; cat "$out/$list.txt"; }
done
[ ! -s "$out/failed.txt" ]
