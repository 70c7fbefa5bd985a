#!/usr/bin/env bash
# Makes target/packages/: a static binary in an archive, and a Debian package. ./ci.sh packages does, and tries both.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
out=$target/packages
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
machine=$(uname -m)
rm -rf "$out"
mkdir -p "$out"

# What goes with the command: manual pages, completions, licences.
with_it() { # COMMAND ROOT
    mkdir -p "$2"/share/{man/man1,doc/evener,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    EVENER_CONFIG= "$1" man "$2/share/man/man1"
    gzip -9n "$2"/share/man/man1/*.1
    EVENER_CONFIG= "$1" completions bash >"$2/share/bash-completion/completions/evener"
    EVENER_CONFIG= "$1" completions zsh >"$2/share/zsh/vendor-completions/_evener"
    EVENER_CONFIG= "$1" completions fish >"$2/share/fish/vendor_completions.d/evener.fish"
    cp LICENSE-MIT LICENSE-APACHE "$2/share/doc/evener/"
    gzip -9nc CHANGELOG.md >"$2/share/doc/evener/changelog.gz"
}

static() {
    local triple=$machine-unknown-linux-musl name=evener-$version-$machine-linux-static
    rustup target add "$triple"
    # The library is for programs that are linked dynamically, so it cannot be static.
    cargo build --release --locked -p evener-shim
    EVENER_SHIM_LIBRARY=$target/release/libevener_shim.so \
        cargo build --release --locked --target "$triple" -p evener-cli
    mkdir -p "$out/$name/bin"
    cp "$target/$triple/release/evener" "$out/$name/bin/"
    with_it "$out/$name/bin/evener" "$out/$name"
    tar -C "$out" --owner=0 --group=0 -cJf "$out/$name.tar.xz" "$name"
    rm -r "${out:?}/$name"
}

debian() {
    local architecture root=$out/root size needs
    architecture=$(dpkg --print-architecture)
    cargo build --release --locked -p evener-cli
    mkdir -p "$root"/{DEBIAN,usr/bin}
    cp "$target/release/evener" "$root/usr/bin/"
    with_it "$root/usr/bin/evener" "$root/usr"
    cp packaging/debian/copyright "$root/usr/share/doc/evener/"
    mkdir -p "$out/shlibs/debian"
    touch "$out/shlibs/debian/control"
    needs=$(cd "$out/shlibs" && dpkg-shlibdeps -O "$root/usr/bin/evener" 2>/dev/null)
    size=$(du -sk "$root/usr" | cut -f1)
    sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/" \
        -e "s/@NEEDS@/${needs#shlibs:Depends=}/" packaging/debian/control >"$root/DEBIAN/control"
    chmod -R u=rwX,go=rX "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/evener_${version}_$architecture.deb"
    rm -r "${root:?}" "$out/shlibs"
}

static
debian
ls -l "$out"
