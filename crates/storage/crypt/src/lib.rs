//! Authenticated encryption of files, pipes and memory, on all CPU cores.
//!
//! | module | for |
//! | --- | --- |
//! | [`session`] | files and pipes, as `evener encrypt` and `decrypt`; [`session::Memory`] for memory |
//! | [`keys`] | keys, key files, passphrases |
//! | [`chunked`], [`age`] | the two file formats |
//! | [`gcm`], [`ctr`], [`chacha20poly1305`] | the ciphers, on one thread |
//! | [`product`] | a product cipher, as a workload for benchmarks |
//!
//! ```no_run
//! use evener_crypt::keys::Key;
//! use evener_crypt::session::{self, Options, Secret};
//! use evener_runtime::Runtime;
//!
//! let secret = Secret::Key(Key::generate()?);
//! let session = session::encrypt("disk.img".as_ref(), "disk.img.sealed".as_ref(), &secret, b"")?;
//! println!("{}", session.run(&Runtime::new()?, Options::default())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
