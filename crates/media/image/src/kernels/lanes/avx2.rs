use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::vector::Lanes;

/// 8 lanes. Exists only where the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// Where `simd` allows it and the processor has it.
    #[inline]
    pub fn new(simd: Simd) -> Option<Self> {
        crate::kernels::has_avx2(simd).then_some(Avx2(()))
    }
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Lanes for Avx2 {
    type V = __m256;
    const N: usize = 8;

    #[inline(always)]
    unsafe fn load(self, at: *const f32) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_loadu_ps(at) }
    }
    #[inline(always)]
    unsafe fn store(self, v: __m256, at: *mut f32) {
        // SAFETY: above.
        unsafe { _mm256_storeu_ps(at, v) }
    }
    #[inline(always)]
    fn count(self, v: f32) -> __m256 {
        // SAFETY: above.
        let lanes = unsafe { _mm256_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0) };
        self.add(self.splat(v), lanes)
    }
    #[inline(always)]
    fn splat(self, v: f32) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_set1_ps(v) }
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    /// Doubling is exact, so it is the same whether rounded by itself or not; multipliers are less busy than adders.
    #[inline(always)]
    fn smooth(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.mul_add(b, self.splat(2.0), self.add(a, c))
    }
    #[inline(always)]
    fn sqrt(self, v: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_sqrt_ps(v) }
    }
    #[inline(always)]
    fn keep_above(self, v: __m256, a: __m256, b: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_and_ps(v, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) }
    }
    #[inline(always)]
    fn any_above(self, a: __m256, b: __m256) -> bool {
        // SAFETY: above.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) != 0 }
    }
    #[inline(always)]
    fn before(self, v: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)) }
    }
    #[inline(always)]
    fn after(self, v: __m256) -> __m256 {
        // SAFETY: above.
        unsafe { _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7)) }
    }
}
