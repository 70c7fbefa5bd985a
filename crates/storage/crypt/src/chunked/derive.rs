//! Deriving the key of a file from the key of many files.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::scheme::COMMITMENT;
use super::{HeaderError, SALT, Scheme};
use crate::keys::expand;

const NONCE: usize = 12;
/// Bytes of two blocks of SHA-512, enough for the longest derivation.
const LENGTH: usize = 128;

/// Key, base nonce and commitment of a file. Wiped after use.
pub(super) struct Derived {
    bytes: Zeroizing<[u8; LENGTH]>,
    key_len: usize,
}

impl Derived {
    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len]
    }

    pub(super) fn base_nonce(&self) -> &[u8; NONCE] {
        let from = self.key_len;
        self.bytes[from..from + NONCE].try_into().expect("a nonce")
    }

    pub(super) fn commitment(&self) -> &[u8] {
        let from = self.key_len + NONCE;
        &self.bytes[from..from + COMMITMENT]
    }

    pub(super) fn commits_to(&self, commitment: &[u8]) -> bool {
        self.commitment().ct_eq(commitment).into()
    }
}

/// HKDF-Expand (RFC 5869) with SHA-512, over the names of the format and the AEAD, the salt and the context.
pub(super) fn derive(
    scheme: Scheme,
    key: &[u8],
    salt: &[u8; SALT],
    context: &[u8],
) -> Result<Derived, HeaderError> {
    if key.len() != scheme.key_len() {
        return Err(HeaderError::KeyLength {
            got: key.len(),
            wanted: scheme.key_len(),
        });
    }
    let mut bytes = Zeroizing::new([0; LENGTH]);
    let info: [&[u8]; 5] = [
        b"c2sp.org/chunked-encryption@v1+",
        scheme.aead().as_bytes(),
        &[0],
        salt,
        context,
    ];
    expand(key, &info, &mut *bytes);
    Ok(Derived {
        bytes,
        key_len: key.len(),
    })
}
