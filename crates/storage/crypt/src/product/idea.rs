//! IDEA: 64-bit blocks, 128-bit key, eight rounds and an output transformation.
//!
//! Source: X. Lai, "On the Design and Security of Block Ciphers", 1992; NESSIE's vectors are of the same cipher. A
//! block and a key are words of 16 bits, the first byte of a word the high one.
//!
//! Words are joined by addition modulo 2¹⁶, exclusive or, and multiplication modulo 2¹⁶ + 1 where the word 0 stands
//! for 2¹⁶.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Block;

/// Subkeys of a pass: six for each of eight rounds, four for the output transformation.
pub const SUBKEYS: usize = 52;

/// Subkeys for both directions. Encrypting and decrypting are one computation with different subkeys.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Schedule {
    pub(super) encrypt: [u16; SUBKEYS],
    pub(super) decrypt: [u16; SUBKEYS],
}

impl Schedule {
    /// Expands a key.
    pub fn new(key: &[u8; 16]) -> Self {
        let mut encrypt = [0; SUBKEYS];
        // Eight words of the key, then eight of the key rotated left by 25 bits, and so on.
        let mut rotated = u128::from_be_bytes(*key);
        for eight in encrypt.chunks_mut(8) {
            for (at, subkey) in eight.iter_mut().enumerate() {
                *subkey = (rotated >> (112 - 16 * at)) as u16;
            }
            rotated = rotated.rotate_left(25);
        }
        rotated.zeroize();
        Schedule {
            decrypt: inverse(&encrypt),
            encrypt,
        }
    }

    /// Encrypts each block once.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|b| *b = pass(&self.encrypt, *b));
    }

    /// Undoes [`Schedule::encrypt`].
    pub fn decrypt(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|b| *b = pass(&self.decrypt, *b));
    }
}

/// The product modulo 2¹⁶ + 1, 0 standing for 2¹⁶.
///
/// 2¹⁶ is −1 there, so high half · 2¹⁶ + low half is low − high; and −a · b is 1 − a − b where a or b is 2¹⁶.
#[inline(always)]
fn mul(a: u16, b: u16) -> u16 {
    let product = u32::from(a) * u32::from(b);
    if product == 0 {
        return 1u16.wrapping_sub(a).wrapping_sub(b);
    }
    let (high, low) = ((product >> 16) as u16, product as u16);
    low.wrapping_sub(high).wrapping_add(u16::from(low < high))
}

#[inline(always)]
fn pass(k: &[u16; SUBKEYS], block: Block) -> Block {
    let word = |at: usize| u16::from_be_bytes([block[2 * at], block[2 * at + 1]]);
    let (mut a, mut b, mut c, mut d) = (word(0), word(1), word(2), word(3));
    for k in k[..48].as_chunks::<6>().0 {
        a = mul(a, k[0]);
        b = b.wrapping_add(k[1]);
        c = c.wrapping_add(k[2]);
        d = mul(d, k[3]);
        let s = mul(a ^ c, k[4]);
        let t = mul((b ^ d).wrapping_add(s), k[5]);
        let s = s.wrapping_add(t);
        (a, b, c, d) = (a ^ t, c ^ t, b ^ s, d ^ s);
    }
    let out = [
        mul(a, k[48]),
        c.wrapping_add(k[49]),
        b.wrapping_add(k[50]),
        mul(d, k[51]),
    ];
    let mut block = [0; 8];
    for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(out) {
        *bytes = word.to_be_bytes();
    }
    block
}

/// Subkeys that decrypt: the inverses of the subkeys, in the reverse order of rounds. In the middle rounds the two
/// words to which subkeys are added are exchanged.
fn inverse(k: &[u16; SUBKEYS]) -> [u16; SUBKEYS] {
    let mut out = [0; SUBKEYS];
    for round in 0..9 {
        let from = &k[6 * (8 - round)..];
        let crossed = usize::from(round != 0 && round != 8);
        let to = &mut out[6 * round..];
        to[0] = reciprocal(from[0]);
        to[1] = from[1 + crossed].wrapping_neg();
        to[2] = from[2 - crossed].wrapping_neg();
        to[3] = reciprocal(from[3]);
        if round < 8 {
            to[4..6].copy_from_slice(&k[6 * (8 - round) - 2..][..2]);
        }
    }
    out
}

/// 1 / a modulo the prime 2¹⁶ + 1, that is a to the power of 2¹⁶ − 1.
fn reciprocal(a: u16) -> u16 {
    let (mut power, mut out) = (a, 1);
    for _ in 0..16 {
        out = mul(out, power);
        power = mul(power, power);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let whole = |a: u16| if a == 0 { 1 << 16 } else { u64::from(a) };
        let edges = [0, 1, 2, 3, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];
        let spread = (0..400u16).map(|i| i.wrapping_mul(40_503));
        let words: Vec<u16> = edges.into_iter().chain(spread).collect();
        for &a in &words {
            for &b in &words {
                let expected = (whole(a) * whole(b) % 65_537) as u16;
                assert_eq!(mul(a, b), expected, "{a} * {b}");
            }
        }
    }

    #[test]
    fn every_word_has_a_reciprocal() {
        for a in 0..=u16::MAX {
            assert_eq!(mul(a, reciprocal(a)), 1, "{a}");
        }
    }
}
