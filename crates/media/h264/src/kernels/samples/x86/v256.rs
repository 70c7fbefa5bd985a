//! Vectors of 256 bits, with AVX2.

use std::arch::x86_64::*;

use super::v128::V128;
use super::vector::{Vector, operations};

/// A value exists only where the processor has AVX2.
#[derive(Clone, Copy)]
pub struct V256(__m256i);

impl V256 {
    #[inline(always)]
    fn lanes(self) -> (V128, V128) {
        // SAFETY: a vector exists only where the processor has the instructions.
        unsafe {
            let upper = _mm256_extracti128_si256::<1>(self.0);
            (V128(_mm256_castsi256_si128(self.0)), V128(upper))
        }
    }
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn from_lanes(lower: V128, upper: V128) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(lower.0), upper.0) })
    }
}

// SAFETY: functions read and write what the trait says.
unsafe impl Vector for V256 {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(at: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_si256(at.cast()) })
    }
    #[inline(always)]
    unsafe fn load_16(at: *const u8, step: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_lanes(V128::load(at), V128::load(at.add(step))) }
    }
    #[inline(always)]
    unsafe fn load_8(at: *const u8, step: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_lanes(V128::load_8(at, step), V128::load_8(at.add(2 * step), step)) }
    }
    #[inline(always)]
    unsafe fn load_low(at: *const u8, step: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_lanes(V128::load_low(at, 0), V128::load_low(at.add(step), 0)) }
    }
    #[inline(always)]
    unsafe fn words(value: i16) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_set1_epi16(value) })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(at.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn store_16(self, at: *mut u8, step: usize) {
        let (lower, upper) = self.lanes();
        // SAFETY: the caller's promise.
        unsafe {
            lower.store(at);
            upper.store(at.add(step));
        }
    }
    #[inline(always)]
    unsafe fn store_8(self, at: *mut u8, step: usize) {
        let (lower, upper) = self.lanes();
        // SAFETY: the caller's promise.
        unsafe {
            lower.store_8(at, step);
            upper.store_8(at.add(2 * step), step);
        }
    }
    #[inline(always)]
    unsafe fn store_sums(self, at: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe {
            let order = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            let sums = _mm256_permutevar8x32_epi32(self.0, order);
            _mm_storeu_si128(at.cast(), _mm256_castsi256_si128(sums));
        }
    }

    operations! {
        add_words(other) = _mm256_add_epi16;
        add_saturating(other) = _mm256_adds_epi16;
        sub_words(other) = _mm256_sub_epi16;
        max_words(other) = _mm256_max_epi16;
        abs_words() = _mm256_abs_epi16;
        add_doublewords(other) = _mm256_add_epi32;
        dot_words(other) = _mm256_madd_epi16;
        dot_bytes(weights) = _mm256_maddubs_epi16;
        average(other) = _mm256_avg_epu8;
        sub_bytes(other) = _mm256_subs_epu8;
        and(other) = _mm256_and_si256;
        or(other) = _mm256_or_si256;
        sad(other) = _mm256_sad_epu8;
        sads_low(block) = _mm256_mpsadbw_epu8::<0b000_000>;
        sads_high(block) = _mm256_mpsadbw_epu8::<0b101_101>;
        zip_low(other) = _mm256_unpacklo_epi8;
        zip_high(other) = _mm256_unpackhi_epi8;
        pack(other) = _mm256_packus_epi16;
        even_odd(other) = _mm256_blend_epi16::<0b1010_1010>;
        odd_to_even() = _mm256_srli_epi32::<16>;
        even_to_odd() = _mm256_slli_epi32::<16>;
        odd_bytes() = _mm256_srli_epi16::<8>;
        quarter() = _mm256_srai_epi16::<2>;
        by_32() = _mm256_srai_epi16::<5>;
        by_64() = _mm256_srai_epi16::<6>;
    }

    #[inline(always)]
    fn ordered(low: Self, high: Self) -> (Self, Self) {
        // SAFETY: a vector exists only where the processor has the instructions.
        unsafe {
            (
                Self(_mm256_permute2x128_si256::<0x20>(low.0, high.0)),
                Self(_mm256_permute2x128_si256::<0x31>(low.0, high.0)),
            )
        }
    }
    #[inline(always)]
    fn pack_ordered(self, other: Self) -> Self {
        // SAFETY: a vector exists only where the processor has the instructions.
        Self(unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(self.pack(other).0) })
    }
    #[inline(always)]
    fn sum(self) -> u32 {
        let (lower, upper) = self.lanes();
        lower.add_doublewords(upper).sum()
    }
    #[inline(always)]
    fn sum_lanes(self) -> [u16; 8] {
        let (lower, upper) = self.lanes();
        lower.add_words(upper).sum_lanes()
    }
}
