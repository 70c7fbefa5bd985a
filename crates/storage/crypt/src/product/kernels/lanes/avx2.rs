use std::arch::x86_64::*;

use evener_runtime::Simd;

use super::Lanes;
use crate::product::skipjack::F;

/// 32 bytes. Exists only where the processor has AVX2.
#[derive(Clone, Copy)]
pub struct Avx2(&'static Tables);

impl Avx2 {
    /// Where `simd` allows it and the processor has it.
    pub fn new(simd: Simd) -> Option<Self> {
        let allowed = matches!(simd, Simd::Avx2 | Simd::Avx512);
        // A compiler that knew the constants would make more operations of fewer.
        (allowed && std::arch::is_x86_feature_detected!("avx2"))
            .then(|| Avx2(std::hint::black_box(&TABLES)))
    }
}

/// What F is looked up in.
#[repr(align(32))]
struct Tables {
    /// Rows of sixteen entries by bits 5 and 6 ^ 7 of what is looked up; within these four, the row where bits 4 and 7
    /// are 1, and what changes it where bit 4 is 0, where bit 7 is 0, where both are.
    rows: [[[u8; 16]; 4]; 4],
    /// What takes the low five or six bits, and what carries bit 6, 5 or 4 of them to bit 7.
    constants: [__m256i; 5],
    /// 1 in 16 bits.
    one: __m256i,
}

static TABLES: Tables = Tables {
    rows: rows(),
    constants: [
        register([0x1f; 2]),
        register([0x3f; 2]),
        register([0x40; 2]),
        register([0x60; 2]),
        register([0x70; 2]),
    ],
    one: register([1, 0]),
};

/// Two bytes, over and over.
const fn register(bytes: [u8; 2]) -> __m256i {
    // SAFETY: any 32 bytes are a register's value.
    unsafe { std::mem::transmute([bytes; 16]) }
}

const fn rows() -> [[[u8; 16]; 4]; 4] {
    let mut rows = [[[0; 16]; 4]; 4];
    let mut at = 0;
    while at < 64 {
        let (four, entry) = (at / 16, at % 16);
        // Where bit 7 is 0, bit 6 is what their difference is.
        let (five, differ) = ((four & 1) << 5, four >> 1);
        let (zero, one) = (
            five | differ << 6 | entry,
            0x80 | five | (1 - differ) << 6 | entry,
        );
        let (both, seven, four_only, none) = (F[one | 0x10], F[one], F[zero | 0x10], F[zero]);
        rows[four][0][entry] = both;
        rows[four][1][entry] = both ^ seven;
        rows[four][2][entry] = both ^ four_only;
        rows[four][3][entry] = both ^ seven ^ four_only ^ none;
        at += 1;
    }
    rows
}

// SAFETY of every block: `self` exists, so the processor has the instructions; loads and stores are the caller's
// promise.
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
            let below = _mm256_min_epu16(_mm256_subs_epu16(high, low), self.0.one);
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
    /// A shuffle looks up one row of sixteen by the low four bits, and gives 0 where the highest bit is set. So bits 4
    /// and 7 need no blend: each of four rows changes the entry, or does not. Bits 5 and 6 ^ 7 blend.
    ///
    /// Bound: 16 shuffles and 3 blends on two pipes, 39 operations on four, so 9.8 clocks for 32 bytes. Tried and no
    /// faster: rows for each byte of the key with the byte in them (more loads). Worse by count: more blends (they take
    /// the pipes of shuffles), no blends (50 operations), gathers (at three loads a clock 11 clocks for nothing else).
    #[inline(always)]
    fn substitute<const U: usize>(self, x: [__m256i; U], mut to: [__m256i; U]) -> [__m256i; U] {
        // SAFETY: above; a row has 16 bytes, a constant 32.
        unsafe {
            let t = self.0;
            let [low_five, low_six, x40, x60, x70] = t.constants;
            let (mut none, mut four, mut both, mut six, mut five) = (x, x, x, x, x);
            for u in 0..U {
                none[u] = _mm256_and_si256(x[u], low_five);
                four[u] = _mm256_add_epi8(none[u], x70);
                both[u] = _mm256_or_si256(four[u], x[u]);
                six[u] = _mm256_add_epi8(x[u], x40);
                five[u] = _mm256_add_epi8(_mm256_and_si256(x[u], low_six), x60);
            }
            let mut found = [x; 4];
            for (i, found) in found.iter_mut().enumerate() {
                let rows = &t.rows[i];
                let a = _mm256_broadcastsi128_si256(_mm_load_si128(rows[0].as_ptr().cast()));
                let b = _mm256_broadcastsi128_si256(_mm_load_si128(rows[1].as_ptr().cast()));
                let c = _mm256_broadcastsi128_si256(_mm_load_si128(rows[2].as_ptr().cast()));
                let d = _mm256_broadcastsi128_si256(_mm_load_si128(rows[3].as_ptr().cast()));
                for u in 0..U {
                    let none = _mm256_shuffle_epi8(a, none[u]);
                    let four = _mm256_shuffle_epi8(b, four[u]);
                    let seven = _mm256_shuffle_epi8(c, x[u]);
                    let both = _mm256_shuffle_epi8(d, both[u]);
                    let (seven, four) = (self.xor(seven, both), self.xor(none, four));
                    found[u] = self.xor(seven, four);
                }
            }
            for u in 0..U {
                let low = _mm256_blendv_epi8(found[0][u], found[1][u], five[u]);
                let high = _mm256_blendv_epi8(found[2][u], found[3][u], five[u]);
                to[u] = self.xor(to[u], _mm256_blendv_epi8(low, high, six[u]));
            }
            to
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
