//! Transposition of 4x4 and 8x8 numbers of 16 bits.

use std::arch::x86_64::*;

/// Of 4 blocks side by side: register `i` has row `i` of block 0 in its first quarter, of block 1 in its second, and so
/// on. The result has columns.
#[inline]
#[target_feature(enable = "avx2")]
pub fn rows_to_columns([r0, r1, r2, r3]: [__m256i; 4]) -> [__m256i; 4] {
    let (a, b) = (_mm256_unpacklo_epi16(r0, r1), _mm256_unpackhi_epi16(r0, r1));
    let (c, d) = (_mm256_unpacklo_epi16(r2, r3), _mm256_unpackhi_epi16(r2, r3));
    let (even_01, even_23) = (_mm256_unpacklo_epi32(a, c), _mm256_unpackhi_epi32(a, c));
    let (odd_01, odd_23) = (_mm256_unpacklo_epi32(b, d), _mm256_unpackhi_epi32(b, d));
    [
        _mm256_unpacklo_epi64(even_01, odd_01),
        _mm256_unpackhi_epi64(even_01, odd_01),
        _mm256_unpacklo_epi64(even_23, odd_23),
        _mm256_unpackhi_epi64(even_23, odd_23),
    ]
}

/// Columns of 4 blocks side by side to whole blocks in raster order.
#[inline]
#[target_feature(enable = "avx2")]
pub fn columns_to_blocks([c0, c1, c2, c3]: [__m256i; 4]) -> [__m256i; 4] {
    let (a, b) = (_mm256_unpacklo_epi16(c0, c1), _mm256_unpackhi_epi16(c0, c1));
    let (c, d) = (_mm256_unpacklo_epi16(c2, c3), _mm256_unpackhi_epi16(c2, c3));
    let (even_01, even_23) = (_mm256_unpacklo_epi32(a, c), _mm256_unpackhi_epi32(a, c));
    let (odd_01, odd_23) = (_mm256_unpacklo_epi32(b, d), _mm256_unpackhi_epi32(b, d));
    [
        _mm256_permute2x128_si256::<0x20>(even_01, even_23),
        _mm256_permute2x128_si256::<0x20>(odd_01, odd_23),
        _mm256_permute2x128_si256::<0x31>(even_01, even_23),
        _mm256_permute2x128_si256::<0x31>(odd_01, odd_23),
    ]
}

/// Whole blocks in raster order to their columns side by side.
#[inline]
#[target_feature(enable = "avx2")]
pub fn blocks_to_columns([b0, b1, b2, b3]: [__m256i; 4]) -> [__m256i; 4] {
    let (even_01, even_23) = halves(b0, b2);
    let (odd_01, odd_23) = halves(b1, b3);
    [
        _mm256_unpacklo_epi64(even_01, odd_01),
        _mm256_unpackhi_epi64(even_01, odd_01),
        _mm256_unpacklo_epi64(even_23, odd_23),
        _mm256_unpackhi_epi64(even_23, odd_23),
    ]
}

/// Columns 0 and 1, 2 and 3 of two blocks, one in the lower halves, the other in the upper.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(a: __m256i, b: __m256i) -> (__m256i, __m256i) {
    let rows_01 = _mm256_permute2x128_si256::<0x20>(a, b);
    let rows_23 = _mm256_permute2x128_si256::<0x31>(a, b);
    let rows_02 = _mm256_unpacklo_epi16(rows_01, rows_23);
    let rows_13 = _mm256_unpackhi_epi16(rows_01, rows_23);
    (
        _mm256_unpacklo_epi16(rows_02, rows_13),
        _mm256_unpackhi_epi16(rows_02, rows_13),
    )
}

/// Of 8x8 numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub fn transpose_8x8(r: [__m128i; 8]) -> [__m128i; 8] {
    let (a0, a1) = (
        _mm_unpacklo_epi16(r[0], r[1]),
        _mm_unpackhi_epi16(r[0], r[1]),
    );
    let (a2, a3) = (
        _mm_unpacklo_epi16(r[2], r[3]),
        _mm_unpackhi_epi16(r[2], r[3]),
    );
    let (a4, a5) = (
        _mm_unpacklo_epi16(r[4], r[5]),
        _mm_unpackhi_epi16(r[4], r[5]),
    );
    let (a6, a7) = (
        _mm_unpacklo_epi16(r[6], r[7]),
        _mm_unpackhi_epi16(r[6], r[7]),
    );
    let (b0, b1) = (_mm_unpacklo_epi32(a0, a2), _mm_unpackhi_epi32(a0, a2));
    let (b2, b3) = (_mm_unpacklo_epi32(a1, a3), _mm_unpackhi_epi32(a1, a3));
    let (b4, b5) = (_mm_unpacklo_epi32(a4, a6), _mm_unpackhi_epi32(a4, a6));
    let (b6, b7) = (_mm_unpacklo_epi32(a5, a7), _mm_unpackhi_epi32(a5, a7));
    [
        _mm_unpacklo_epi64(b0, b4),
        _mm_unpackhi_epi64(b0, b4),
        _mm_unpacklo_epi64(b1, b5),
        _mm_unpackhi_epi64(b1, b5),
        _mm_unpacklo_epi64(b2, b6),
        _mm_unpackhi_epi64(b2, b6),
        _mm_unpacklo_epi64(b3, b7),
        _mm_unpackhi_epi64(b3, b7),
    ]
}
