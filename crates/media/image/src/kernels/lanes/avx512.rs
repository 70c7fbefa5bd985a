use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::vector::Lanes;

/// 16 lanes. Exists only where the processor has AVX-512F, AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// Where `simd` allows it and the processor has it.
    #[inline]
    pub fn new(simd: Simd) -> Option<Self> {
        crate::kernels::has_avx512(simd).then_some(Avx512(()))
    }
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Lanes for Avx512 {
    type V = __m512;
    const N: usize = 16;

    #[inline(always)]
    unsafe fn load(self, at: *const f32) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_loadu_ps(at) }
    }
    #[inline(always)]
    unsafe fn store(self, v: __m512, at: *mut f32) {
        // SAFETY: above.
        unsafe { _mm512_storeu_ps(at, v) }
    }
    #[inline(always)]
    fn count(self, v: f32) -> __m512 {
        // SAFETY: above.
        let lanes = unsafe {
            _mm512_setr_ps(
                0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0,
                15.0,
            )
        };
        self.add(self.splat(v), lanes)
    }
    #[inline(always)]
    fn splat(self, v: f32) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_set1_ps(v) }
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    /// Doubling is exact, so it is the same whether rounded by itself or not; multipliers are less busy than adders.
    #[inline(always)]
    fn smooth(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        self.mul_add(b, self.splat(2.0), self.add(a, c))
    }
    #[inline(always)]
    fn sqrt(self, v: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_sqrt_ps(v) }
    }
    #[inline(always)]
    fn keep_above(self, v: __m512, a: __m512, b: __m512) -> __m512 {
        // SAFETY: above.
        unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), v) }
    }
    #[inline(always)]
    fn any_above(self, a: __m512, b: __m512) -> bool {
        // SAFETY: above.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) != 0 }
    }
    #[inline(always)]
    fn before(self, v: __m512) -> __m512 {
        // SAFETY: above.
        unsafe {
            let lanes = _mm512_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
            _mm512_permutexvar_ps(lanes, v)
        }
    }
    #[inline(always)]
    fn after(self, v: __m512) -> __m512 {
        // SAFETY: above.
        unsafe {
            let lanes = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15);
            _mm512_permutexvar_ps(lanes, v)
        }
    }
}
