//! Implementations of AES.

use std::fmt;

use evener_runtime::Simd;

#[cfg(target_arch = "x86_64")]
use crate::aes::Token;

/// An implementation of AES. It follows from the CPU and the [`Simd`] level for which a key was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// The crates `aes` and `aes-gcm`, which run everywhere and choose instructions themselves.
    Portable,
    /// x86 with AES-NI and PCLMULQDQ, a block at a time.
    AesNi,
    /// x86 with VAES and VPCLMULQDQ, two blocks at a time.
    Vaes256,
    /// x86 with VAES, VPCLMULQDQ and AVX-512, four blocks at a time.
    Vaes512,
}

impl Variant {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Portable => "portable",
            Variant::AesNi => "aes-ni",
            Variant::Vaes256 => "vaes-256",
            Variant::Vaes512 => "vaes-512",
        }
    }

    /// The fastest implementation that `simd` allows on this CPU.
    pub fn of(simd: Simd) -> Variant {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = Token::new(simd) {
            return token.into();
        }
        let _ = simd;
        Variant::Portable
    }
}

#[cfg(target_arch = "x86_64")]
impl From<Token> for Variant {
    fn from(token: Token) -> Variant {
        match token {
            Token::Ni(_) => Variant::AesNi,
            Token::Vaes256(_) => Variant::Vaes256,
            Token::Vaes512(_) => Variant::Vaes512,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
