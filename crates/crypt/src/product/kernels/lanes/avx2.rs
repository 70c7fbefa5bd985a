use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::Lanes;
use crate::product::skipjack::F;

/// 32 bytes. Exists only where the processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// Where `simd` allows it and the processor has it.
    pub fn new(simd: Simd) -> Option<Self> {
        let allowed = matches!(simd, Simd::Avx2 | Simd::Avx512);
        (allowed && std::arch::is_x86_feature_detected!("avx2")).then_some(Avx2(()))
    }
}

/// A row of sixteen entries of F.
#[repr(align(16))]
struct Row([u8; 16]);

/// Rows of F in pairs: the odd row, and what makes the even one of it.
static ROWS: [[Row; 2]; 8] = rows();

const fn rows() -> [[Row; 2]; 8] {
    let mut rows = [const { [Row([0; 16]), Row([0; 16])] }; 8];
    let mut at = 0;
    while at < 128 {
        let (pair, entry) = (at / 16, at % 16);
        let (even, odd) = (F[32 * pair + entry], F[32 * pair + 16 + entry]);
        rows[pair][0].0[entry] = odd;
        rows[pair][1].0[entry] = even ^ odd;
        at += 1;
    }
    rows
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's promise.
impl Lanes for Avx2 {
    type V = __m256i;
    const BYTES: usize = 32;

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
    fn splat(self, v: u32) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_set1_epi32(v as i32) }
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
    fn add16(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_add_epi16(a, b) }
    }
    #[inline(always)]
    fn sub16(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_sub_epi16(a, b) }
    }
    /// The product's low half minus its high half, plus 1 if that fell below 0. Of 2¹⁶ · k the high half is k.
    #[inline(always)]
    fn mul16(self, a: __m256i, k: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe {
            let zero = _mm256_cmpeq_epi16(a, _mm256_setzero_si256());
            let low = _mm256_mullo_epi16(a, k);
            let high = _mm256_blendv_epi8(_mm256_mulhi_epu16(a, k), k, zero);
            let below = _mm256_min_epu16(_mm256_subs_epu16(high, low), _mm256_set1_epi16(1));
            _mm256_add_epi16(_mm256_sub_epi16(low, high), below)
        }
    }
    #[inline(always)]
    fn add32(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sub32(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe { _mm256_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn shifted(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: above.
        let (left, right) = unsafe { (_mm256_slli_epi32::<9>(a), _mm256_srli_epi32::<14>(a)) };
        self.xor3(left, b, right)
    }
    /// A shuffle looks up one row of sixteen by the low four bits, and gives 0 where the highest bit is set. That bit
    /// gets bit 4, so that a pair of rows needs no blend; bits 5, 6 and 7 blend pairs.
    ///
    /// Bound: 36 operations on four pipes for 32 bytes.
    #[inline(always)]
    fn substitute(self, x: __m256i, to: __m256i) -> __m256i {
        // SAFETY: above; a row has 16 bytes.
        unsafe {
            let odd = _mm256_and_si256(x, _mm256_set1_epi8(0x1f));
            let even = _mm256_add_epi8(odd, _mm256_set1_epi8(0x70));
            let six = _mm256_add_epi8(x, x);
            let five = _mm256_add_epi8(six, six);
            macro_rules! pair {
                ($at:literal) => {{
                    let [a, b] = &ROWS[$at];
                    let a = _mm256_broadcastsi128_si256(_mm_load_si128((&raw const *a).cast()));
                    let b = _mm256_broadcastsi128_si256(_mm_load_si128((&raw const *b).cast()));
                    _mm256_xor_si256(_mm256_shuffle_epi8(a, odd), _mm256_shuffle_epi8(b, even))
                }};
            }
            macro_rules! four {
                ($a:literal $b:literal) => {
                    _mm256_blendv_epi8(pair!($a), pair!($b), five)
                };
            }
            let low = _mm256_blendv_epi8(four!(0 1), four!(2 3), six);
            let high = _mm256_blendv_epi8(four!(4 5), four!(6 7), six);
            _mm256_xor_si256(to, _mm256_blendv_epi8(low, high, x))
        }
    }
    #[inline(always)]
    fn pair_bytes(self, v: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe {
            let from = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
            _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(from))
        }
    }
    #[inline(always)]
    fn part_bytes(self, v: __m256i) -> __m256i {
        // SAFETY: above.
        unsafe {
            let from = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
            _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(from))
        }
    }
    #[inline(always)]
    fn unpack8(self, a: __m256i, b: __m256i) -> [__m256i; 2] {
        // SAFETY: above.
        unsafe { [_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)] }
    }
    #[inline(always)]
    fn unpack16(self, a: __m256i, b: __m256i) -> [__m256i; 2] {
        // SAFETY: above.
        unsafe { [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)] }
    }
    #[inline(always)]
    fn pack8(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: above.
        unsafe {
            let even = _mm256_set1_epi16(0xff);
            [
                _mm256_packus_epi16(_mm256_and_si256(a, even), _mm256_and_si256(b, even)),
                _mm256_packus_epi16(_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b)),
            ]
        }
    }
    #[inline(always)]
    fn pack16(self, [a, b]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: above.
        unsafe {
            let even = _mm256_set1_epi32(0xffff);
            [
                _mm256_packus_epi32(_mm256_and_si256(a, even), _mm256_and_si256(b, even)),
                _mm256_packus_epi32(_mm256_srli_epi32::<16>(a), _mm256_srli_epi32::<16>(b)),
            ]
        }
    }
}
