//! Deblocking: edges of samples to registers and back. What happens between is in [`edge`](super::edge).

use std::arch::x86_64::*;

use super::super::bounds::{check_horizontal, check_vertical};
use super::edge::{Across, chroma, chroma_strong, luma, luma_strong, spread, thresholds};
use super::memory::{load_8, load_16, store_8, store_8_high, store_16, write_4};

/// The samples across a horizontal edge at `at`.
///
/// # Safety
/// `N` rows of 16 bytes lie in `samples` above the edge and below it.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_horizontal<const N: usize>(samples: &[u8], at: usize, stride: usize) -> Across<N> {
    let mut across = [(_mm256_setzero_si256(), _mm256_setzero_si256()); N];
    for (i, across) in across.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let (p, q) = unsafe {
            (
                load_16(samples, at - (i + 1) * stride),
                load_16(samples, at + i * stride),
            )
        };
        *across = (_mm256_cvtepu8_epi16(p), _mm256_cvtepu8_epi16(q));
    }
    across
}

/// Puts samples across a horizontal edge back.
///
/// # Safety
/// As of [`load_horizontal`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_horizontal<const N: usize>(
    across: Across<N>,
    samples: &mut [u8],
    at: usize,
    stride: usize,
) {
    for (i, (p, q)) in across.into_iter().enumerate() {
        let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(p, q));
        // SAFETY: the caller's.
        unsafe {
            store_16(samples, at - (i + 1) * stride, _mm256_castsi256_si128(both));
            store_16(
                samples,
                at + i * stride,
                _mm256_extracti128_si256::<1>(both),
            );
        }
    }
}

/// The samples across a vertical edge of luma: rows 0 to 7 in the lower halves, 8 to 15 in the upper.
///
/// # Safety
/// 4 bytes lie in `samples` on both sides of the edge in 16 rows.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_luma_vertical(samples: &[u8], at: usize, stride: usize) -> Across<4> {
    let mut rows = [_mm256_setzero_si256(); 8];
    for (y, row) in rows.iter_mut().enumerate() {
        let first = at - 4 + y * stride;
        // SAFETY: the caller's.
        *row = unsafe {
            _mm256_set_m128i(load_8(samples, first + 8 * stride), load_8(samples, first))
        };
    }
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let (a, b) = (_mm256_unpacklo_epi8(r0, r4), _mm256_unpacklo_epi8(r2, r6));
    let (c, d) = (_mm256_unpacklo_epi8(r1, r5), _mm256_unpacklo_epi8(r3, r7));
    let (even_p, even_q) = (_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b));
    let (odd_p, odd_q) = (_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d));
    // Two columns each.
    let (p32, p10) = (
        _mm256_unpacklo_epi8(even_p, odd_p),
        _mm256_unpackhi_epi8(even_p, odd_p),
    );
    let (q01, q23) = (
        _mm256_unpacklo_epi8(even_q, odd_q),
        _mm256_unpackhi_epi8(even_q, odd_q),
    );
    let zero = _mm256_setzero_si256();
    let low = |v: __m256i| _mm256_unpacklo_epi8(v, zero);
    let high = |v: __m256i| _mm256_unpackhi_epi8(v, zero);
    [
        (high(p10), low(q01)),
        (low(p10), high(q01)),
        (high(p32), low(q23)),
        (low(p32), high(q23)),
    ]
}

/// Two samples of each place, one after the other.
#[inline]
#[target_feature(enable = "avx2")]
fn pair(first: __m256i, second: __m256i) -> __m256i {
    _mm256_or_si256(first, _mm256_slli_epi16::<8>(second))
}

/// Puts p1, p0, q0 and q1 of 16 rows back.
///
/// # Safety
/// As of [`load_luma_vertical`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_four([s0, s1]: Across<2>, samples: &mut [u8], at: usize, stride: usize) {
    let (p, q) = (pair(s1.0, s0.0), pair(s0.1, s1.1));
    let parts = [_mm256_unpacklo_epi16(p, q), _mm256_unpackhi_epi16(p, q)];
    for (i, part) in parts.into_iter().enumerate() {
        let halves = [
            _mm256_castsi256_si128(part),
            _mm256_extracti128_si256::<1>(part),
        ];
        for (half, rows) in halves.into_iter().enumerate() {
            let first = at - 2 + (8 * half + 4 * i) * stride;
            // SAFETY: the caller's.
            unsafe { store_rows_of_four(rows, samples, first, stride) }
        }
    }
}

/// Puts four times 4 bytes into rows.
///
/// # Safety
/// 4 rows of 4 bytes lie in `samples` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_rows_of_four(rows: __m128i, samples: &mut [u8], at: usize, stride: usize) {
    // SAFETY: the caller's.
    unsafe {
        write_4(samples, at, _mm_cvtsi128_si32(rows));
        write_4(samples, at + stride, _mm_extract_epi32::<1>(rows));
        write_4(samples, at + 2 * stride, _mm_extract_epi32::<2>(rows));
        write_4(samples, at + 3 * stride, _mm_extract_epi32::<3>(rows));
    }
}

/// Puts p3 to q3 of 16 rows back.
///
/// # Safety
/// As of [`load_luma_vertical`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_eight([s0, s1, s2, s3]: Across<4>, samples: &mut [u8], at: usize, stride: usize) {
    let (p32, p10) = (pair(s3.0, s2.0), pair(s1.0, s0.0));
    let (q01, q23) = (pair(s0.1, s1.1), pair(s2.1, s3.1));
    let p = [
        _mm256_unpacklo_epi16(p32, p10),
        _mm256_unpackhi_epi16(p32, p10),
    ];
    let q = [
        _mm256_unpacklo_epi16(q01, q23),
        _mm256_unpackhi_epi16(q01, q23),
    ];
    for i in 0..2 {
        let two = [
            _mm256_unpacklo_epi32(p[i], q[i]),
            _mm256_unpackhi_epi32(p[i], q[i]),
        ];
        for (k, two) in two.into_iter().enumerate() {
            let upper = at - 4 + (4 * i + 2 * k) * stride;
            let lower = upper + 8 * stride;
            let (first, second) = (
                _mm256_castsi256_si128(two),
                _mm256_extracti128_si256::<1>(two),
            );
            // SAFETY: the caller's.
            unsafe {
                store_8(samples, upper, first);
                store_8_high(samples, upper + stride, first);
                store_8(samples, lower, second);
                store_8_high(samples, lower + stride, second);
            }
        }
    }
}

/// The pairs across a vertical edge of chroma, rows in order.
///
/// # Safety
/// 4 bytes lie in `samples` on both sides of the edge in 8 rows.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_chroma_vertical(samples: &[u8], at: usize, stride: usize) -> Across<2> {
    let mut quads = [(_mm_setzero_si128(), _mm_setzero_si128()); 2];
    for (i, quad) in quads.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let row = |y: usize| unsafe { load_8(samples, at - 4 + (4 * i + y) * stride) };
        let a = _mm_unpacklo_epi16(row(0), row(1));
        let b = _mm_unpacklo_epi16(row(2), row(3));
        *quad = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    }
    let [(p_upper, q_upper), (p_lower, q_lower)] = quads;
    let low = |a, b| _mm256_cvtepu8_epi16(_mm_unpacklo_epi64(a, b));
    let high = |a, b| _mm256_cvtepu8_epi16(_mm_unpackhi_epi64(a, b));
    [
        (high(p_upper, p_lower), low(q_upper, q_lower)),
        (low(p_upper, p_lower), high(q_upper, q_lower)),
    ]
}

/// Puts pairs p0 and q0 of 8 rows back.
///
/// # Safety
/// As of [`load_chroma_vertical`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_two_pairs([(p, q)]: Across<1>, samples: &mut [u8], at: usize, stride: usize) {
    let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(p, q));
    let (p, q) = (
        _mm256_castsi256_si128(both),
        _mm256_extracti128_si256::<1>(both),
    );
    // SAFETY: the caller's.
    unsafe {
        store_rows_of_four(_mm_unpacklo_epi16(p, q), samples, at - 2, stride);
        let lower = at - 2 + 4 * stride;
        store_rows_of_four(_mm_unpackhi_epi16(p, q), samples, lower, stride);
    }
}

/// Defines a function of the table: what it loads, what it computes from that and the thresholds, what it stores.
macro_rules! edge {
    ($name:ident($($tc0:ident: $type:ty)?), $check:ident($reach:literal, $length:literal), $load:ident,
     |$across:ident, $t:ident| $compute:expr, |$new:ident| $stored:expr, $store:ident) => {
        pub fn $name(
            samples: &mut [u8],
            at: usize,
            stride: usize,
            alpha: u8,
            beta: u8,
            $($tc0: $type)?
        ) {
            #[target_feature(enable = "avx2")]
            unsafe fn run(
                samples: &mut [u8],
                at: usize,
                stride: usize,
                alpha: u8,
                beta: u8,
                $($tc0: $type)?
            ) {
                // SAFETY: the caller checked the edge's reach and length.
                let $across = unsafe { $load(samples, at, stride) };
                let $t = thresholds(alpha, beta);
                if let Some($new) = $compute {
                    // SAFETY: as above.
                    unsafe { $store($stored, samples, at, stride) }
                }
            }
            $check(samples, at, stride, $reach, $length);
            // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
            unsafe { run(samples, at, stride, alpha, beta, $($tc0)?) }
        }
    };
}

edge!(
    luma_vertical_edge(tc0: &[i8; 4]), check_vertical(4, 16), load_luma_vertical,
    |s, t| luma([s[0], s[1], s[2]], t, spread(tc0)), |new| new, store_four
);
edge!(
    luma_horizontal_edge(tc0: &[i8; 4]), check_horizontal(4, 16), load_horizontal,
    |s, t| luma(s, t, spread(tc0)), |new| new, store_horizontal
);
edge!(
    luma_vertical_strong(),
    check_vertical(4, 16),
    load_luma_vertical,
    |s, t| luma_strong(s, t),
    |new| [new[0], new[1], new[2], s[3]],
    store_eight
);
edge!(
    luma_horizontal_strong(),
    check_horizontal(4, 16),
    load_horizontal,
    |s, t| luma_strong(s, t),
    |new| new,
    store_horizontal
);
edge!(
    chroma_vertical_edge(tc0: &[i8; 4]), check_vertical(4, 8), load_chroma_vertical,
    |s, t| chroma(s, t, spread(tc0)), |new| new, store_two_pairs
);
edge!(
    chroma_horizontal_edge(tc0: &[i8; 4]), check_horizontal(2, 16), load_horizontal,
    |s, t| chroma(s, t, spread(tc0)), |new| new, store_horizontal
);
edge!(
    chroma_vertical_strong(),
    check_vertical(4, 8),
    load_chroma_vertical,
    |s, t| chroma_strong(s, t),
    |new| new,
    store_two_pairs
);
edge!(
    chroma_horizontal_strong(),
    check_horizontal(2, 16),
    load_horizontal,
    |s, t| chroma_strong(s, t),
    |new| new,
    store_horizontal
);
