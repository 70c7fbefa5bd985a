//! GCM by the crate `aes-gcm`.

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, Aes128Gcm, Aes256Gcm, KeyInit};

/// A key of one of the two lengths. The crate wipes it.
pub(super) enum Portable {
    Aes128(Box<Aes128Gcm>),
    Aes256(Box<Aes256Gcm>),
}

const FITS: &str = "lengths were checked";

impl Portable {
    /// Of a key of 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Portable::Aes128(Box::new(Aes128Gcm::new_from_slice(key).expect(FITS))),
            _ => Portable::Aes256(Box::new(Aes256Gcm::new_from_slice(key).expect(FITS))),
        }
    }

    /// Encrypts `plain` into `text`, of the same length, and returns the tag.
    pub(super) fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        plain: &[u8],
        text: &mut [u8],
    ) -> [u8; 16] {
        let nonce = nonce.into();
        let both = InOutBuf::new(plain, text).expect(FITS);
        let tag = match self {
            Portable::Aes128(gcm) => gcm.encrypt_inout_detached(nonce, aad, both),
            Portable::Aes256(gcm) => gcm.encrypt_inout_detached(nonce, aad, both),
        };
        tag.expect(FITS).into()
    }

    /// Decrypts `text` into `plain`, of the same length. Returns whether it is genuine; if not, `plain` is undefined.
    pub(super) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        text: &[u8],
        tag: &[u8],
        plain: &mut [u8],
    ) -> bool {
        let nonce = nonce.into();
        let tag = tag.try_into().expect(FITS);
        let both = InOutBuf::new(text, plain).expect(FITS);
        match self {
            Portable::Aes128(gcm) => gcm.decrypt_inout_detached(nonce, aad, both, tag),
            Portable::Aes256(gcm) => gcm.decrypt_inout_detached(nonce, aad, both, tag),
        }
        .is_ok()
    }
}
