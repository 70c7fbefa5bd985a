use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::Lanes;

/// Eight lanes. Exists only where the processor has AVX2 and POPCNT.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Where `simd` allows it and the processor has it.
    pub fn new(simd: Simd) -> Option<Self> {
        use std::arch::is_x86_feature_detected as has;
        let allowed = matches!(simd, Simd::Avx2 | Simd::Avx512);
        let present = || has!("avx2") && has!("popcnt");
        (allowed && present()).then_some(Avx2(()))
    }
}

/// For each set of lanes that go: the numbers of those that stay, in order.
static KEPT: [[u8; 8]; 256] = kept();

const fn kept() -> [[u8; 8]; 256] {
    let mut kept = [[0; 8]; 256];
    let mut gone = 0;
    while gone < 256 {
        let (mut lane, mut to) = (0, 0);
        while lane < 8 {
            if gone >> lane & 1 == 0 {
                kept[gone][to] = lane as u8;
                to += 1;
            }
            lane += 1;
        }
        gone += 1;
    }
    kept
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise, and a set of eight lanes is less than 256.
impl Lanes for Avx2 {
    type V = __m256i;
    type Shift = __m128i;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(self, at: *const u32) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_loadu_si256(at.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, v: __m256i, at: *mut u32) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(at.cast(), v) }
    }

    #[inline(always)]
    fn splat(self, v: u32) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_set1_epi32(v as i32) }
    }

    #[inline(always)]
    fn shift(self, places: u8) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_cvtsi32_si128(places.into()) }
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_or_si256(a, b) }
    }

    #[inline(always)]
    fn or3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        self.or(self.or(a, b), c)
    }

    #[inline(always)]
    fn and_not(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_andnot_si256(a, b) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_add_epi32(a, b) }
    }

    #[inline(always)]
    fn left(self, a: __m256i, by: __m128i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_sll_epi32(a, by) }
    }

    #[inline(always)]
    fn right(self, a: __m256i, by: __m128i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_srl_epi32(a, by) }
    }

    #[inline(always)]
    fn both_ways(self, a: __m256i, by: __m128i) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe { [_mm256_sll_epi16(a, by), _mm256_srl_epi16(a, by)] }
    }

    #[inline(always)]
    fn high_as_low(self, a: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_srli_epi32::<16>(a) }
    }

    #[inline(always)]
    fn low_as_high(self, a: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_slli_epi32::<16>(a) }
    }

    #[inline(always)]
    fn halves(self, low: __m256i, high: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_blend_epi16::<0xaa>(low, high) }
    }

    #[inline(always)]
    fn full(self, a: __m256i) -> u32 {
        // SAFETY: as above.
        unsafe {
            let ones = _mm256_cmpeq_epi32(a, _mm256_set1_epi32(-1));
            _mm256_movemask_ps(_mm256_castsi256_ps(ones)) as u32
        }
    }

    #[inline(always)]
    fn high_full(self, a: __m256i) -> u32 {
        // SAFETY: as above.
        unsafe {
            let ones = _mm256_cmpeq_epi16(a, _mm256_set1_epi32(-1));
            _mm256_movemask_ps(_mm256_castsi256_ps(ones)) as u32
        }
    }

    #[inline(always)]
    fn keep<const W: usize>(self, gone: u32, mut words: [__m256i; W]) -> [__m256i; W] {
        // SAFETY: as above.
        let order = unsafe {
            let kept = KEPT.get_unchecked(gone as usize).as_ptr();
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(kept.cast()))
        };
        for word in &mut words {
            // SAFETY: as above.
            *word = unsafe { _mm256_permutevar8x32_epi32(*word, order) };
        }
        words
    }
}
