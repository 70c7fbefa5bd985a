//! Between frames and lanes, eight samples of eight frames at a time.

use std::arch::x86_64::*;

use evener_runtime::Simd;

use crate::kernels::BATCH;
use crate::kernels::has_avx2;
use crate::kernels::lanes::{Avx2, Lanes};
use crate::kernels::pointwise::Pointwise;

/// Returns `false` if the processor or `simd` does not allow it, or the rows are shorter than a register.
pub(super) fn interleave<P: Pointwise>(
    simd: Simd,
    rows: &[&[f32]; BATCH],
    point: P,
    to: &mut [f32],
) -> bool {
    let n = rows[0].len();
    let s = match Avx2::new(simd) {
        Some(s) if n >= BATCH => s,
        _ => return false,
    };
    assert!(rows.iter().all(|row| row.len() >= n) && to.len() >= n * BATCH);
    // SAFETY: the processor has AVX2, and all rows have as many samples as is said.
    unsafe { interleave_avx2(s, rows.map(<[f32]>::as_ptr), point, to.as_mut_ptr(), n) };
    true
}

/// As of [`interleave`].
pub(super) fn interleave_bits(
    simd: Simd,
    rows: &[&[f32]; BATCH],
    step: f32,
    to: &mut [u8],
) -> bool {
    if to.len() < BITS || !has_avx2(simd) {
        return false;
    }
    assert!(rows.iter().all(|row| row.len() >= to.len()));
    // SAFETY: the processor has AVX2, and all rows have as many samples as there are bytes.
    unsafe { interleave_bits_avx2(rows.map(<[f32]>::as_ptr), step, to) };
    true
}

/// As of [`interleave`].
pub(super) fn deinterleave(simd: Simd, from: &[f32], rows: &mut [&mut [f32]; BATCH]) -> bool {
    let n = rows[0].len();
    if n < BATCH || !has_avx2(simd) {
        return false;
    }
    assert!(rows.iter().all(|row| row.len() >= n) && from.len() >= n * BATCH);
    let rows = rows.each_mut().map(|row| row.as_mut_ptr());
    // SAFETY: the processor has AVX2, and all rows have as many samples as is said.
    unsafe { deinterleave_avx2(from.as_ptr(), rows, n) };
    true
}

/// # Safety
/// Rows have `n` samples, at least [`BATCH`], and `to` as many for each.
#[target_feature(enable = "avx2,fma")]
unsafe fn interleave_avx2<P: Pointwise>(
    s: Avx2,
    rows: [*const f32; BATCH],
    point: P,
    to: *mut f32,
    n: usize,
) {
    let mut at = 0;
    loop {
        // SAFETY: `at` is at most `n - BATCH`.
        unsafe {
            let mut block = [_mm256_setzero_ps(); BATCH];
            for (i, v) in block.iter_mut().enumerate() {
                *v = point.of(s, s.load(rows[i].add(at)));
            }
            for (i, v) in transposed(block).iter().enumerate() {
                _mm256_storeu_ps(to.add((at + i) * BATCH), *v);
            }
        }
        if at == n - BATCH {
            break;
        }
        // The last block may overlap the one before it.
        at = (at + BATCH).min(n - BATCH);
    }
}

/// Bytes of bits that are made at once.
const BITS: usize = 32;

/// # Safety
/// Rows have as many samples as `to` bytes, at least [`BITS`].
#[target_feature(enable = "avx2")]
unsafe fn interleave_bits_avx2(rows: [*const f32; BATCH], step: f32, to: &mut [u8]) {
    let step = _mm256_set1_ps(step);
    let last = to.len() - BITS;
    let mut at = 0;
    loop {
        let mut bytes = _mm256_setzero_si256();
        for (f, row) in rows.into_iter().enumerate() {
            let above = |i: usize| {
                // SAFETY: `at` is at most `last`.
                let v = unsafe { _mm256_loadu_ps(row.add(at + 8 * i)) };
                _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(v, step))
            };
            let low = _mm256_packs_epi32(above(0), above(1));
            let high = _mm256_packs_epi32(above(2), above(3));
            let all = _mm256_packs_epi16(low, high);
            let bit = _mm256_set1_epi8((1u8 << f) as i8);
            bytes = _mm256_or_si256(bytes, _mm256_and_si256(all, bit));
        }
        // Packing takes the halves of registers in turn.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let bytes = _mm256_permutevar8x32_epi32(bytes, order);
        // SAFETY: as before.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().add(at).cast(), bytes) };
        if at == last {
            break;
        }
        at = (at + BITS).min(last);
    }
}

/// # Safety
/// Rows have room for `n` samples, at least [`BATCH`], and `from` has as many for each.
#[target_feature(enable = "avx2")]
unsafe fn deinterleave_avx2(from: *const f32, rows: [*mut f32; BATCH], n: usize) {
    let mut at = 0;
    loop {
        // SAFETY: `at` is at most `n - BATCH`.
        unsafe {
            let mut block = [_mm256_setzero_ps(); BATCH];
            for (i, v) in block.iter_mut().enumerate() {
                *v = _mm256_loadu_ps(from.add((at + i) * BATCH));
            }
            for (i, v) in transposed(block).iter().enumerate() {
                _mm256_storeu_ps(rows[i].add(at), *v);
            }
        }
        if at == n - BATCH {
            break;
        }
        at = (at + BATCH).min(n - BATCH);
    }
}

/// Lane i of register j becomes lane j of register i.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn transposed(r: [__m256; BATCH]) -> [__m256; BATCH] {
    let pairs = |a, b| (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    let fours = |a, b| {
        (
            _mm256_shuffle_ps::<0b01_00_01_00>(a, b),
            _mm256_shuffle_ps::<0b11_10_11_10>(a, b),
        )
    };
    let ((a0, a1), (b0, b1)) = (pairs(r[0], r[1]), pairs(r[2], r[3]));
    let ((c0, c1), (d0, d1)) = (pairs(r[4], r[5]), pairs(r[6], r[7]));
    let ((e0, e1), (e2, e3)) = (fours(a0, b0), fours(a1, b1));
    let ((f0, f1), (f2, f3)) = (fours(c0, d0), fours(c1, d1));
    let low = |a, b| _mm256_permute2f128_ps::<0x20>(a, b);
    let high = |a, b| _mm256_permute2f128_ps::<0x31>(a, b);
    [
        low(e0, f0),
        low(e1, f1),
        low(e2, f2),
        low(e3, f3),
        high(e0, f0),
        high(e1, f1),
        high(e2, f2),
        high(e3, f3),
    ]
}
