//! The key stream (RFC 8439, 2.3 and 2.4). A register has the same word of 16 blocks.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::{load, store};

/// Bytes of 16 blocks.
pub(super) const BATCH: usize = 16 * 64;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// The word that counts blocks.
const COUNTER: usize = 12;
/// The state of block 0.
pub(super) struct Stream([u32; 16]);

impl Stream {
    pub(super) fn new(key: &[u32; 8], nonce: &[u8; 12]) -> Self {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&CONSTANTS);
        state[4..COUNTER].copy_from_slice(key);
        let (words, _) = nonce.as_chunks::<4>();
        for (to, word) in state[COUNTER + 1..].iter_mut().zip(words) {
            *to = u32::from_le_bytes(*word);
        }
        Stream(state)
    }

    /// A block by itself.
    pub(super) fn block(&self, counter: u32) -> [u8; 64] {
        let mut start = self.0;
        start[COUNTER] = counter;
        let mut x = start;
        for _ in 0..10 {
            for shift in [0, 1] {
                for i in 0..4 {
                    let place = |row: usize| 4 * row + (i + shift * row) % 4;
                    let [a, b, c, d] = [place(0), place(1), place(2), place(3)];
                    for (to, from, turned, by) in
                        [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]
                    {
                        x[to] = x[to].wrapping_add(x[from]);
                        x[turned] = (x[turned] ^ x[to]).rotate_left(by);
                    }
                }
            }
        }
        let mut block = [0; 64];
        for (bytes, (x, start)) in block.chunks_mut(4).zip(x.iter().zip(&start)) {
            bytes.copy_from_slice(&x.wrapping_add(*start).to_le_bytes());
        }
        x.zeroize();
        start.zeroize();
        block
    }

    /// Adds the stream from block `counter` on to `from`, into `to`, both whole batches. Returns the counter after these.
    #[target_feature(enable = "avx512f")]
    pub(super) fn apply(&self, mut counter: u32, from: &[u8], to: &mut [u8]) -> u32 {
        let (from, _) = from.as_chunks::<BATCH>();
        let (to, _) = to.as_chunks_mut::<BATCH>();
        for (from, to) in from.iter().zip(to) {
            self.batch(counter, from, to);
            counter = counter.wrapping_add(16);
        }
        counter
    }

    /// The same for less than a batch.
    #[target_feature(enable = "avx512f")]
    pub(super) fn apply_tail(&self, counter: u32, from: &[u8], to: &mut [u8]) {
        if from.is_empty() {
            return;
        }
        let mut stream = [0; BATCH];
        self.batch(counter, &[0; BATCH], &mut stream);
        for ((to, from), key) in to.iter_mut().zip(from).zip(&stream) {
            *to = from ^ key;
        }
        stream.zeroize();
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn batch(&self, counter: u32, from: &[u8; BATCH], to: &mut [u8; BATCH]) {
        let word = |i: usize| match i {
            COUNTER => {
                let numbers =
                    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                _mm512_add_epi32(_mm512_set1_epi32(counter.cast_signed()), numbers)
            }
            _ => _mm512_set1_epi32(self.0[i].cast_signed()),
        };
        let row = |i: usize| [word(i), word(i + 1), word(i + 2), word(i + 3)];
        let mut rows = [row(0), row(4), row(8), row(12)];
        for _ in 0..10 {
            rows = rounds(rows);
        }
        for (i, words) in rows.iter_mut().enumerate() {
            let start = row(4 * i);
            for (k, word) in words.iter_mut().enumerate() {
                *word = _mm512_add_epi32(*word, start[k]);
            }
            *words = quads(*words);
        }
        let [first, second, third, fourth] = rows;
        let (from, _) = from.as_chunks::<64>();
        let (to, _) = to.as_chunks_mut::<64>();
        for i in 0..4 {
            let (a, b, c, d) = (first[i], second[i], third[i], fourth[i]);
            let low = [
                _mm512_shuffle_i32x4::<0x44>(a, b),
                _mm512_shuffle_i32x4::<0x44>(c, d),
            ];
            let high = [
                _mm512_shuffle_i32x4::<0xee>(a, b),
                _mm512_shuffle_i32x4::<0xee>(c, d),
            ];
            let blocks = [
                _mm512_shuffle_i32x4::<0x88>(low[0], low[1]),
                _mm512_shuffle_i32x4::<0xdd>(low[0], low[1]),
                _mm512_shuffle_i32x4::<0x88>(high[0], high[1]),
                _mm512_shuffle_i32x4::<0xdd>(high[0], high[1]),
            ];
            for (k, block) in blocks.iter().enumerate() {
                let at = 4 * k + i;
                store(_mm512_xor_si512(*block, load(&from[at])), &mut to[at]);
            }
        }
    }
}

/// A round of columns and one of diagonals. Rows are turned so that the diagonals are columns.
#[target_feature(enable = "avx512f")]
#[inline]
fn rounds([a, b, c, d]: [[__m512i; 4]; 4]) -> [[__m512i; 4]; 4] {
    let [a, [b0, b1, b2, b3], [c0, c1, c2, c3], [d0, d1, d2, d3]] = quarters([a, b, c, d]);
    let turned = [a, [b1, b2, b3, b0], [c2, c3, c0, c1], [d3, d0, d1, d2]];
    let [a, [b1, b2, b3, b0], [c2, c3, c0, c1], [d3, d0, d1, d2]] = quarters(turned);
    [a, [b0, b1, b2, b3], [c0, c1, c2, c3], [d0, d1, d2, d3]]
}

/// Four quarter rounds, step by step, since each step waits for the one before.
#[target_feature(enable = "avx512f")]
#[inline]
fn quarters(mut rows: [[__m512i; 4]; 4]) -> [[__m512i; 4]; 4] {
    half::<16, 12>(&mut rows);
    half::<8, 7>(&mut rows);
    rows
}

#[target_feature(enable = "avx512f")]
#[inline]
fn half<const FIRST: i32, const SECOND: i32>([a, b, c, d]: &mut [[__m512i; 4]; 4]) {
    for i in 0..4 {
        a[i] = _mm512_add_epi32(a[i], b[i]);
    }
    for i in 0..4 {
        d[i] = _mm512_rol_epi32::<FIRST>(_mm512_xor_si512(d[i], a[i]));
    }
    for i in 0..4 {
        c[i] = _mm512_add_epi32(c[i], d[i]);
    }
    for i in 0..4 {
        b[i] = _mm512_rol_epi32::<SECOND>(_mm512_xor_si512(b[i], c[i]));
    }
}

/// Four words of blocks 0, 4, 8 and 12, then of 1, 5, 9 and 13, and so on.
#[target_feature(enable = "avx512f")]
#[inline]
fn quads(words: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = words;
    let low = [_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d)];
    let high = [_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d)];
    [
        _mm512_unpacklo_epi64(low[0], low[1]),
        _mm512_unpackhi_epi64(low[0], low[1]),
        _mm512_unpacklo_epi64(high[0], high[1]),
        _mm512_unpackhi_epi64(high[0], high[1]),
    ]
}
