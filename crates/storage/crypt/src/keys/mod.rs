//! Keys: random ones, key files, and keys derived from passphrases.
//!
//! Keys are wiped from memory when they are dropped, and never printed.

mod file;
mod generated;
mod hex;
mod hkdf;
mod line;
mod passphrase;

use zeroize::{Zeroize, ZeroizeOnDrop};

pub use evener_files::Exposed;
pub use file::{KeyFileError, ParseError, read_all, read_line, write_new};
pub(crate) use file::{NO_DATA, write_secret};
pub use generated::generated_passphrase;
pub use hex::{Hex, HexError};
pub use hkdf::{expand, extract};
pub use line::secret_line;
pub use passphrase::{Cost, HEADER as PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

use crate::chunked::SALT;

/// A 256-bit key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; 32]);

impl Key {
    /// Generates a key from the operating system's randomness.
    ///
    /// # Errors
    /// The operating system provides none.
    pub fn generate() -> Result<Key, RandomError> {
        let mut key = Key([0; 32]);
        getrandom::fill(&mut key.0).map_err(RandomError)?;
        Ok(key)
    }

    /// The key with these bytes.
    pub fn of_bytes(bytes: &[u8; 32]) -> Key {
        Key(*bytes)
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Generates a salt for a file from the operating system's randomness. The chance that two of 2^80 files share one is
/// 2^-32.
///
/// # Errors
/// The operating system provides none.
pub fn salt() -> Result<[u8; SALT], RandomError> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(RandomError)?;
    Ok(salt)
}

/// The operating system provides no randomness.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system gives no random numbers, so no key or salt can be made: {0}")]
pub struct RandomError(pub(crate) getrandom::Error);
