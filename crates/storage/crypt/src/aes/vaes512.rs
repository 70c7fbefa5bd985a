use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::blocks::Blocks;
use super::ni::Ni;
use super::vaes256::Vaes256;

/// Four blocks. Exists only where the processor has AVX-512 F, BW and VL and what [`Vaes256`] needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vaes512(Vaes256);

impl Vaes512 {
    /// Where `simd` allows it and the processor has it.
    pub(crate) fn new(simd: Simd) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        let narrower = Vaes256::new(simd);
        narrower
            .filter(|_| simd == Simd::Avx512 && has)
            .map(Vaes512)
    }
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Blocks for Vaes512 {
    type V = __m512i;
    const N: usize = 4;

    #[inline(always)]
    fn single(self) -> Ni {
        self.0.single()
    }
    #[inline(always)]
    unsafe fn load(self, at: *const u8) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_loadu_si512(at.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, v: __m512i, at: *mut u8) {
        // SAFETY: above.
        unsafe { _mm512_storeu_si512(at.cast(), v) }
    }
    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_ternarylogic_epi64::<0b1001_0110>(a, b, c) }
    }
    #[inline(always)]
    fn round(self, state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_aesenc_epi128(state, key) }
    }
    #[inline(always)]
    fn last_round(self, state: __m512i, key: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_aesenclast_epi128(state, key) }
    }
    #[inline(always)]
    fn reversed(self, v: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe {
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order))
        }
    }
    #[inline(always)]
    fn add(self, v: __m512i, n: u64) -> __m512i {
        // SAFETY: above.
        unsafe {
            let n = _mm_set_epi64x(0, n as i64);
            _mm512_add_epi64(v, _mm512_broadcast_i32x4(n))
        }
    }
    #[inline(always)]
    fn product<const HALVES: i32>(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_clmulepi64_epi128::<HALVES>(a, b) }
    }
    #[inline(always)]
    fn swapped(self, v: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_shuffle_epi32::<0b01_00_11_10>(v) }
    }
    #[inline(always)]
    fn repeated(self, v: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_broadcast_i32x4(_mm512_castsi512_si128(v)) }
    }
    #[inline(always)]
    fn widened(self, v: __m128i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_zextsi128_si512(v) }
    }
    #[inline(always)]
    fn sum(self, v: __m512i) -> __m128i {
        // SAFETY: above.
        unsafe {
            let half =
                _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v));
            self.0.sum(half)
        }
    }
}
