//! Scaling, the inverse 4x4 transform and addition to the prediction, 4 blocks at a time.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::super::quantiser::Quantiser;
use super::super::{Block, ChromaBlocks, ChromaDc, LumaBlocks};
use super::memory::{load_8, load_16, load_32, read_4, store_8, store_8_high, store_16, write_4};
use super::transpose::{blocks_to_columns, rows_to_columns};

/// The inverse transform of 4 numbers, one in each register.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_4([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (e0, e1) = (_mm256_add_epi16(a, c), _mm256_sub_epi16(a, c));
    let e2 = _mm256_sub_epi16(_mm256_srai_epi16::<1>(b), d);
    let e3 = _mm256_add_epi16(b, _mm256_srai_epi16::<1>(d));
    [
        _mm256_add_epi16(e0, e3),
        _mm256_add_epi16(e1, e2),
        _mm256_sub_epi16(e1, e2),
        _mm256_sub_epi16(e0, e3),
    ]
}

/// (r + 32) / 64.
#[inline]
#[target_feature(enable = "avx2")]
fn round(r: __m256i) -> __m256i {
    _mm256_srai_epi16::<6>(_mm256_add_epi16(r, _mm256_set1_epi16(32)))
}

/// The rows of the residual of 4 scaled blocks side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_4x4(blocks: [__m256i; 4]) -> [__m256i; 4] {
    let columns = inverse_4(blocks_to_columns(blocks));
    let [a, b, c, d] = inverse_4(rows_to_columns(columns));
    [round(a), round(b), round(c), round(d)]
}

/// All bits, if bit `b` of `coded` is set.
#[inline]
#[target_feature(enable = "avx2")]
fn where_coded(coded: u32, b: usize) -> __m256i {
    _mm256_set1_epi32(-((coded >> b & 1) as i32))
}

/// 4 blocks scaled, or zeros where `coded` has no bit.
#[inline]
#[target_feature(enable = "avx2")]
fn scaled(blocks: [&Block; 4], coded: u32, scale: __m256i) -> [__m256i; 4] {
    let mut scaled = [_mm256_setzero_si256(); 4];
    for (b, scaled) in scaled.iter_mut().enumerate() {
        let scale = _mm256_and_si256(scale, where_coded(coded, b));
        *scaled = _mm256_mullo_epi16(load_32(blocks[b]), scale);
    }
    scaled
}

/// The factors of all coefficients but DC.
#[inline]
#[target_feature(enable = "avx2")]
fn scale_of_ac(q: &Quantiser) -> __m256i {
    let not_dc = _mm256_setr_epi32(-0x1_0000, -1, -1, -1, -1, -1, -1, -1);
    _mm256_and_si256(load_32(&q.scale), not_dc)
}

/// Puts DC into 4 blocks that have none.
#[inline]
#[target_feature(enable = "avx2")]
fn with_dc(blocks: [__m256i; 4], dc: &[i16; 4]) -> [__m256i; 4] {
    let mut all = blocks;
    for (b, block) in all.iter_mut().enumerate() {
        let dc = _mm256_zextsi128_si256(_mm_cvtsi32_si128(i32::from(dc[b] as u16)));
        *block = _mm256_or_si256(*block, dc);
    }
    all
}

/// Adds the rows of 4 blocks, two beside two over two, to 8x8 samples.
///
/// # Safety
/// 8 rows of 8 bytes lie in `dst` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_rows(rows: [__m256i; 4], dst: &mut [u8], at: usize, stride: usize) {
    for (i, rows) in rows.as_chunks::<2>().0.iter().enumerate() {
        let upper = at + 2 * i * stride;
        let lower = upper + 4 * stride;
        // SAFETY: the caller's; the rows are 0 to 3 at `upper`, 4 to 7 at `lower`.
        unsafe {
            let load = |y: usize| {
                let (upper, lower) = (load_8(dst, upper + y), load_8(dst, lower + y));
                _mm256_cvtepu8_epi16(_mm_unpacklo_epi64(upper, lower))
            };
            let first = _mm256_add_epi16(load(0), rows[0]);
            let second = _mm256_add_epi16(load(stride), rows[1]);
            let both = _mm256_packus_epi16(first, second);
            let (left, right) = (
                _mm256_castsi256_si128(both),
                _mm256_extracti128_si256::<1>(both),
            );
            store_8(dst, upper, left);
            store_8_high(dst, upper + stride, left);
            store_8(dst, lower, right);
            store_8_high(dst, lower + stride, right);
        }
    }
}

/// The rows of the residual of 4 blocks that have DC alone: all are the same.
#[inline]
#[target_feature(enable = "avx2")]
fn flat(dc: &[i16; 4]) -> __m256i {
    let word = |b: usize| i64::from(dc[b] as u16) << (16 * b);
    let dc = word(0) | word(1) | word(2) | word(3);
    let spread = _mm256_setr_epi8(
        0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7,
        6, 7,
    );
    round(_mm256_shuffle_epi8(_mm256_set1_epi64x(dc), spread))
}

pub fn add_4x4(levels: &Block, q: &Quantiser, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(levels: &Block, q: &Quantiser, dst: &mut [u8], stride: usize) {
        let zero = _mm256_setzero_si256();
        let block = _mm256_mullo_epi16(load_32(levels), load_32(&q.scale));
        let rows = inverse_4x4([block, zero, zero, zero]);
        for (y, row) in rows.into_iter().enumerate() {
            // SAFETY: the caller checked 4 rows of 4 bytes.
            unsafe {
                let samples = _mm_cvtsi32_si128(read_4(dst, y * stride));
                let row = _mm256_castsi256_si128(row);
                let sum = _mm_add_epi16(_mm_cvtepu8_epi16(samples), row);
                let sum = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
                write_4(dst, y * stride, sum);
            }
        }
    }
    check(dst, stride, 4, 4);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(levels, q, dst, stride) }
}

pub fn add_16x16(levels: &LumaBlocks, coded: u32, q: &Quantiser, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(levels: &LumaBlocks, coded: u32, q: &Quantiser, dst: &mut [u8], stride: usize) {
        let scale = load_32(&q.scale);
        for (i, [a, b, c, d]) in levels.as_chunks().0.iter().enumerate() {
            let coded = coded >> (4 * i) & 15;
            if coded != 0 {
                let blocks = scaled([a, b, c, d], coded, scale);
                let at = i / 2 * 8 * stride + i % 2 * 8;
                // SAFETY: the caller checked 16 rows of 16 bytes, and this is a quarter of them.
                unsafe { add_rows(inverse_4x4(blocks), dst, at, stride) }
            }
        }
    }
    check(dst, stride, 16, 16);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(levels, coded, q, dst, stride) }
}

pub fn add_16x16_dc(
    levels: &LumaBlocks,
    coded: u32,
    dc: &Block,
    q: &Quantiser,
    dst: &mut [u8],
    stride: usize,
) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(
        levels: &LumaBlocks,
        coded: u32,
        dc: &Block,
        q: &Quantiser,
        dst: &mut [u8],
        stride: usize,
    ) {
        let scale = scale_of_ac(q);
        let (dcs, _) = dc.as_chunks();
        for (i, [a, b, c, d]) in levels.as_chunks().0.iter().enumerate() {
            let dc = &dcs[i];
            let coded = coded >> (4 * i) & 15;
            let rows = if coded == 0 {
                [flat(dc); 4]
            } else {
                inverse_4x4(with_dc(scaled([a, b, c, d], coded, scale), dc))
            };
            let at = i / 2 * 8 * stride + i % 2 * 8;
            // SAFETY: the caller checked 16 rows of 16 bytes, and this is a quarter of them.
            unsafe { add_rows(rows, dst, at, stride) }
        }
    }
    check(dst, stride, 16, 16);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(levels, coded, dc, q, dst, stride) }
}

pub fn add_chroma(
    levels: &ChromaBlocks,
    coded: u32,
    dc: &ChromaDc,
    q: &Quantiser,
    dst: &mut [u8],
    stride: usize,
) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(
        [cb, cr]: &ChromaBlocks,
        coded: u32,
        dc: &ChromaDc,
        q: &Quantiser,
        dst: &mut [u8],
        stride: usize,
    ) {
        let scale = scale_of_ac(q);
        let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        for half in 0..2 {
            let (first, second) = (2 * half, 2 * half + 1);
            let coded = (coded >> first & 3) | (coded >> (4 + first) & 3) << 2;
            let dc = &[dc[0][first], dc[0][second], dc[1][first], dc[1][second]];
            let rows = if coded == 0 {
                [flat(dc); 4]
            } else {
                let blocks = [&cb[first], &cb[second], &cr[first], &cr[second]];
                inverse_4x4(with_dc(scaled(blocks, coded, scale), dc))
            };
            for (i, rows) in rows.as_chunks::<2>().0.iter().enumerate() {
                let at = (4 * half + 2 * i) * stride;
                // SAFETY: the caller checked 8 rows of 16 bytes.
                unsafe {
                    let load = |at| {
                        let pairs = load_16(dst, at);
                        _mm256_cvtepu8_epi16(_mm_shuffle_epi8(pairs, apart))
                    };
                    let first = _mm256_add_epi16(load(at), rows[0]);
                    let second = _mm256_add_epi16(load(at + stride), rows[1]);
                    let both = _mm256_packus_epi16(first, second);
                    let (cb, cr) = (
                        _mm256_castsi256_si128(both),
                        _mm256_extracti128_si256::<1>(both),
                    );
                    store_16(dst, at, _mm_unpacklo_epi8(cb, cr));
                    store_16(dst, at + stride, _mm_unpackhi_epi8(cb, cr));
                }
            }
        }
    }
    check(dst, stride, 16, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(levels, coded, dc, q, dst, stride) }
}
