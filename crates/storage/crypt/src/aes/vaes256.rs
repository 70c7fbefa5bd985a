use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::blocks::Blocks;
use super::ni::Ni;

/// Two blocks. Exists only where the processor has VAES and VPCLMULQDQ beside AVX2 and what [`Ni`] needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vaes256(Ni);

impl Vaes256 {
    /// Where `simd` allows it and the processor has it.
    pub(crate) fn new(simd: Simd) -> Option<Self> {
        let allowed = matches!(simd, Simd::Avx2 | Simd::Avx512);
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq");
        Ni::new(simd).filter(|_| allowed && has).map(Vaes256)
    }
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Blocks for Vaes256 {
    type V = __m256i;
    const N: usize = 2;

    #[inline(always)]
    fn single(self) -> Ni {
        self.0
    }
    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_loadu_si256(at.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, v: __m256i, at: *mut u8) {
        // SAFETY: above.
        unsafe { _mm256_storeu_si256(at.cast(), v) }
    }
    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_xor_si256(a, b) }
    }
    #[inline(always)]
    fn xor3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        self.xor(self.xor(a, b), c)
    }
    #[inline(always)]
    fn round(self, state: __m256i, key: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_aesenc_epi128(state, key) }
    }
    #[inline(always)]
    fn last_round(self, state: __m256i, key: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_aesenclast_epi128(state, key) }
    }
    #[inline(always)]
    fn reversed(self, v: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(order))
        }
    }
    #[inline(always)]
    fn add(self, v: __m256i, n: u64) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_add_epi64(v, _mm256_setr_epi64x(n as i64, 0, n as i64, 0)) }
    }
    #[inline(always)]
    fn product<const HALVES: i32>(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_clmulepi64_epi128::<HALVES>(a, b) }
    }
    #[inline(always)]
    fn swapped(self, v: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_shuffle_epi32::<0b01_00_11_10>(v) }
    }
    #[inline(always)]
    fn repeated(self, v: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_broadcastsi128_si256(_mm256_castsi256_si128(v)) }
    }
    #[inline(always)]
    fn widened(self, v: __m128i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_zextsi128_si256(v) }
    }
    #[inline(always)]
    fn sum(self, v: __m256i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v)) }
    }
}
