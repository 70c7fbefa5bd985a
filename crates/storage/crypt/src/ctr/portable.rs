//! Counter mode by the block cipher of the crate `aes`.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

/// Blocks that are encrypted in one call, enough for the parallelism of every backend of the crate.
const RUN: usize = 32;

/// A key of one of the three lengths. The crate wipes it.
pub(super) enum Portable {
    Aes128(Box<aes::Aes128>),
    Aes192(Box<aes::Aes192>),
    Aes256(Box<aes::Aes256>),
}

impl Portable {
    /// Of a key of 16, 24 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        let fits = "the length was checked";
        match key.len() {
            16 => Portable::Aes128(Box::new(aes::Aes128::new_from_slice(key).expect(fits))),
            24 => Portable::Aes192(Box::new(aes::Aes192::new_from_slice(key).expect(fits))),
            _ => Portable::Aes256(Box::new(aes::Aes256::new_from_slice(key).expect(fits))),
        }
    }

    /// Adds the key stream from block `counter` on to whole blocks.
    pub(super) fn apply(&self, counter: u128, buf: &mut [u8]) {
        let mut stream = [Array::from([0u8; 16]); RUN];
        for (i, run) in buf.chunks_mut(16 * RUN).enumerate() {
            let counter = counter.wrapping_add((i * RUN) as u128);
            let stream = &mut stream[..run.len() / 16];
            for (j, block) in stream.iter_mut().enumerate() {
                *block = Array::from(counter.wrapping_add(j as u128).to_be_bytes());
            }
            match self {
                Portable::Aes128(aes) => aes.encrypt_blocks(stream),
                Portable::Aes192(aes) => aes.encrypt_blocks(stream),
                Portable::Aes256(aes) => aes.encrypt_blocks(stream),
            }
            for (bytes, key) in run.chunks_exact_mut(16).zip(stream) {
                for (byte, key) in bytes.iter_mut().zip(key) {
                    *byte ^= *key;
                }
            }
        }
        for block in &mut stream {
            block.as_mut_slice().zeroize();
        }
    }
}
