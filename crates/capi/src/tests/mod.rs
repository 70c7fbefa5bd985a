//! The functions of C, called from Rust.

#[allow(unsafe_code)]
mod crypt;
#[allow(unsafe_code)]
mod open;
