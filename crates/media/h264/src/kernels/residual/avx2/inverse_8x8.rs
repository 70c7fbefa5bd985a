//! Scaling, the inverse 8x8 transform and addition to the prediction.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::super::quantiser::Quantiser8x8;
use super::memory::{load_8, load_part, store_8};
use super::transpose::transpose_8x8;

/// The inverse transform of 8 numbers, one in each register.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_8(v: [__m128i; 8]) -> [__m128i; 8] {
    let half = |v: __m128i| _mm_srai_epi16::<1>(v);
    let quarter = |v: __m128i| _mm_srai_epi16::<2>(v);
    let sum = |a: __m128i, b: __m128i| _mm_add_epi16(a, b);
    let less = |a: __m128i, b: __m128i| _mm_sub_epi16(a, b);
    let (a0, a2) = (sum(v[0], v[4]), less(v[0], v[4]));
    let (a4, a6) = (less(half(v[2]), v[6]), sum(v[2], half(v[6])));
    let a1 = less(less(v[5], v[3]), sum(v[7], half(v[7])));
    let a3 = less(sum(v[1], v[7]), sum(v[3], half(v[3])));
    let a5 = sum(less(v[7], v[1]), sum(v[5], half(v[5])));
    let a7 = sum(sum(v[3], v[5]), sum(v[1], half(v[1])));
    let (b0, b2, b4, b6) = (sum(a0, a6), sum(a2, a4), less(a2, a4), less(a0, a6));
    let (b1, b7) = (sum(a1, quarter(a7)), less(a7, quarter(a1)));
    let (b3, b5) = (sum(a3, quarter(a5)), less(quarter(a3), a5));
    [
        sum(b0, b7),
        sum(b2, b5),
        sum(b4, b3),
        sum(b6, b1),
        less(b6, b1),
        less(b4, b3),
        less(b2, b5),
        less(b0, b7),
    ]
}

/// Scales 8 levels where products are shifted to the right, by 2 - `qp` / 6.
#[inline]
#[target_feature(enable = "avx2")]
fn scaled_down(levels: __m128i, scale: __m128i, qp: u8) -> __m128i {
    let shift = 2 - i32::from(qp / 6);
    let (one, round) = (_mm_set1_epi16(1), _mm_set1_epi16(1 << (shift - 1)));
    let count = _mm_cvtsi32_si128(shift);
    let low = _mm_madd_epi16(
        _mm_unpacklo_epi16(levels, one),
        _mm_unpacklo_epi16(scale, round),
    );
    let high = _mm_madd_epi16(
        _mm_unpackhi_epi16(levels, one),
        _mm_unpackhi_epi16(scale, round),
    );
    _mm_packs_epi32(_mm_sra_epi32(low, count), _mm_sra_epi32(high, count))
}

/// Adds 8 numbers to 8 samples.
///
/// # Safety
/// They lie in `dst` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add(dst: &mut [u8], at: usize, residual: __m128i) {
    // SAFETY: the caller's.
    unsafe {
        let sum = _mm_add_epi16(_mm_cvtepu8_epi16(load_8(dst, at)), residual);
        store_8(dst, at, _mm_packus_epi16(sum, sum));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn round(r: __m128i) -> __m128i {
    _mm_srai_epi16::<6>(_mm_add_epi16(r, _mm_set1_epi16(32)))
}

pub fn add_8x8(levels: &[i16; 64], q: &Quantiser8x8, dst: &mut [u8], stride: usize) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(levels: &[i16; 64], q: &Quantiser8x8, dst: &mut [u8], stride: usize) {
        let mut rows = [_mm_setzero_si128(); 8];
        for (i, row) in rows.iter_mut().enumerate() {
            let (levels, scale) = (load_part(levels, i), load_part(&q.scale, i));
            *row = match q.qp {
                0..12 => scaled_down(levels, scale, q.qp),
                _ => _mm_mullo_epi16(levels, scale),
            };
        }
        let columns = inverse_8(transpose_8x8(rows));
        let rows = inverse_8(transpose_8x8(columns));
        for (y, row) in rows.into_iter().enumerate() {
            // SAFETY: the caller checked 8 rows of 8 bytes.
            unsafe { add(dst, y * stride, round(row)) }
        }
    }
    check(dst, stride, 8, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(levels, q, dst, stride) }
}
