use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::Lanes;

/// Sixteen lanes. Exists only where the processor has AVX-512 F and BW, and POPCNT.
#[derive(Clone, Copy)]
pub struct Avx512(());

impl Avx512 {
    /// Where `simd` allows it and the processor has it.
    pub fn new(simd: Simd) -> Option<Self> {
        use std::arch::is_x86_feature_detected as has;
        let present = || has!("avx512f") && has!("avx512bw") && has!("popcnt");
        (simd == Simd::Avx512 && present()).then_some(Avx512(()))
    }
}

/// The high half of every lane.
const HIGH: __mmask32 = 0xaaaa_aaaa;

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Lanes for Avx512 {
    type V = __m512i;
    type Shift = __m128i;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn load(self, at: *const u32) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_loadu_si512(at.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, v: __m512i, at: *mut u32) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(at.cast(), v) }
    }

    #[inline(always)]
    fn splat(self, v: u32) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi32(v as i32) }
    }

    #[inline(always)]
    fn shift(self, places: u8) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_cvtsi32_si128(places.into()) }
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_or_si512(a, b) }
    }

    #[inline(always)]
    fn or3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_ternarylogic_epi32::<0xfe>(a, b, c) }
    }

    #[inline(always)]
    fn and_not(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_andnot_si512(a, b) }
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn left(self, a: __m512i, by: __m128i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_sll_epi32(a, by) }
    }

    #[inline(always)]
    fn right(self, a: __m512i, by: __m128i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_srl_epi32(a, by) }
    }

    #[inline(always)]
    fn both_ways(self, a: __m512i, by: __m128i) -> [__m512i; 2] {
        // SAFETY: as above.
        unsafe { [_mm512_sll_epi16(a, by), _mm512_srl_epi16(a, by)] }
    }

    #[inline(always)]
    fn high_as_low(self, a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_srli_epi32::<16>(a) }
    }

    #[inline(always)]
    fn low_as_high(self, a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_slli_epi32::<16>(a) }
    }

    #[inline(always)]
    fn halves(self, low: __m512i, high: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_mask_mov_epi16(low, HIGH, high) }
    }

    #[inline(always)]
    fn full(self, a: __m512i) -> u32 {
        // SAFETY: as above.
        unsafe { _mm512_cmpeq_epi32_mask(a, _mm512_set1_epi32(-1)).into() }
    }

    #[inline(always)]
    fn high_full(self, a: __m512i) -> u32 {
        // SAFETY: as above.
        unsafe { _mm512_cmpge_epu32_mask(a, _mm512_set1_epi32(0xffff_0000_u32 as i32)).into() }
    }

    #[inline(always)]
    fn keep<const W: usize>(self, gone: u32, mut words: [__m512i; W]) -> [__m512i; W] {
        for word in &mut words {
            // SAFETY: as above.
            *word = unsafe { _mm512_maskz_compress_epi32(!gone as __mmask16, *word) };
        }
        words
    }
}
