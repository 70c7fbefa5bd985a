//! ChaCha20-Poly1305 (RFC 8439) without associated data.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod portable;

use evener_runtime::Simd;

use crate::gcm::{AuthenticationError, TAG};

/// A key. Any number of threads can use it at once.
///
/// Never use the same key and nonce for two messages: they would reveal each other.
pub struct ChaCha20Poly1305(Engine);

enum Engine {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Kernel),
    Portable(portable::Portable),
}

impl ChaCha20Poly1305 {
    /// Creates the cipher for a key, at SIMD level `simd`.
    pub fn new(key: &[u8; 32], simd: Simd) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(kernel) = avx512::Kernel::new(key, simd) {
            return ChaCha20Poly1305(Engine::Avx512(kernel));
        }
        let _ = simd;
        ChaCha20Poly1305(Engine::Portable(portable::Portable::new(key)))
    }

    /// The implementation at a level, with its name in results.
    pub fn variant(simd: Simd) -> &'static str {
        match ChaCha20Poly1305::new(&[0; 32], simd).0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512(_) => "avx512-ifma",
            Engine::Portable(_) => "ring",
        }
    }

    /// Encrypts `plain` into `sealed`, which must be longer by [`TAG`].
    ///
    /// # Panics
    /// `sealed` has another length, or `plain` has 256 GiB or more.
    pub fn seal(&self, nonce: &[u8; 12], plain: &[u8], sealed: &mut [u8]) {
        assert_eq!(sealed.len(), plain.len() + TAG, "no room for text and tag");
        assert!(fits(plain.len()), "too long for one nonce");
        let (text, tag) = sealed.split_at_mut(plain.len());
        let computed = match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512(kernel) => kernel.seal(nonce, plain, text),
            Engine::Portable(portable) => portable.seal(nonce, plain, text),
        };
        tag.copy_from_slice(&computed);
    }

    /// Decrypts `sealed` into `plain`, which must be shorter by [`TAG`].
    ///
    /// # Errors
    /// The message was altered. `plain` is then zero.
    ///
    /// # Panics
    /// `plain` has another length, or 256 GiB or more.
    pub fn open(
        &self,
        nonce: &[u8; 12],
        sealed: &[u8],
        plain: &mut [u8],
    ) -> Result<(), AuthenticationError> {
        assert_eq!(sealed.len(), plain.len() + TAG, "no room for the text");
        assert!(fits(plain.len()), "too long for one nonce");
        let (text, tag) = sealed.split_at(plain.len());
        let tag = tag.try_into().expect("a tag has 16 bytes");
        let genuine = match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512(kernel) => kernel.open(nonce, text, tag, plain),
            Engine::Portable(portable) => portable.open(nonce, text, tag, plain),
        };
        if genuine {
            return Ok(());
        }
        plain.fill(0);
        Err(AuthenticationError)
    }
}

/// Blocks are counted in 32 bits, of which the first is the tag's key.
fn fits(bytes: usize) -> bool {
    (bytes as u64) < u64::from(u32::MAX) * 64
}
