//! Codes narrowed in registers: compilers shuffle the bytes of each register by itself.

use std::arch::x86_64::*;

use super::Scale;

/// Values of a step.
const STEP: usize = 32;

/// Stores as many values as make whole steps; how many those are.
#[target_feature(enable = "avx2,fma")]
pub(super) fn store_u8(scale: &Scale, values: &[f32], codes: &mut [u8]) -> usize {
    let (values, _) = values.as_chunks::<STEP>();
    let (codes, _) = codes.as_chunks_mut::<STEP>();
    let steps = values.len().min(codes.len());
    for i in 0..steps {
        let at = values[i].as_ptr();
        // SAFETY: there are `STEP` values, four times what is loaded.
        let words = unsafe {
            let (a, b) = (code(scale, at), code(scale, at.add(8)));
            let (c, d) = (code(scale, at.add(16)), code(scale, at.add(24)));
            [_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d)]
        };
        // Packing takes turns between the halves of its registers; what is below 0 becomes 0.
        let bytes = _mm256_packus_epi16(words[0], words[1]);
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let bytes = _mm256_permutevar8x32_epi32(bytes, order);
        // SAFETY: there are `STEP` codes.
        unsafe { _mm256_storeu_si256(codes[i].as_mut_ptr().cast(), bytes) };
    }
    steps * STEP
}

/// The codes of 8 values, but for those below 0 and of a NaN, which are any number below 0.
///
/// # Safety
/// 8 values from `at` on can be read.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn code(scale: &Scale, at: *const f32) -> __m256i {
    // SAFETY: promised by the caller.
    let values = unsafe { _mm256_loadu_ps(at) };
    let (span, zero) = (_mm256_set1_ps(scale.span), _mm256_set1_ps(scale.zero));
    let most = _mm256_set1_ps(scale.maximum);
    // A NaN is taken from the second operand.
    _mm256_cvtps_epi32(_mm256_min_ps(most, _mm256_fmadd_ps(values, span, zero)))
}
