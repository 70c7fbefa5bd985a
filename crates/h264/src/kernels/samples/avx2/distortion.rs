//! Sums of absolute differences, and of absolute transformed differences.

use std::arch::x86_64::*;

use super::super::holds;

pub fn sad_quads_x4(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    offsets: [usize; 4],
) -> [[u32; 4]; 4] {
    holds(a, a_stride, 16, 16);
    let last = offsets.into_iter().max().unwrap_or(0);
    holds(&b[last..], b_stride, 16, 16);
    // SAFETY: the table is only given out where there is AVX2, and both slices hold 16 rows of 16 from each offset.
    unsafe {
        let a = a.as_ptr();
        let rows: [__m256i; 8] = std::array::from_fn(|y| two(a.add(y * a_stride), 8 * a_stride));
        offsets.map(|offset| quads(&rows, b.as_ptr().add(offset), b_stride))
    }
}

/// 16 samples at `at`, and 16 that lie `distance` behind.
///
/// # Safety
/// They can be read; the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn two(at: *const u8, distance: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_loadu2_m128i(at.add(distance).cast(), at.cast()) }
}

/// # Safety
/// 16 rows of 16 can be read; the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn quads(rows: &[__m256i; 8], b: *const u8, stride: usize) -> [u32; 4] {
    let mut sum = _mm256_setzero_si256();
    for (y, row) in rows.iter().enumerate() {
        // SAFETY: the caller's promise.
        let other = unsafe { two(b.add(y * stride), 8 * stride) };
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(*row, other));
    }
    [
        _mm256_extract_epi32::<0>(sum) as u32,
        _mm256_extract_epi32::<2>(sum) as u32,
        _mm256_extract_epi32::<4>(sum) as u32,
        _mm256_extract_epi32::<6>(sum) as u32,
    ]
}

pub fn sad_8x8_x8(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> [u16; 8] {
    holds(a, a_stride, 8, 8);
    holds(b, b_stride, 16, 8);
    // SAFETY: the table is only given out where there is AVX2; 8 rows of 8 and of 16 can be read.
    unsafe { eight(a.as_ptr(), a_stride, b.as_ptr(), b_stride) }
}

/// # Safety
/// 8 rows of 8 of `a` and of 16 of `b` can be read; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn eight(a: *const u8, a_stride: usize, b: *const u8, b_stride: usize) -> [u16; 8] {
    let mut sum = _mm256_setzero_si256();
    for y in 0..4 {
        // SAFETY: the caller's promise.
        let (block, reference) = unsafe {
            let low = _mm_loadl_epi64(a.add(y * a_stride).cast());
            let high = _mm_loadl_epi64(a.add((y + 4) * a_stride).cast());
            let block = _mm256_set_m128i(high, low);
            (block, two(b.add(y * b_stride), 4 * b_stride))
        };
        // The first four samples of a row against offsets 0 to 7, the other four against 4 to 11.
        sum = _mm256_add_epi16(sum, _mm256_mpsadbw_epu8::<0b000_000>(reference, block));
        sum = _mm256_add_epi16(sum, _mm256_mpsadbw_epu8::<0b101_101>(reference, block));
    }
    let sum = _mm_add_epi16(
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    );
    let mut sums = [0; 8];
    // SAFETY: the array has 16 bytes.
    unsafe { _mm_storeu_si128(sums.as_mut_ptr().cast(), sum) };
    sums
}

/// Where the 16 samples of four blocks side by side, or of two above two, come from.
trait Rows: Copy {
    /// Sixteen samples: row `y` of each block, in 8 bits.
    ///
    /// # Safety
    /// They can be read; the processor has AVX2.
    unsafe fn row(self, y: usize) -> __m128i;
    /// The blocks below.
    ///
    /// # Safety
    /// They lie in the same slice.
    unsafe fn below(self) -> Self;
}

/// Rows of 16 samples.
#[derive(Clone, Copy)]
struct Wide(*const u8, usize);

impl Rows for Wide {
    #[inline(always)]
    unsafe fn row(self, y: usize) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe { _mm_loadu_si128(self.0.add(y * self.1).cast()) }
    }
    #[inline(always)]
    unsafe fn below(self) -> Self {
        // SAFETY: the caller's promise.
        Wide(unsafe { self.0.add(4 * self.1) }, self.1)
    }
}

/// Rows of 8 samples, and of 8 samples 4 rows below.
#[derive(Clone, Copy)]
struct Narrow(*const u8, usize);

impl Rows for Narrow {
    #[inline(always)]
    unsafe fn row(self, y: usize) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe {
            _mm_unpacklo_epi64(
                _mm_loadl_epi64(self.0.add(y * self.1).cast()),
                _mm_loadl_epi64(self.0.add((y + 4) * self.1).cast()),
            )
        }
    }
    #[inline(always)]
    unsafe fn below(self) -> Self {
        // SAFETY: the caller's promise.
        Narrow(unsafe { self.0.add(8 * self.1) }, self.1)
    }
}

/// The average of two.
#[derive(Clone, Copy)]
struct Average<R>(R, R);

impl<R: Rows> Rows for Average<R> {
    #[inline(always)]
    unsafe fn row(self, y: usize) -> __m128i {
        // SAFETY: the caller's promise; SSE2 is always there.
        unsafe { _mm_avg_epu8(self.0.row(y), self.1.row(y)) }
    }
    #[inline(always)]
    unsafe fn below(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Average(self.0.below(), self.1.below()) }
    }
}

/// The halved sum over `groups` times four blocks.
///
/// # Safety
/// All rows can be read; the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn satd<A: Rows, B: Rows>(mut a: A, mut b: B, groups: usize) -> u32 {
    let mut sum = _mm256_setzero_si256();
    for group in 0..groups {
        // SAFETY: the caller's promise.
        let rows = unsafe { [0, 1, 2, 3].map(|y| (a.row(y), b.row(y))) };
        sum = _mm256_add_epi16(sum, four_blocks(rows));
        if group + 1 < groups {
            // SAFETY: there are further rows.
            (a, b) = unsafe { (a.below(), b.below()) };
        }
    }
    // At most 8 values of 4080 were added in each lane.
    let pairs = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
    let sum = _mm_add_epi32(
        _mm256_castsi256_si128(pairs),
        _mm256_extracti128_si256::<1>(pairs),
    );
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
    _mm_cvtsi128_si32(sum) as u32
}

/// Sums for four 4x4 blocks whose rows are side by side. |a + b| + |a - b| is twice the larger of |a| and |b|, so the last
/// step of the transform is a maximum, and the sum is halved by itself.
#[target_feature(enable = "avx2")]
#[inline]
fn four_blocks(rows: [(__m128i, __m128i); 4]) -> __m256i {
    let [a, b, c, d] =
        rows.map(|(a, b)| _mm256_sub_epi16(_mm256_cvtepu8_epi16(a), _mm256_cvtepu8_epi16(b)));
    let (p, q) = (_mm256_add_epi16(a, b), _mm256_sub_epi16(a, b));
    let (r, s) = (_mm256_add_epi16(c, d), _mm256_sub_epi16(c, d));
    let (a, b) = (_mm256_add_epi16(p, r), _mm256_add_epi16(q, s));
    let (c, d) = (_mm256_sub_epi16(p, r), _mm256_sub_epi16(q, s));
    _mm256_add_epi16(across(a, b), across(c, d))
}

/// The transform along two rows, up to its last step.
#[target_feature(enable = "avx2")]
#[inline]
fn across(a: __m256i, b: __m256i) -> __m256i {
    let even = _mm256_blend_epi16::<0xaa>(a, _mm256_slli_epi32::<16>(b));
    let odd = _mm256_blend_epi16::<0xaa>(_mm256_srli_epi32::<16>(a), b);
    let sum = _mm256_abs_epi16(_mm256_add_epi16(even, odd));
    let difference = _mm256_abs_epi16(_mm256_sub_epi16(even, odd));
    let left = _mm256_blend_epi16::<0xcc>(sum, _mm256_slli_epi64::<32>(difference));
    let right = _mm256_blend_epi16::<0xcc>(_mm256_srli_epi64::<32>(sum), difference);
    _mm256_max_epi16(left, right)
}

pub fn satd_wide<const H: usize>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    holds(a, a_stride, 16, H);
    holds(b, b_stride, 16, H);
    // SAFETY: the table is only given out where there is AVX2; both hold H rows of 16.
    unsafe {
        satd(
            Wide(a.as_ptr(), a_stride),
            Wide(b.as_ptr(), b_stride),
            H / 4,
        )
    }
}

pub fn satd_narrow<const H: usize>(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    holds(a, a_stride, 8, H);
    holds(b, b_stride, 8, H);
    // SAFETY: the table is only given out where there is AVX2; both hold H rows of 8.
    unsafe {
        satd(
            Narrow(a.as_ptr(), a_stride),
            Narrow(b.as_ptr(), b_stride),
            H / 8,
        )
    }
}

pub fn satd_average_wide<const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    c: &[u8],
    c_stride: usize,
) -> u32 {
    holds(a, a_stride, 16, H);
    holds(b, b_stride, 16, H);
    holds(c, c_stride, 16, H);
    let average = Average(Wide(b.as_ptr(), b_stride), Wide(c.as_ptr(), c_stride));
    // SAFETY: the table is only given out where there is AVX2; all hold H rows of 16.
    unsafe { satd(Wide(a.as_ptr(), a_stride), average, H / 4) }
}

pub fn satd_average_narrow<const H: usize>(
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    c: &[u8],
    c_stride: usize,
) -> u32 {
    holds(a, a_stride, 8, H);
    holds(b, b_stride, 8, H);
    holds(c, c_stride, 8, H);
    let average = Average(Narrow(b.as_ptr(), b_stride), Narrow(c.as_ptr(), c_stride));
    // SAFETY: the table is only given out where there is AVX2; all hold H rows of 8.
    unsafe { satd(Narrow(a.as_ptr(), a_stride), average, H / 8) }
}

pub fn satd_4x4(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize) -> u32 {
    holds(a, a_stride, 4, 4);
    holds(b, b_stride, 4, 4);
    let row = |s: &[u8], stride: usize, y: usize| {
        i32::from_le_bytes(s[y * stride..y * stride + 4].try_into().expect("4 samples"))
    };
    // SAFETY: the table is only given out where there is AVX2.
    unsafe { one_block([0, 1, 2, 3].map(|y| (row(a, a_stride, y), row(b, b_stride, y)))) }
}

/// As [`four_blocks`], with one block beside three empty ones.
#[target_feature(enable = "avx2")]
#[inline]
fn one_block(rows: [(i32, i32); 4]) -> u32 {
    let [a, b, c, d] = rows.map(|(a, b)| {
        let widen = |row| _mm_cvtepu8_epi16(_mm_cvtsi32_si128(row));
        _mm_sub_epi16(widen(a), widen(b))
    });
    let (p, q) = (_mm_add_epi16(a, b), _mm_sub_epi16(a, b));
    let (r, s) = (_mm_add_epi16(c, d), _mm_sub_epi16(c, d));
    let upper = _mm_unpacklo_epi64(_mm_add_epi16(p, r), _mm_sub_epi16(p, r));
    let lower = _mm_unpacklo_epi64(_mm_add_epi16(q, s), _mm_sub_epi16(q, s));
    let even = _mm_blend_epi16::<0xaa>(upper, _mm_slli_epi32::<16>(lower));
    let odd = _mm_blend_epi16::<0xaa>(_mm_srli_epi32::<16>(upper), lower);
    let sum = _mm_abs_epi16(_mm_add_epi16(even, odd));
    let difference = _mm_abs_epi16(_mm_sub_epi16(even, odd));
    let left = _mm_blend_epi16::<0xcc>(sum, _mm_slli_epi64::<32>(difference));
    let right = _mm_blend_epi16::<0xcc>(_mm_srli_epi64::<32>(sum), difference);
    let sum = _mm_madd_epi16(_mm_max_epi16(left, right), _mm_set1_epi16(1));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
    _mm_cvtsi128_si32(sum) as u32
}
