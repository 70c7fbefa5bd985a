//! Intra prediction of 16x16 luma and of chroma.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::super::neighbours::{
    Neighbours16x16, NeighboursChroma, intra_16x16 as luma_mode, intra_chroma as chroma_mode,
};
use super::super::scalar::intra::{above, beside};
use super::memory::{load_part, store_16};

/// Stores the same row `N` times.
///
/// # Safety
/// `N` rows of 16 bytes lie in `dst` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn rows<const N: usize>(row: __m128i, dst: &mut [u8], at: usize, stride: usize) {
    for y in 0..N {
        // SAFETY: the caller's.
        unsafe { store_16(dst, at + y * stride, row) }
    }
}

/// Stores rows of a plane: `first` has 16 samples times 32, and each row adds `down`.
///
/// # Safety
/// `N` rows of 16 bytes lie in `dst`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn plane<const N: usize>(first: __m256i, down: __m256i, dst: &mut [u8], stride: usize) {
    let mut row = first;
    for y in (0..N).step_by(2) {
        let next = _mm256_add_epi16(row, down);
        let two = _mm256_packus_epi16(_mm256_srai_epi16::<5>(row), _mm256_srai_epi16::<5>(next));
        let two = _mm256_permute4x64_epi64::<0b11_01_10_00>(two);
        // SAFETY: the caller's.
        unsafe {
            store_16(dst, y * stride, _mm256_castsi256_si128(two));
            store_16(dst, (y + 1) * stride, _mm256_extracti128_si256::<1>(two));
        }
        row = _mm256_add_epi16(next, down);
    }
}

/// The sum of 16 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn sum(side: &[u8; 16]) -> u32 {
    let sums = _mm_sad_epu8(load_part(side, 0), _mm_setzero_si128());
    _mm_cvtsi128_si32(_mm_add_epi64(sums, _mm_srli_si128::<8>(sums))) as u32
}

/// The weighted sums of clause 8.3.3.4 of the row above and the column to the left.
#[inline]
#[target_feature(enable = "avx2")]
fn luma_slopes(top: &[u8; 16], left: &[u8; 16], corner: u8) -> (i32, i32) {
    let weights = _mm_setr_epi8(-8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8);
    // The corner and samples 0 to 6, then 8 to 15.
    let weighted = |side: &[u8; 16]| {
        let side = load_part(side, 0);
        let corner = _mm_cvtsi32_si128(corner.into());
        let before = _mm_or_si128(_mm_slli_si128::<1>(side), corner);
        let all = _mm_blend_epi16::<0xf0>(before, side);
        _mm_madd_epi16(_mm_maddubs_epi16(all, weights), _mm_set1_epi16(1))
    };
    let both = _mm_hadd_epi32(weighted(top), weighted(left));
    let both = _mm_hadd_epi32(both, both);
    (_mm_cvtsi128_si32(both), _mm_extract_epi32::<1>(both))
}

pub fn intra_16x16(mode: u8, neighbours: &Neighbours16x16, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(mode: u8, neighbours: &Neighbours16x16, dst: &mut [u8], stride: usize) {
        let Neighbours16x16 { top, left, corner } = neighbours;
        // SAFETY: the caller checked 16 rows of 16 bytes.
        unsafe {
            match mode {
                luma_mode::VERTICAL => {
                    rows::<16>(load_part(above(top.as_ref()), 0), dst, 0, stride);
                }
                luma_mode::HORIZONTAL => {
                    for (y, &left) in beside(left.as_ref()).iter().enumerate() {
                        store_16(dst, y * stride, _mm_set1_epi8(left as i8));
                    }
                }
                luma_mode::DC => {
                    let mean = match (top, left) {
                        (Some(top), Some(left)) => (sum(top) + sum(left) + 16) >> 5,
                        (Some(side), None) | (None, Some(side)) => (sum(side) + 8) >> 4,
                        (None, None) => 128,
                    };
                    rows::<16>(_mm_set1_epi8(mean as i8), dst, 0, stride);
                }
                luma_mode::PLANE => {
                    let (top, left) = (above(top.as_ref()), beside(left.as_ref()));
                    let (right, down) = luma_slopes(top, left, *corner);
                    let (right, down) = ((5 * right + 32) >> 6, (5 * down + 32) >> 6);
                    let value = 16 * (i32::from(top[15]) + i32::from(left[15]) + 1);
                    let value = value - 7 * (right + down);
                    let x = _mm256_cvtepi8_epi16(_mm_setr_epi8(
                        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                    ));
                    let across = _mm256_mullo_epi16(x, _mm256_set1_epi16(right as i16));
                    let first = _mm256_add_epi16(across, _mm256_set1_epi16(value as i16));
                    plane::<16>(first, _mm256_set1_epi16(down as i16), dst, stride);
                }
                _ => panic!("intra mode {mode} of 16x16 samples"),
            }
        }
    }
    check(dst, stride, 16, 16);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(mode, neighbours, dst, stride) }
}

/// The sums of the first and last four samples of a side of chroma: of Cb, of Cr.
#[inline]
#[target_feature(enable = "avx2")]
fn chroma_sums(side: &[u8; 16]) -> [[u32; 2]; 2] {
    let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    let side = _mm_shuffle_epi8(load_part(side, 0), apart);
    let pairs = _mm_maddubs_epi16(side, _mm_set1_epi8(1));
    let sums = _mm_madd_epi16(pairs, _mm_set1_epi16(1));
    let sums = _mm_packs_epi32(sums, sums);
    let sums = _mm_cvtsi128_si64(sums) as u64;
    let sum = |i: u32| (sums >> (16 * i)) as u32 & 0xffff;
    [[sum(0), sum(1)], [sum(2), sum(3)]]
}

/// The means of the blocks of chroma: of Cb, of Cr.
#[inline]
#[target_feature(enable = "avx2")]
fn chroma_means(neighbours: &NeighboursChroma) -> [[u8; 4]; 2] {
    let one = |sum: u32| ((sum + 2) >> 2) as u8;
    let two = |a: u32, b: u32| ((a + b + 4) >> 3) as u8;
    let mut means = [[128; 4]; 2];
    match (&neighbours.top, &neighbours.left) {
        (Some(top), Some(left)) => {
            let (top, left) = (chroma_sums(top), chroma_sums(left));
            for (c, means) in means.iter_mut().enumerate() {
                let (t, l) = (top[c], left[c]);
                *means = [two(t[0], l[0]), one(t[1]), one(l[1]), two(t[1], l[1])];
            }
        }
        (Some(top), None) => {
            let top = chroma_sums(top);
            for (c, means) in means.iter_mut().enumerate() {
                let t = top[c];
                *means = [one(t[0]), one(t[1]), one(t[0]), one(t[1])];
            }
        }
        (None, Some(left)) => {
            let left = chroma_sums(left);
            for (c, means) in means.iter_mut().enumerate() {
                let l = left[c];
                *means = [one(l[0]), one(l[0]), one(l[1]), one(l[1])];
            }
        }
        (None, None) => {}
    }
    means
}

/// The weighted sums of clause 8.3.4.4: of the row above for Cb, for Cr, of the column to the left for Cb, for Cr.
#[inline]
#[target_feature(enable = "avx2")]
fn chroma_slopes(top: &[u8; 16], left: &[u8; 16], corner: [u8; 2]) -> [i32; 4] {
    let weights = _mm_setr_epi8(-4, -3, -2, -1, 1, 2, 3, 4, -4, -3, -2, -1, 1, 2, 3, 4);
    // The corner and samples 0 to 2, then 4 to 7: of Cb, of Cr.
    let apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    let weighted = |side: &[u8; 16]| {
        let side = load_part(side, 0);
        let corner = _mm_cvtsi32_si128(u16::from_le_bytes(corner).into());
        let before = _mm_or_si128(_mm_slli_si128::<2>(side), corner);
        let all = _mm_shuffle_epi8(_mm_blend_epi16::<0xf0>(before, side), apart);
        _mm_madd_epi16(_mm_maddubs_epi16(all, weights), _mm_set1_epi16(1))
    };
    let both = _mm_hadd_epi32(weighted(top), weighted(left));
    [
        _mm_cvtsi128_si32(both),
        _mm_extract_epi32::<1>(both),
        _mm_extract_epi32::<2>(both),
        _mm_extract_epi32::<3>(both),
    ]
}

pub fn intra_chroma(mode: u8, neighbours: &NeighboursChroma, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(mode: u8, neighbours: &NeighboursChroma, dst: &mut [u8], stride: usize) {
        let NeighboursChroma { top, left, corner } = neighbours;
        // SAFETY: the caller checked 8 rows of 16 bytes.
        unsafe {
            match mode {
                chroma_mode::DC => {
                    let [cb, cr] = chroma_means(neighbours);
                    let pair = |b: usize| i16::from_le_bytes([cb[b], cr[b]]);
                    for half in 0..2 {
                        let (first, second) = (pair(2 * half), pair(2 * half + 1));
                        let row = _mm_unpacklo_epi64(_mm_set1_epi16(first), _mm_set1_epi16(second));
                        rows::<4>(row, dst, 4 * half * stride, stride);
                    }
                }
                chroma_mode::HORIZONTAL => {
                    for (y, &pair) in beside(left.as_ref()).as_chunks().0.iter().enumerate() {
                        store_16(dst, y * stride, _mm_set1_epi16(i16::from_le_bytes(pair)));
                    }
                }
                chroma_mode::VERTICAL => {
                    rows::<8>(load_part(above(top.as_ref()), 0), dst, 0, stride);
                }
                chroma_mode::PLANE => {
                    let (top, left) = (above(top.as_ref()), beside(left.as_ref()));
                    let slopes = chroma_slopes(top, left, *corner);
                    let slope = |i: usize| (34 * slopes[i] + 32) >> 6;
                    let (right_cb, right_cr) = (slope(0), slope(1));
                    let (down_cb, down_cr) = (slope(2), slope(3));
                    let value = |c: usize, right: i32, down: i32| {
                        let ends = i32::from(top[14 + c]) + i32::from(left[14 + c]);
                        16 * (ends + 1) - 3 * (right + down)
                    };
                    let pairs = |cb: i32, cr: i32| _mm256_set1_epi32((cb & 0xffff) | (cr << 16));
                    let x = _mm256_cvtepi8_epi16(_mm_setr_epi8(
                        0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
                    ));
                    let across = _mm256_mullo_epi16(x, pairs(right_cb, right_cr));
                    let values = pairs(value(0, right_cb, down_cb), value(1, right_cr, down_cr));
                    let first = _mm256_add_epi16(across, values);
                    plane::<8>(first, pairs(down_cb, down_cr), dst, stride);
                }
                _ => panic!("intra mode {mode} of chroma"),
            }
        }
    }
    check(dst, stride, 16, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(mode, neighbours, dst, stride) }
}
