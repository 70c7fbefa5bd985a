//! A kernel with AVX-512 and its multiplication of 52 bits (IFMA): the key stream of 16 blocks at once, and the tag of 32.
//!
//! Bound: a quarter round is 12 instructions, so 16 blocks, 1 KiB, take 960, and 64 more to turn registers of words into
//! blocks. The tag of 512 bytes takes about 130, of which 72 multiply. At two such instructions a clock that is 0.65 clocks
//! a byte; a core of Zen 4 or Golden Cove does not begin more of this width.

mod chacha20;
mod poly1305;

use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_storeu_si512};

use evener_runtime::Simd;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use chacha20::Stream;
use poly1305::{Lanes, Limbs};

/// Bytes of text that are encrypted, and then read again for the tag. They stay in the nearest cache.
const STEP: usize = 4 << 10;

/// A key. Exists only where the processor has AVX-512 F, IFMA and what [`Simd::Avx512`] stands for.
pub(super) struct Kernel {
    key: [u32; 8],
}

impl Kernel {
    /// Where `simd` allows it and the processor has it.
    pub(super) fn new(key: &[u8; 32], simd: Simd) -> Option<Self> {
        let has = simd == Simd::Avx512
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512ifma");
        let (words, _) = key.as_chunks::<4>();
        has.then(|| Kernel {
            key: std::array::from_fn(|i| u32::from_le_bytes(words[i])),
        })
    }

    /// Encrypts `plain` into `text`, of the same length, and returns the tag.
    pub(super) fn seal(&self, nonce: &[u8; 12], plain: &[u8], text: &mut [u8]) -> [u8; 16] {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { run::<true>(&Stream::new(&self.key, nonce), plain, text) }
    }

    /// Decrypts `text` into `plain`, of the same length. Returns whether it is genuine.
    pub(super) fn open(
        &self,
        nonce: &[u8; 12],
        text: &[u8],
        tag: &[u8; 16],
        plain: &mut [u8],
    ) -> bool {
        // SAFETY: `self` exists, so the processor has the instructions.
        let computed = unsafe { run::<false>(&Stream::new(&self.key, nonce), text, plain) };
        computed.ct_eq(tag).into()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Adds the key stream to `from`, into `to`, and returns the tag of what is encrypted: `to` if that `SEALS`, else `from`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn run<const SEALS: bool>(stream: &Stream, from: &[u8], to: &mut [u8]) -> [u8; 16] {
    assert_eq!(from.len(), to.len());
    let mut key = stream.block(0);
    let (r, pad) = key.split_at(16);
    let r = Limbs::clamped(r.first_chunk().expect("it has 16 bytes"));
    let pad = u128::from_le_bytes(*pad.first_chunk().expect("48 bytes are left"));
    let whole = from.len() / chacha20::BATCH * chacha20::BATCH;
    let (wide, tail) = from.split_at(whole);
    let (wide_to, tail_to) = to.split_at_mut(whole);
    let mut lanes = (whole > 0).then(|| Lanes::new(r));
    let mut counter = 1;
    for (from, to) in wide.chunks(STEP).zip(wide_to.chunks_mut(STEP)) {
        let lanes = lanes.as_mut().expect("there is a whole batch");
        if !SEALS {
            lanes.add(from);
        }
        counter = stream.apply(counter, from, to);
        if SEALS {
            lanes.add(to);
        }
    }
    stream.apply_tail(counter, tail, tail_to);
    let sum = match lanes {
        Some(lanes) => lanes.sum(),
        None => Limbs::default(),
    };
    let sealed = if SEALS { &*tail_to } else { tail };
    let tag = sum.rest(r, sealed, from.len(), pad);
    key.zeroize();
    tag
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(from: &[u8; 64]) -> __m512i {
    // SAFETY: these are 64 bytes that can be read; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(v: __m512i, to: &mut [u8; 64]) {
    // SAFETY: these are 64 bytes that can be written; the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
}
