//! By the crate `ring`.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};

/// A key. The crate does not wipe it.
pub(super) struct Portable(Box<LessSafeKey>);

impl Portable {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has 32 bytes");
        Portable(Box::new(LessSafeKey::new(key)))
    }

    /// Encrypts `plain` into `text`, of the same length, and returns the tag.
    pub(super) fn seal(&self, nonce: &[u8; 12], plain: &[u8], text: &mut [u8]) -> [u8; 16] {
        text.copy_from_slice(plain);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::empty(), text);
        let tag = tag.expect("the length was checked");
        tag.as_ref().try_into().expect("a tag has 16 bytes")
    }

    /// Decrypts `text` into `plain`, of the same length. Returns whether it is genuine; if not, `plain` is undefined.
    pub(super) fn open(
        &self,
        nonce: &[u8; 12],
        text: &[u8],
        tag: &[u8; 16],
        plain: &mut [u8],
    ) -> bool {
        plain.copy_from_slice(text);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = Tag::from(*tag);
        let opened = self
            .0
            .open_in_place_separate_tag(nonce, Aad::empty(), tag, plain, 0..);
        opened.is_ok()
    }
}
