//! Deriving the key of a file from the key of many files.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::scheme::COMMITMENT;
use super::{HeaderError, SALT, Scheme};

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
    for number in 1..=(LENGTH / 64) as u8 {
        // The crate `hkdf` refuses keys that are shorter than the hash, as all are here.
        let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
        let done = 64 * usize::from(number - 1);
        mac.update(&bytes[done.saturating_sub(64)..done]);
        mac.update(b"c2sp.org/chunked-encryption@v1+");
        mac.update(scheme.aead().as_bytes());
        mac.update(&[0]);
        mac.update(salt);
        mac.update(context);
        mac.update(&[number]);
        let block = Zeroizing::new(<[u8; 64]>::from(mac.finalize().into_bytes()));
        bytes[done..done + 64].copy_from_slice(&*block);
    }
    Ok(Derived {
        bytes,
        key_len: key.len(),
    })
}
