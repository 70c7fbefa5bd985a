//! What library this is.

use std::ffi::c_char;

use crate::status;

/// The version of the interface that a program is compiled for. It changes when a function or a structure that
/// there was changes.
pub const EVENER_ABI_VERSION: u32 = 1;

/// The version of the interface that the library has. A program that was compiled for another cannot use it.
#[unsafe(no_mangle)]
pub extern "C" fn evener_abi_version() -> u32 {
    EVENER_ABI_VERSION
}

/// The version of the library, as text that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn evener_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Why the last call of this thread failed that did: one line. It lives until the next such call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn evener_last_error() -> *const c_char {
    status::last()
}
