//! Skipjack: 64-bit blocks, 80-bit key, 32 rounds.
//!
//! Source: "SKIPJACK and KEA Algorithm Specifications", version 2.0, NIST, 1998. A block is four words of 16 bits, the
//! first byte of a word the high one.
//!
//! In the specification every word moves by one place in a round. Here words stay in place and their names move: the
//! word named first is one place further left after each round, and back after four.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Block;

/// Bytes of a key.
pub const KEY_BYTES: usize = 10;

/// The substitution of a byte, from the specification.
#[rustfmt::skip]
pub(super) static F: [u8; 256] = [
    0xa3, 0xd7, 0x09, 0x83, 0xf8, 0x48, 0xf6, 0xf4, 0xb3, 0x21, 0x15, 0x78, 0x99, 0xb1, 0xaf, 0xf9,
    0xe7, 0x2d, 0x4d, 0x8a, 0xce, 0x4c, 0xca, 0x2e, 0x52, 0x95, 0xd9, 0x1e, 0x4e, 0x38, 0x44, 0x28,
    0x0a, 0xdf, 0x02, 0xa0, 0x17, 0xf1, 0x60, 0x68, 0x12, 0xb7, 0x7a, 0xc3, 0xe9, 0xfa, 0x3d, 0x53,
    0x96, 0x84, 0x6b, 0xba, 0xf2, 0x63, 0x9a, 0x19, 0x7c, 0xae, 0xe5, 0xf5, 0xf7, 0x16, 0x6a, 0xa2,
    0x39, 0xb6, 0x7b, 0x0f, 0xc1, 0x93, 0x81, 0x1b, 0xee, 0xb4, 0x1a, 0xea, 0xd0, 0x91, 0x2f, 0xb8,
    0x55, 0xb9, 0xda, 0x85, 0x3f, 0x41, 0xbf, 0xe0, 0x5a, 0x58, 0x80, 0x5f, 0x66, 0x0b, 0xd8, 0x90,
    0x35, 0xd5, 0xc0, 0xa7, 0x33, 0x06, 0x65, 0x69, 0x45, 0x00, 0x94, 0x56, 0x6d, 0x98, 0x9b, 0x76,
    0x97, 0xfc, 0xb2, 0xc2, 0xb0, 0xfe, 0xdb, 0x20, 0xe1, 0xeb, 0xd6, 0xe4, 0xdd, 0x47, 0x4a, 0x1d,
    0x42, 0xed, 0x9e, 0x6e, 0x49, 0x3c, 0xcd, 0x43, 0x27, 0xd2, 0x07, 0xd4, 0xde, 0xc7, 0x67, 0x18,
    0x89, 0xcb, 0x30, 0x1f, 0x8d, 0xc6, 0x8f, 0xaa, 0xc8, 0x74, 0xdc, 0xc9, 0x5d, 0x5c, 0x31, 0xa4,
    0x70, 0x88, 0x61, 0x2c, 0x9f, 0x0d, 0x2b, 0x87, 0x50, 0x82, 0x54, 0x64, 0x26, 0x7d, 0x03, 0x40,
    0x34, 0x4b, 0x1c, 0x73, 0xd1, 0xc4, 0xfd, 0x3b, 0xcc, 0xfb, 0x7f, 0xab, 0xe6, 0x3e, 0x5b, 0xa5,
    0xad, 0x04, 0x23, 0x9c, 0x14, 0x51, 0x22, 0xf0, 0x29, 0x79, 0x71, 0x7e, 0xff, 0x8c, 0x0e, 0xe2,
    0x0c, 0xef, 0xbc, 0x72, 0x75, 0x6f, 0x37, 0xa1, 0xec, 0xd3, 0x8e, 0x62, 0x8b, 0x86, 0x10, 0xe8,
    0x08, 0x77, 0x11, 0xbe, 0x92, 0x4f, 0x24, 0xc5, 0x32, 0x36, 0x9d, 0xcf, 0xf3, 0xa6, 0xbb, 0xac,
    0x5e, 0x6c, 0xa9, 0x13, 0x57, 0x25, 0xb5, 0xe3, 0xbd, 0xa8, 0x3a, 0x01, 0x05, 0x59, 0x2a, 0x46,
];

/// Rounds by number, so that the indices of words and of key bytes are constants.
macro_rules! rounds {
    ($round:ident $tables:expr, $w:ident; $($number:literal)*) => {
        $($round::<$number>($tables, &mut $w);)*
    };
}
/// F of every byte combined with a byte of the key: a table for each byte of the key.
type Tables = [[u8; 256]; KEY_BYTES];

/// The key and its tables.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Schedule {
    pub(super) key: [u8; KEY_BYTES],
    tables: Tables,
}

impl Schedule {
    /// Expands a key.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        let mut schedule = Schedule {
            key: *key,
            tables: [[0; 256]; KEY_BYTES],
        };
        for (table, key) in schedule.tables.iter_mut().zip(key) {
            for (x, out) in table.iter_mut().enumerate() {
                *out = F[x ^ usize::from(*key)];
            }
        }
        schedule
    }

    /// Encrypts each block once.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let mut w = words(block);
            rounds!(encrypt_a &self.tables, w; 0 1 2 3 4 5 6 7);
            rounds!(encrypt_b &self.tables, w; 8 9 10 11 12 13 14 15);
            rounds!(encrypt_a &self.tables, w; 16 17 18 19 20 21 22 23);
            rounds!(encrypt_b &self.tables, w; 24 25 26 27 28 29 30 31);
            *block = bytes(w);
        }
    }

    /// Undoes [`Schedule::encrypt`].
    pub fn decrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let mut w = words(block);
            rounds!(decrypt_b &self.tables, w; 31 30 29 28 27 26 25 24);
            rounds!(decrypt_a &self.tables, w; 23 22 21 20 19 18 17 16);
            rounds!(decrypt_b &self.tables, w; 15 14 13 12 11 10 9 8);
            rounds!(decrypt_a &self.tables, w; 7 6 5 4 3 2 1 0);
            *block = bytes(w);
        }
    }
}

/// A word as its high and low byte, each in a register of its own.
type Word = [usize; 2];

#[inline(always)]
fn words(block: &Block) -> [Word; 4] {
    let byte = |at: usize| usize::from(block[at]);
    let word = |at: usize| [byte(at), byte(at + 1)];
    [word(0), word(2), word(4), word(6)]
}

#[inline(always)]
fn bytes(w: [Word; 4]) -> Block {
    let byte = |word: usize, half: usize| w[word][half] as u8;
    let (high, low) = (|word| byte(word, 0), |word| byte(word, 1));
    [
        high(0),
        low(0),
        high(1),
        low(1),
        high(2),
        low(2),
        high(3),
        low(3),
    ]
}

/// The index of the word named first in a round, and of the words before and after it.
const fn places(round: usize) -> (usize, usize, usize) {
    (3 - (round + 3) % 4, 3 - round % 4, 3 - (round + 2) % 4)
}

/// Combines the word at `at` with the word at `with` and the number of the round, counted from one.
#[inline(always)]
fn mix<const R: usize>(w: &mut [Word; 4], at: usize, with: usize) {
    w[at][0] ^= w[with][0];
    w[at][1] ^= w[with][1] ^ (R + 1);
}

/// Stepping rule A.
#[inline(always)]
fn encrypt_a<const R: usize>(tables: &Tables, w: &mut [Word; 4]) {
    let (first, before, _) = places(R);
    w[first] = g::<R>(tables, w[first]);
    mix::<R>(w, before, first);
}

/// Stepping rule B.
#[inline(always)]
fn encrypt_b<const R: usize>(tables: &Tables, w: &mut [Word; 4]) {
    let (first, _, after) = places(R);
    mix::<R>(w, after, first);
    w[first] = g::<R>(tables, w[first]);
}

/// Undoes stepping rule A.
#[inline(always)]
fn decrypt_a<const R: usize>(tables: &Tables, w: &mut [Word; 4]) {
    let (first, before, _) = places(R);
    mix::<R>(w, before, first);
    w[first] = g_inverse::<R>(tables, w[first]);
}

/// Undoes stepping rule B.
#[inline(always)]
fn decrypt_b<const R: usize>(tables: &Tables, w: &mut [Word; 4]) {
    let (first, _, after) = places(R);
    w[first] = g_inverse::<R>(tables, w[first]);
    mix::<R>(w, after, first);
}

/// The permutation G of a round.
#[inline(always)]
fn g<const R: usize>(tables: &Tables, [mut high, mut low]: Word) -> Word {
    high ^= usize::from(tables[4 * R % KEY_BYTES][low]);
    low ^= usize::from(tables[(4 * R + 1) % KEY_BYTES][high]);
    high ^= usize::from(tables[(4 * R + 2) % KEY_BYTES][low]);
    low ^= usize::from(tables[(4 * R + 3) % KEY_BYTES][high]);
    [high, low]
}

#[inline(always)]
fn g_inverse<const R: usize>(tables: &Tables, [mut high, mut low]: Word) -> Word {
    low ^= usize::from(tables[(4 * R + 3) % KEY_BYTES][high]);
    high ^= usize::from(tables[(4 * R + 2) % KEY_BYTES][low]);
    low ^= usize::from(tables[(4 * R + 1) % KEY_BYTES][high]);
    high ^= usize::from(tables[4 * R % KEY_BYTES][low]);
    [high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_is_a_permutation() {
        let mut seen = F;
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..=255));
    }

    #[test]
    fn names_move_one_place_left_a_round() {
        let all: Vec<_> = (0..4).map(places).collect();
        assert_eq!(all, [(0, 3, 1), (3, 2, 0), (2, 1, 3), (1, 0, 2)]);
    }
}
