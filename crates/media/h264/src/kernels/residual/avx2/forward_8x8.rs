//! The forward 8x8 transform.

use std::arch::x86_64::*;

use super::super::bounds::check;
use super::memory::{load_8, store_part};
use super::transpose::transpose_8x8;

/// The transform of 8 numbers, one in each register.
#[inline]
#[target_feature(enable = "avx2")]
fn core_8(v: [__m128i; 8]) -> [__m128i; 8] {
    let (s07, d07) = (_mm_add_epi16(v[0], v[7]), _mm_sub_epi16(v[0], v[7]));
    let (s16, d16) = (_mm_add_epi16(v[1], v[6]), _mm_sub_epi16(v[1], v[6]));
    let (s25, d25) = (_mm_add_epi16(v[2], v[5]), _mm_sub_epi16(v[2], v[5]));
    let (s34, d34) = (_mm_add_epi16(v[3], v[4]), _mm_sub_epi16(v[3], v[4]));
    let (e0, e2) = (_mm_add_epi16(s07, s34), _mm_sub_epi16(s07, s34));
    let (e1, e3) = (_mm_add_epi16(s16, s25), _mm_sub_epi16(s16, s25));
    let and_half = |v: __m128i| _mm_add_epi16(v, _mm_srai_epi16::<1>(v));
    let o0 = _mm_add_epi16(_mm_add_epi16(d16, d25), and_half(d07));
    let o1 = _mm_sub_epi16(_mm_sub_epi16(d07, d34), and_half(d25));
    let o2 = _mm_sub_epi16(_mm_add_epi16(d07, d34), and_half(d16));
    let o3 = _mm_add_epi16(_mm_sub_epi16(d16, d25), and_half(d34));
    [
        _mm_add_epi16(e0, e1),
        _mm_add_epi16(o0, _mm_srai_epi16::<2>(o3)),
        _mm_add_epi16(e2, _mm_srai_epi16::<1>(e3)),
        _mm_add_epi16(o1, _mm_srai_epi16::<2>(o2)),
        _mm_sub_epi16(e0, e1),
        _mm_sub_epi16(o2, _mm_srai_epi16::<2>(o1)),
        _mm_sub_epi16(_mm_srai_epi16::<1>(e2), e3),
        _mm_sub_epi16(_mm_srai_epi16::<2>(o0), o3),
    ]
}

pub fn forward_8x8(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut [i16; 64]) {
    #[target_feature(enable = "avx2")]
    unsafe fn run(s: &[u8], s_stride: usize, p: &[u8], p_stride: usize, out: &mut [i16; 64]) {
        let mut rows = [_mm_setzero_si128(); 8];
        for (y, row) in rows.iter_mut().enumerate() {
            // SAFETY: the caller checked 8 rows of 8 bytes.
            let (s, p) = unsafe { (load_8(s, y * s_stride), load_8(p, y * p_stride)) };
            *row = _mm_sub_epi16(_mm_cvtepu8_epi16(s), _mm_cvtepu8_epi16(p));
        }
        let rows = core_8(transpose_8x8(core_8(transpose_8x8(rows))));
        for (i, row) in rows.into_iter().enumerate() {
            store_part(out, i, row);
        }
    }
    check(s, s_stride, 8, 8);
    check(p, p_stride, 8, 8);
    // SAFETY: the processor has AVX2 where this table is used; bounds are checked.
    unsafe { run(s, s_stride, p, p_stride, out) }
}
