//! Vectors of 128 bits, with SSSE3 and SSE4.1.

use std::arch::x86_64::*;

use super::vector::{Vector, operations};

/// A value exists only where the processor has SSSE3 and SSE4.1.
#[derive(Clone, Copy)]
pub struct V128(pub __m128i);

// SAFETY: functions read and write what the trait says.
unsafe impl Vector for V128 {
    const LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(at: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm_loadu_si128(at.cast()) })
    }
    #[inline(always)]
    unsafe fn load_16(at: *const u8, _: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(at) }
    }
    #[inline(always)]
    unsafe fn load_8(at: *const u8, step: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe {
            let upper = _mm_loadl_epi64(at.add(step).cast());
            _mm_unpacklo_epi64(_mm_loadl_epi64(at.cast()), upper)
        })
    }
    #[inline(always)]
    unsafe fn load_low(at: *const u8, _: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm_loadl_epi64(at.cast()) })
    }
    #[inline(always)]
    unsafe fn words(value: i16) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm_set1_epi16(value) })
    }
    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storeu_si128(at.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn store_16(self, at: *mut u8, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.store(at) }
    }
    #[inline(always)]
    unsafe fn store_8(self, at: *mut u8, step: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm_storel_epi64(at.cast(), self.0);
            _mm_storel_epi64(at.add(step).cast(), _mm_unpackhi_epi64(self.0, self.0));
        }
    }
    #[inline(always)]
    unsafe fn store_sums(self, at: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe { _mm_storel_epi64(at.cast(), _mm_shuffle_epi32::<0b10_00>(self.0)) }
    }

    operations! {
        add_words(other) = _mm_add_epi16;
        add_saturating(other) = _mm_adds_epi16;
        sub_words(other) = _mm_sub_epi16;
        max_words(other) = _mm_max_epi16;
        abs_words() = _mm_abs_epi16;
        add_doublewords(other) = _mm_add_epi32;
        dot_words(other) = _mm_madd_epi16;
        dot_bytes(weights) = _mm_maddubs_epi16;
        average(other) = _mm_avg_epu8;
        sub_bytes(other) = _mm_subs_epu8;
        and(other) = _mm_and_si128;
        or(other) = _mm_or_si128;
        sad(other) = _mm_sad_epu8;
        sads_low(block) = _mm_mpsadbw_epu8::<0b000>;
        sads_high(block) = _mm_mpsadbw_epu8::<0b101>;
        zip_low(other) = _mm_unpacklo_epi8;
        zip_high(other) = _mm_unpackhi_epi8;
        pack(other) = _mm_packus_epi16;
        even_odd(other) = _mm_blend_epi16::<0b1010_1010>;
        odd_to_even() = _mm_srli_epi32::<16>;
        even_to_odd() = _mm_slli_epi32::<16>;
        odd_bytes() = _mm_srli_epi16::<8>;
        quarter() = _mm_srai_epi16::<2>;
        by_32() = _mm_srai_epi16::<5>;
        by_64() = _mm_srai_epi16::<6>;
        pack_ordered(other) = _mm_packus_epi16;
    }

    #[inline(always)]
    fn ordered(low: Self, high: Self) -> (Self, Self) {
        (low, high)
    }
    #[inline(always)]
    fn sum(self) -> u32 {
        // SAFETY: a vector exists only where the processor has the instructions.
        unsafe {
            let two = _mm_add_epi32(self.0, _mm_shuffle_epi32::<0b11_10>(self.0));
            let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b01>(two));
            _mm_cvtsi128_si32(one) as u32
        }
    }
    #[inline(always)]
    fn sum_lanes(self) -> [u16; 8] {
        let mut words = [0u16; 8];
        // SAFETY: eight words are a vector.
        unsafe { self.store(words.as_mut_ptr().cast()) };
        words
    }
}

impl V128 {
    /// Four rows of 4 bytes.
    ///
    /// # Safety
    /// As of [`Vector::load`].
    #[inline(always)]
    pub unsafe fn load_4x4(at: *const u8, stride: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let row =
                |y: usize| _mm_cvtsi32_si128(at.add(y * stride).cast::<i32>().read_unaligned());
            let above = _mm_unpacklo_epi32(row(0), row(1));
            let below = _mm_unpacklo_epi32(row(2), row(3));
            Self(_mm_unpacklo_epi64(above, below))
        }
    }

    operations! {
        pub zip_low_doublewords(other) = _mm_unpacklo_epi32;
        pub zip_high_doublewords(other) = _mm_unpackhi_epi32;
        pub low_halves(other) = _mm_unpacklo_epi64;
        pub high_halves(other) = _mm_unpackhi_epi64;
    }
}
