//! The library is a part of the command, so it carries no symbols that nobody looks up.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-s");
}
