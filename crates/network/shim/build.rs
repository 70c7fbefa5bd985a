//! The command embeds this library, so the linker strips its symbols.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-s");
}
