//! Files in the format of age, version 1: <https://c2sp.org/age>.
//!
//! A file consists of a [`Header`], which contains the wrapped file key for each recipient, and a payload of 64 KiB
//! chunks. [`PayloadKey`] encrypts and decrypts each chunk independently.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `header.rs` | the header as text |
//! | `keys.rs` | recipients, identities and passphrases: wrapping the key of a file |
//! | `lists.rs` | files of recipients and of identities |
//! | `payload.rs` | chunks |
//! | `armor.rs` | the form in lines of text |
#![forbid(unsafe_code)]

pub mod armor;
mod error;
mod header;
mod keys;
mod lists;
mod payload;

use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::keys::RandomError;

pub use error::{ChunkError, HeaderError, KeyError};
pub use header::{Header, MAX_HEADER, Stanza};
pub use keys::{
    DEFAULT_WORK, Identity, MAX_WORK, Recipient, unwrap, unwrap_passphrase, work_factor,
    wrap_passphrase,
};
pub(crate) use keys::{counted, kinds};
pub use lists::{ListError, identities, identity_lines, recipients};
pub use payload::{CHUNK, LAYOUT, NONCE, Open, PayloadKey, SEALED_CHUNK, Seal};

/// The key of a file, from which its other keys are derived.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct FileKey([u8; 16]);

impl FileKey {
    /// Generates a file key. No two files may have the same one.
    ///
    /// # Errors
    /// The operating system provides no randomness.
    pub fn generate() -> Result<FileKey, RandomError> {
        Ok(FileKey(random()?))
    }
}

/// Whether a file that begins with `front`, all of it or 36 bytes, is an age file, and then whether it is armored.
pub(crate) fn recognise(front: &[u8]) -> Option<bool> {
    // Text that a person pasted may begin with more blanks than were read.
    let blank = front.len() == 36 && front.trim_ascii().is_empty();
    match armor::is_armored(front, front.len() < 36) || blank {
        true => Some(true),
        false => front.starts_with(header::INTRO).then_some(false),
    }
}

/// HKDF with SHA-256, 32 bytes.
fn hkdf(secret: &[u8], salt: &[u8], info: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    hkdf::Hkdf::<Sha256>::new(Some(salt), secret)
        .expand(info, &mut *key)
        .expect("32 bytes are few");
    key
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(RandomError)?;
    Ok(bytes)
}
