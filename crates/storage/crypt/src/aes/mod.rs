//! AES kernels in the processor's own instructions: one body, compiled for registers of one, two and four blocks.
//!
//! A body is generic over [`Blocks`]. A value of an implementing type proves that the processor has the instructions.
//! [`compiled!`] picks the body for the [`Token`] that was made with the key.
//!
//! Bound: a core of Zen 3, Zen 4 or Golden Cove begins two `aesenc` a clock in registers of up to 32 bytes, or one in 64,
//! and AES-256 needs 13 for a register beside the first round ([`counters`]). So counter mode cannot exceed 4.92 bytes a
//! clock with VAES, and 2.46 with AES-NI. GCM needs 24 instructions a register on three ports of Golden Cove, the three
//! carry-less products included: 2.0 bytes a clock with AES-NI. On Zen products occupy the units of rounds for longer than
//! a round; AMD does not say for how long.

mod blocks;
mod counters;
mod ctr;
mod gcm;
mod ghash;
mod ni;
mod schedule;
mod vaes256;
mod vaes512;

pub(crate) use ctr::CtrKernel;
pub(crate) use gcm::GcmKernel;

use evener_runtime::Simd;

/// The widest registers of blocks that may be used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token {
    Ni(ni::Ni),
    Vaes256(vaes256::Vaes256),
    Vaes512(vaes512::Vaes512),
}

impl Token {
    /// The widest that `simd` allows and the processor has. `None`: only the portable code can be used.
    pub(crate) fn new(simd: Simd) -> Option<Token> {
        let ni = ni::Ni::new(simd)?;
        let wide = vaes512::Vaes512::new(simd).map(Token::Vaes512);
        let wide = wide.or_else(|| vaes256::Vaes256::new(simd).map(Token::Vaes256));
        Some(wide.unwrap_or(Token::Ni(ni)))
    }
}

/// Defines `unsafe fn $name(token, …)` which runs `$body(token, …)` compiled for the instructions of the token.
///
/// The body is `#[inline(always)]`. The caller of `$name` has to keep the promises of the body.
macro_rules! compiled {
    ($vis:vis unsafe fn $name:ident($($arg:ident : $type:ty),* $(,)?) $(-> $result:ty)? = $body:path;) => {
        $vis unsafe fn $name(token: $crate::aes::Token, $($arg: $type),*) $(-> $result)? {
            use $crate::aes::{Token, ni::Ni, vaes256::Vaes256, vaes512::Vaes512};

            #[target_feature(enable = "sse4.1,aes,pclmulqdq")]
            unsafe fn ni(token: Ni, $($arg: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { $body(token, $($arg),*) }
            }
            #[target_feature(enable = "avx2,aes,pclmulqdq,vaes,vpclmulqdq")]
            unsafe fn vaes256(token: Vaes256, $($arg: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { $body(token, $($arg),*) }
            }
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,aes,pclmulqdq,vaes,vpclmulqdq")]
            unsafe fn vaes512(token: Vaes512, $($arg: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { $body(token, $($arg),*) }
            }
            // SAFETY: the token exists, so the processor has the instructions; the rest is the caller's promise.
            unsafe {
                match token {
                    Token::Ni(token) => ni(token, $($arg),*),
                    Token::Vaes256(token) => vaes256(token, $($arg),*),
                    Token::Vaes512(token) => vaes512(token, $($arg),*),
                }
            }
        }
    };
}
use compiled;
