//! AES-GCM with 96-bit nonces and 128-bit tags (NIST SP 800-38D).

mod portable;

use evener_runtime::Simd;

use crate::variant::Variant;

/// The size of a tag in bytes.
pub const TAG: usize = 16;

/// A key for AES-128-GCM or AES-256-GCM. Any number of threads can use it at once.
///
/// Never use the same key and nonce for two messages: they would reveal each other. So use it only with freshly
/// derived keys and counted nonces, as the formats of this crate and the tunnel of the network stack do.
pub struct Gcm(Engine);

enum Engine {
    #[cfg(target_arch = "x86_64")]
    Kernel(crate::aes::GcmKernel),
    Portable(portable::Portable),
}

/// The message was not encrypted with this key, nonce and associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tag does not fit the message")]
pub struct AuthenticationError;

impl Gcm {
    /// Creates the cipher for a key of 16 or 32 bytes, at SIMD level `simd`.
    ///
    /// # Panics
    /// The key has another length.
    pub fn new(key: &[u8], simd: Simd) -> Self {
        assert!(matches!(key.len(), 16 | 32), "no key of AES-128 or AES-256");
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = crate::aes::Token::new(simd) {
            return Gcm(Engine::Kernel(crate::aes::GcmKernel::new(token, key)));
        }
        let _ = simd;
        Gcm(Engine::Portable(portable::Portable::new(key)))
    }

    /// The implementation in use.
    pub fn variant(&self) -> Variant {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.token().into(),
            Engine::Portable(_) => Variant::Portable,
        }
    }

    /// Encrypts `plain` into `sealed`, which must be longer by [`TAG`].
    ///
    /// # Panics
    /// `sealed` has another length, or `plain` has more than 2^32 - 2 blocks.
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], plain: &[u8], sealed: &mut [u8]) {
        assert_eq!(sealed.len(), plain.len() + TAG, "no room for text and tag");
        let (text, tag) = sealed.split_at_mut(plain.len());
        let computed = match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.seal(nonce, aad, plain, text),
            Engine::Portable(portable) => portable.seal(nonce, aad, plain, text),
        };
        tag.copy_from_slice(&computed);
    }

    /// Decrypts `sealed` into `plain`, which must be shorter by [`TAG`].
    ///
    /// # Errors
    /// The message was altered. `plain` is then zero.
    ///
    /// # Panics
    /// `plain` has another length, or more than 2^32 - 2 blocks.
    pub fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        sealed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), AuthenticationError> {
        assert_eq!(sealed.len(), plain.len() + TAG, "no room for the text");
        let (text, tag) = sealed.split_at(plain.len());
        let genuine = match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Kernel(kernel) => kernel.open(nonce, aad, text, tag, plain),
            Engine::Portable(portable) => portable.open(nonce, aad, text, tag, plain),
        };
        if genuine {
            return Ok(());
        }
        plain.fill(0);
        Err(AuthenticationError)
    }
}

impl std::fmt::Debug for Gcm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gcm({})", self.variant())
    }
}
