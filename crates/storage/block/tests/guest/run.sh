#!/usr/bin/env bash
# Serves an image by ublk in a guest with a kernel that has the driver, as most machines that run tests have none.
# Needs qemu-system-x86_64, mke2fs, strip, xz and Debian's package archive; without them it says so in a line and fails.
#
# EVENER_GUEST_CACHE  where the kernel is kept from one run to the next; target/guest unless it is set
# EVENER              the program to test, instead of building it
# GUEST_ROUNDS        how often the server is killed; 10 unless it is set
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../../../.."

say() { printf '%s\n' "$*"; }
cannot() { say "no guest: $*" >&2; exit 1; }

for program in qemu-system-x86_64 apt-get dpkg-deb mke2fs ldd strip xz; do
    command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin:/sbin
    command -v "$program" >/dev/null || cannot "there is no $program; install qemu-system-x86, e2fsprogs, binutils and xz-utils"
done

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
cache=${EVENER_GUEST_CACHE:-$target/guest}
mkdir -p "$cache"

# Both come from packages that are unpacked and never installed.
fetch() {
    [ -e "$cache/$1" ] && return
    mkdir -p "$cache/$1.new"
    (cd "$cache/$1.new" && apt-get download -qq "$2" >/dev/null 2>&1 && dpkg-deb -x ./*.deb . && rm ./*.deb) || return 1
    mv "$cache/$1.new" "$cache/$1"
}
if [ ! -e "$cache/kernel" ]; then
    kernel=$(apt-cache search --names-only '^linux-image-6\.12.*-cloud-amd64$' | cut -d' ' -f1 | grep '[0-9]' |
        grep -v '^linux-image-6\.12-' | sort -V | tail -1)
    [ -n "$kernel" ] || cannot "no package of a Linux 6.12 for the cloud is known; run apt-get update, on a Debian that has one"
    fetch kernel "$kernel" || cannot "$kernel cannot be downloaded"
fi
fetch busybox busybox-static || cannot "busybox-static cannot be downloaded"
linux=$(echo "$cache"/kernel/boot/vmlinuz-*)
say "kernel: ${linux##*/vmlinuz-}"

if [ -z "${EVENER:-}" ]; then
    cargo build --locked --quiet --bin evener --all-features
    EVENER=$target/debug/evener
fi

out=$(mktemp -d "$cache/run.XXXXXX")
program=$out/evener
trap 'rm -rf "$out"' EXIT
root=$out/root
mkdir -p "$root"/{bin,dev,proc,sys,mnt,tree,tmp}
# Without what a debugger reads it is a tenth as large.
strip -o "$program" "$EVENER"

# A tree of many small files and some large ones, one of which does not compress, and a file system of it. Where fio is
# installed, what it can verify follows behind the file system.
git ls-files -z | xargs -0 cp --parents -t "$root/tree" 2>/dev/null
head -c 4M "$linux" >"$root/tree/kernel"
cp "$cache/busybox/bin/busybox" "$root/tree/busybox"
size=$(du -sm "$root/tree" | cut -f1)
mkdir "$out/disk"
cp -al "$root/tree" "$out/disk/tree"
mke2fs -q -F -t ext4 -O ^has_journal -d "$out/disk" "$out/disk.img" "$((size * 5 / 4 + 16))M" >/dev/null
if command -v fio >/dev/null; then
    verify="--name=verify --offset=$(stat -c %s "$out/disk.img") --size=8M --bs=16k --verify=crc32c --verify_fatal=1"
    # shellcheck disable=SC2086
    fio $verify --filename="$out/verify.img" --rw=write --do_verify=0 --verify_state_save=0 \
        --ioengine=psync --output="$out/fio"
    tail -c 8M "$out/verify.img" >>"$out/disk.img"
    echo "$verify" >"$root/verify"
    cp "$(command -v fio)" "$root/bin/fio"
    ldd "$root/bin/fio" | grep -o '/[^ ]*' | xargs cp -L --parents -t "$root"
else
    say "without fio, which is not installed"
fi
"$program" image pack "$out/disk.img" "$root/disk.img.zst" 2>/dev/null
say "image: $(stat -c %s "$out/disk.img") bytes with $(find "$root/tree" -type f | wc -l) files," \
    "packed $(stat -c %s "$root/disk.img.zst")"

# What direct reads of 256 KiB have to give, in the order of their places.
split -b 256k --filter='sha256sum' "$out/disk.img" | cut -d' ' -f1 >"$root/sums"
sha256sum <"$out/disk.img" >"$root/whole"
head -c 1000000 "$linux" >"$root/other.img"

cp "$cache/busybox/bin/busybox" "$root/bin/busybox"
cp "$program" "$root/bin/evener"
ldd "$program" | grep -o '/[^ ]*' | xargs cp -L --parents -t "$root"
cp "$(command -v mke2fs)" "$root/bin/mkfs.ext4"
if command -v e2fsck >/dev/null; then
    cp "$(command -v e2fsck)" "$root/bin/e2fsck"
    ldd "$root/bin/mkfs.ext4" "$root/bin/e2fsck" | grep -o ' /[^ ]*' | sort -u | xargs cp -L --parents -t "$root"
else
    rm "$root/bin/mkfs.ext4"
fi
xz -dc "$cache"/kernel/lib/modules/*/kernel/drivers/block/ublk_drv.ko.xz >"$root/ublk_drv.ko"
cp "$here/init.sh" "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . | "$cache/busybox/bin/busybox" cpio -o -H newc 2>/dev/null) | gzip -1 >"$out/initramfs"

say "boot: with $(stat -c %s "$out/initramfs") bytes of files"
status=0
: >"$out/log"
timeout "${GUEST_SECONDS:-900}" qemu-system-x86_64 -M q35,accel=tcg -cpu max -smp 2 -m 2048 -nographic -no-reboot \
    -nic none -kernel "$linux" -initrd "$out/initramfs" \
    -append "console=ttyS0 quiet panic=-1 rounds=${GUEST_ROUNDS:-10}" </dev/null >"$out/log" 2>&1 &
qemu=$!
tail -n +1 --pid="$qemu" -f "$out/log" | sed -u 's|\r$||' | grep --line-buffered -a '^guest: ' || true
wait "$qemu" || status=$?
if [ "$status" -ne 0 ] || ! tr -d '\r' <"$out/log" | grep -aqx 'guest: passed'; then
    say "failed: status $status; the last lines of the guest:"
    tail -n 40 "$out/log"
    exit 1
fi
