//! Bulk encryption and a product cipher, as services on the evener runtime.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod aes;
pub mod age;
pub mod bulk;
pub mod chacha20poly1305;
pub mod chosen;
pub mod chunked;
pub mod ctr;
pub mod gcm;
pub mod keys;
pub mod product;
pub mod session;
mod variant;

pub use variant::Variant;
