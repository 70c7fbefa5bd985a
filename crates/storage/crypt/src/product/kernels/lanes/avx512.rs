use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::Lanes;
use crate::product::skipjack::F;

/// 64 bytes. Exists only where the processor has AVX-512 F, BW and VBMI; the last is what looks up tables of 128
/// bytes.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// Where `simd` allows it and the processor has it.
    pub fn new(simd: Simd) -> Option<Self> {
        use std::arch::is_x86_feature_detected as has;
        let present = has!("avx512f") && has!("avx512bw") && has!("avx512vbmi");
        (simd == Simd::Avx512 && present).then_some(Avx512(()))
    }
}

/// F in two halves: the lower one, and what makes the upper one of it.
#[repr(align(64))]
struct Halves([[u8; 128]; 2]);

static HALVES: Halves = halves();

const fn halves() -> Halves {
    let mut halves = Halves([[0; 128]; 2]);
    let mut at = 0;
    while at < 128 {
        halves.0[0][at] = F[at];
        halves.0[1][at] = F[at] ^ F[at + 128];
        at += 1;
    }
    halves
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
impl Lanes for Avx512 {
    type V = __m512i;
    const BYTES: usize = 64;

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
    fn splat(self, v: u32) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_set1_epi32(v as i32) }
    }
    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_ternarylogic_epi32::<0x96>(a, b, c) }
    }
    #[inline(always)]
    fn add16(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_add_epi16(a, b) }
    }
    #[inline(always)]
    fn sub16(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_sub_epi16(a, b) }
    }
    /// The product's low half minus its high half, plus 1 if that fell below 0. Of 2¹⁶ · k the high half is k.
    #[inline(always)]
    fn mul16(self, a: __m512i, k: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe {
            let low = _mm512_mullo_epi16(a, k);
            let high = _mm512_mask_mulhi_epu16(k, _mm512_test_epi16_mask(a, a), a, k);
            let below = _mm512_cmplt_epu16_mask(low, high);
            let difference = _mm512_sub_epi16(low, high);
            _mm512_mask_sub_epi16(difference, below, difference, _mm512_set1_epi16(-1))
        }
    }
    #[inline(always)]
    fn add32(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sub32(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe { _mm512_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn shifted(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: above.
        let (left, right) = unsafe { (_mm512_slli_epi32::<9>(a), _mm512_srli_epi32::<14>(a)) };
        self.xor3(left, b, right)
    }
    /// The lower half of F by the low seven bits, changed into the upper half where the highest bit is set.
    ///
    /// Bound: two shuffles of two registers on one pipe, and three operations: 2.5 clocks for 64 bytes on a Zen 4, by
    /// count.
    #[inline(always)]
    fn substitute<const U: usize>(self, x: [__m512i; U], mut to: [__m512i; U]) -> [__m512i; U] {
        // SAFETY: above; each half of F has 128 bytes.
        unsafe {
            let at = HALVES.0.as_ptr().cast::<u8>();
            let part = |n: usize| _mm512_load_si512(at.add(64 * n).cast());
            for u in 0..U {
                let lower = _mm512_permutex2var_epi8(part(0), x[u], part(1));
                let upper = _mm512_movepi8_mask(x[u]);
                let change = _mm512_maskz_permutex2var_epi8(upper, part(2), x[u], part(3));
                to[u] = self.xor3(to[u], lower, change);
            }
            to
        }
    }
    #[inline(always)]
    fn pair_bytes(self, v: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe {
            let from = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
            _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(from))
        }
    }
    #[inline(always)]
    fn part_bytes(self, v: __m512i) -> __m512i {
        // SAFETY: above.
        unsafe {
            let from = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
            _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(from))
        }
    }
    #[inline(always)]
    fn unpack8(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        // SAFETY: above.
        unsafe { [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)] }
    }
    #[inline(always)]
    fn unpack16(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        // SAFETY: above.
        unsafe { [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)] }
    }
    #[inline(always)]
    fn pack8(self, [a, b]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: above.
        unsafe {
            let even = _mm512_set1_epi16(0xff);
            [
                _mm512_packus_epi16(_mm512_and_si512(a, even), _mm512_and_si512(b, even)),
                _mm512_packus_epi16(_mm512_srli_epi16::<8>(a), _mm512_srli_epi16::<8>(b)),
            ]
        }
    }
    #[inline(always)]
    fn pack16(self, [a, b]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: above.
        unsafe {
            let even = _mm512_set1_epi32(0xffff);
            [
                _mm512_packus_epi32(_mm512_and_si512(a, even), _mm512_and_si512(b, even)),
                _mm512_packus_epi32(_mm512_srli_epi32::<16>(a), _mm512_srli_epi32::<16>(b)),
            ]
        }
    }
}
