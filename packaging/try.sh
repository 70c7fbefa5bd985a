#!/usr/bin/env bash
# Tries what build.sh made: the archive in a root that holds nothing else, the package and the container file on a root
# of debootstrap. Needs root; the first time it fetches a Debian.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=$(realpath -m "${CARGO_TARGET_DIR:-target}")/packages
cache=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debootstrap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== the static binary, in an empty root"
mkdir "$work/empty"
tar -C "$work/empty" --strip-components=1 -xJf "$packages"/evener-*.tar.xz
chroot "$work/empty" /bin/evener --version
chroot "$work/empty" /bin/evener filter undistort,rotate=6,crop=0.8 -i testsrc:640x360:50 -o /out.y4m
chroot "$work/empty" /bin/evener encode -i /out.y4m -o /out.mp4
chroot "$work/empty" /bin/evener keygen -o /key
chroot "$work/empty" /bin/evener encrypt -k /key /out.y4m -o /out.sealed
chroot "$work/empty" /bin/evener decrypt -k /key /out.sealed -o /back.y4m
cmp "$work/empty/out.y4m" "$work/empty/back.y4m"
chroot "$work/empty" /bin/evener image pack /out.y4m /out.zst
chroot "$work/empty" /bin/evener image verify /out.zst
chroot "$work/empty" /bin/evener queens 12 | grep -q "14200 solutions"

echo "== the package, on a bare root"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
if [ ! -e "$cache/done" ]; then
    rm -rf "$cache"
    mkdir -p "$cache"
    debootstrap --variant=minbase "$release" "$cache/root" "$mirror" >"$cache/log" || { tail -5 "$cache/log"; exit 1; }
    touch "$cache/done"
fi
cp -a "$cache/root" "$work/bare"
cp "$packages"/evener_*.deb "$work/bare/tmp/"
chroot "$work/bare" sh -c 'dpkg -i /tmp/evener_*.deb'
chroot "$work/bare" evener --version
chroot "$work/bare" evener filter blur,sobel -i testsrc:640x360:50 -o /tmp/out.y4m
chroot "$work/bare" sh -c 'zcat /usr/share/man/man1/evener-filter.1.gz | grep -q undistort'
# The library for programs is in the command: the stack is what is missing.
chroot "$work/bare" sh -c 'HOME=/root evener net exec --socket /none -- true 2>&1 | grep -q "no stack"'
chroot "$work/bare" dpkg -r evener
[ ! -e "$work/bare/usr/bin/evener" ]

if ! command -v buildah >/dev/null; then
    echo "skipped: the container file, as there is no buildah"
    echo "ci.sh packages: the container file, as there is no buildah" >>"${EVENER_SKIPPED:-/dev/null}"
    exit
fi
echo "== the container file"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
storage=(--root "$work/storage" --runroot "$work/run")
base=$(buildah "${storage[@]}" from scratch)
buildah "${storage[@]}" add "$base" "$cache/root" / >/dev/null
buildah "${storage[@]}" commit "$base" localhost/bare >/dev/null
buildah "${storage[@]}" build -f packaging/Containerfile --build-arg BASE=localhost/bare -t evener "$packages"
made=$(buildah "${storage[@]}" from localhost/evener)
buildah "${storage[@]}" run "$made" -- evener filter blur -i testsrc:320x240:25 -o /tmp/out.mkv
buildah "${storage[@]}" run "$made" -- ffprobe -v error -show_entries stream=width,nb_read_frames -count_frames /tmp/out.mkv
echo "all of it works"
