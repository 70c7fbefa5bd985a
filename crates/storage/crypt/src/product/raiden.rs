//! Raiden: 64-bit blocks, 128-bit key, sixteen cycles of two Feistel rounds.
//!
//! Source: J. Polimón, J. C. Hernández-Castro, J. M. Estévez-Tapiador, A. Ribagorda, "Automated design of a lightweight
//! block cipher with Genetic Programming", 2008. It defines the cipher on words of 32 bits without an order of bytes.
//! Here words are little-endian, as in the authors' program on the processors that it was written for.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Block;

/// Cycles of a pass, each with one subkey for both its rounds.
pub const CYCLES: usize = 16;

/// The subkeys.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Schedule {
    pub(super) subkeys: [u32; CYCLES],
}

impl Schedule {
    /// Expands a key.
    pub fn new(key: &[u8; 16]) -> Self {
        let mut k: [u32; 4] = [0; 4];
        for (word, bytes) in k.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut subkeys = [0; CYCLES];
        for (cycle, subkey) in subkeys.iter_mut().enumerate() {
            // A shift counts modulo 32.
            let mixed = k[2].wrapping_add(k[3]) ^ k[0].wrapping_shl(k[2]);
            *subkey = k[0].wrapping_add(k[1]).wrapping_add(mixed);
            k[cycle % 4] = *subkey;
        }
        k.zeroize();
        Schedule { subkeys }
    }

    /// Encrypts each block once.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let (mut a, mut b) = words(block);
            for &subkey in &self.subkeys {
                a = a.wrapping_add(mix(subkey, b));
                b = b.wrapping_add(mix(subkey, a));
            }
            *block = bytes(a, b);
        }
    }

    /// Undoes [`Schedule::encrypt`].
    pub fn decrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let (mut a, mut b) = words(block);
            for &subkey in self.subkeys.iter().rev() {
                b = b.wrapping_sub(mix(subkey, a));
                a = a.wrapping_sub(mix(subkey, b));
            }
            *block = bytes(a, b);
        }
    }
}

/// The round function.
#[inline(always)]
fn mix(subkey: u32, word: u32) -> u32 {
    let sum = subkey.wrapping_add(word);
    (sum << 9) ^ subkey.wrapping_sub(word) ^ (sum >> 14)
}

#[inline(always)]
fn words(block: &Block) -> (u32, u32) {
    let both = u64::from_le_bytes(*block);
    (both as u32, (both >> 32) as u32)
}

#[inline(always)]
fn bytes(a: u32, b: u32) -> Block {
    (u64::from(a) | u64::from(b) << 32).to_le_bytes()
}
