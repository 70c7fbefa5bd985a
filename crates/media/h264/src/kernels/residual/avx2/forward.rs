//! The forward 4x4 transform, 4 blocks at a time.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::super::{Block, ChromaBlocks, LumaBlocks};
use super::memory::{load_16, read_4, store_32};
use super::transpose::{columns_to_blocks, rows_to_columns};

/// The transform of 4 numbers, one in each register.
#[inline]
#[target_feature(enable = "avx2")]
fn core_4([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (s03, d03) = (_mm256_add_epi16(a, d), _mm256_sub_epi16(a, d));
    let (s12, d12) = (_mm256_add_epi16(b, c), _mm256_sub_epi16(b, c));
    [
        _mm256_add_epi16(s03, s12),
        _mm256_add_epi16(_mm256_add_epi16(d03, d03), d12),
        _mm256_sub_epi16(s03, s12),
        _mm256_sub_epi16(d03, _mm256_add_epi16(d12, d12)),
    ]
}

/// The coefficients of 4 blocks from the rows of their differences side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn core_4x4(rows: [__m256i; 4]) -> [__m256i; 4] {
    columns_to_blocks(core_4(rows_to_columns(core_4(rows))))
}

/// The difference of 16 samples.
#[inline]
#[target_feature(enable = "avx2")]
fn difference(s: __m128i, p: __m128i) -> __m256i {
    _mm256_sub_epi16(_mm256_cvtepu8_epi16(s), _mm256_cvtepu8_epi16(p))
}

pub fn forward_4x4(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut Block) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut Block) {
        let row = |y: usize| {
            // SAFETY: the caller checked 4 rows of 4 bytes.
            let (s, p) = unsafe { (read_4(s, y * s_stride), read_4(p, y * p_stride)) };
            difference(_mm_cvtsi32_si128(s), _mm_cvtsi32_si128(p))
        };
        let [block, ..] = core_4x4([row(0), row(1), row(2), row(3)]);
        store_32(out, block);
    }
    check(s, s_stride, 4, 4);
    check(p, p_stride, 4, 4);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(s, s_stride, p, p_stride, out) }
}

pub fn forward_16x16(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut LumaBlocks) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut LumaBlocks) {
        // In coding order, blocks of a row are two of one quarter and two of the next.
        for (first, y0) in [(0, 0), (2, 4), (8, 8), (10, 12)] {
            let row = |y: usize| {
                let y = y0 + y;
                // SAFETY: the caller checked 16 rows of 16 bytes.
                let (s, p) = unsafe { (load_16(s, y * s_stride), load_16(p, y * p_stride)) };
                difference(s, p)
            };
            let blocks = core_4x4([row(0), row(1), row(2), row(3)]);
            for (i, block) in blocks.iter().enumerate() {
                store_32(&mut out[first + [0, 1, 4, 5][i]], *block);
            }
        }
    }
    check(s, s_stride, 16, 16);
    check(p, p_stride, 16, 16);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(s, s_stride, p, p_stride, out) }
}

pub fn forward_chroma(
    s: &[u8],
    s_stride: usize,
    p: &[u8],
    p_stride: usize,
    out: &mut ChromaBlocks,
) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut ChromaBlocks) {
        // The components one after the other.
        let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        for half in 0..2 {
            let row = |y: usize| {
                let y = 4 * half + y;
                // SAFETY: the caller checked 8 rows of 16 bytes.
                let (s, p) = unsafe { (load_16(s, y * s_stride), load_16(p, y * p_stride)) };
                difference(_mm_shuffle_epi8(s, apart), _mm_shuffle_epi8(p, apart))
            };
            let [cb_0, cb_1, cr_0, cr_1] = core_4x4([row(0), row(1), row(2), row(3)]);
            store_32(&mut out[0][2 * half], cb_0);
            store_32(&mut out[0][2 * half + 1], cb_1);
            store_32(&mut out[1][2 * half], cr_0);
            store_32(&mut out[1][2 * half + 1], cr_1);
        }
    }
    check(s, s_stride, 16, 8);
    check(p, p_stride, 16, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(s, s_stride, p, p_stride, out) }
}
