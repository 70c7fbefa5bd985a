use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::blocks::Blocks;

/// One block. Exists only where the processor has AES-NI, PCLMULQDQ and SSE4.1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ni(());

impl Ni {
    /// Where `simd` allows it and the processor has it.
    pub(crate) fn new(simd: Simd) -> Option<Self> {
        let allowed = matches!(simd, Simd::Sse2 | Simd::Avx2 | Simd::Avx512);
        let has = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("sse4.1");
        (allowed && has).then_some(Ni(()))
    }

    /// The lower half in the upper half's place, zeros below.
    #[inline(always)]
    pub(crate) fn up(self, v: __m128i) -> __m128i {
        // SAFETY: as of the trait below.
        unsafe { _mm_slli_si128::<8>(v) }
    }

    /// The upper half in the lower half's place, zeros above.
    #[inline(always)]
    pub(crate) fn down(self, v: __m128i) -> __m128i {
        // SAFETY: as of the trait below.
        unsafe { _mm_srli_si128::<8>(v) }
    }
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Blocks for Ni {
    type V = __m128i;
    const N: usize = 1;

    #[inline(always)]
    fn single(self) -> Ni {
        self
    }
    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_loadu_si128(at.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, v: __m128i, at: *mut u8) {
        // SAFETY: above.
        unsafe { _mm_storeu_si128(at.cast(), v) }
    }
    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_xor_si128(a, b) }
    }
    #[inline(always)]
    fn xor3(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        self.xor(self.xor(a, b), c)
    }
    #[inline(always)]
    fn round(self, state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_aesenc_si128(state, key) }
    }
    #[inline(always)]
    fn last_round(self, state: __m128i, key: __m128i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_aesenclast_si128(state, key) }
    }
    #[inline(always)]
    fn reversed(self, v: __m128i) -> __m128i {
        // SAFETY: above; SSSE3 comes with SSE4.1.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm_shuffle_epi8(v, order)
        }
    }
    #[inline(always)]
    fn add(self, v: __m128i, n: u64) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_add_epi64(v, _mm_set_epi64x(0, n as i64)) }
    }
    #[inline(always)]
    fn product<const HALVES: i32>(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_clmulepi64_si128::<HALVES>(a, b) }
    }
    #[inline(always)]
    fn swapped(self, v: __m128i) -> __m128i {
        // SAFETY: above.
        unsafe { _mm_shuffle_epi32::<0b01_00_11_10>(v) }
    }
    #[inline(always)]
    fn repeated(self, v: __m128i) -> __m128i {
        v
    }
    #[inline(always)]
    fn widened(self, v: __m128i) -> __m128i {
        v
    }
    #[inline(always)]
    fn sum(self, v: __m128i) -> __m128i {
        v
    }
}
