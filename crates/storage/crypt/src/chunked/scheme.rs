//! The sizes of the format and its instantiations.

use crate::gcm::TAG;

/// Bytes of plaintext in every chunk but the last.
pub const CHUNK: usize = 16 << 10;
/// Bytes of a full encrypted chunk.
pub const SEALED_CHUNK: usize = CHUNK + TAG;
/// Bytes of the salt.
pub const SALT: usize = 24;
/// Bytes of the commitment.
pub(super) const COMMITMENT: usize = 32;
/// Bytes before the first chunk: the salt and the commitment.
pub const HEADER: usize = SALT + COMMITMENT;
/// The largest number of chunks in a file.
pub const MAX_CHUNKS: u64 = 1 << 38;

/// An instantiation of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// SHA-512 and AES-128-GCM, keys of 16 bytes.
    Cobblestone128,
    /// SHA-512 and AES-256-GCM, keys of 32 bytes.
    Cobblestone256,
}

impl Scheme {
    /// The length of a key in bytes.
    pub fn key_len(self) -> usize {
        match self {
            Scheme::Cobblestone128 => 16,
            Scheme::Cobblestone256 => 32,
        }
    }

    /// The name of the AEAD in IANA's registry, from which keys are derived.
    pub(super) fn aead(self) -> &'static str {
        match self {
            Scheme::Cobblestone128 => "AEAD_AES_128_GCM",
            Scheme::Cobblestone256 => "AEAD_AES_256_GCM",
        }
    }
}
