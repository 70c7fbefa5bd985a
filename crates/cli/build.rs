//! Says where the library of `evener net exec` is.
//!
//! It is the library of the crate `evener-shim`, which cargo builds with the dependencies of the command and puts beside
//! them. `EVENER_SHIM_LIBRARY` names another: a static command has no dependency that is a shared library.

use std::env;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=EVENER_SHIM_LIBRARY");
    let named = env::var_os("EVENER_SHIM_LIBRARY").map(PathBuf::from);
    let library = named.unwrap_or_else(beside_dependencies);
    println!("cargo:rustc-env=EVENER_SHIM_LIBRARY={}", library.display());
}

fn beside_dependencies() -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // OUT_DIR is TARGET/PROFILE/build/PACKAGE/out.
    let profile = out.ancestors().nth(3).map(Path::to_owned);
    let library = profile
        .expect("a folder for the profile")
        .join("deps/libevener_shim.so");
    // Checks and documentation build no library, and neither does a static command. They have an empty file.
    let _ = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&library);
    library
}
