//! The planes between samples.

use std::arch::x86_64::*;
use std::cell::RefCell;

use super::rest::{self, half_pel_at};

thread_local! {
    /// Sums of the six taps downwards, of a row.
    static SUMS: RefCell<Vec<i16>> = const { RefCell::new(Vec::new()) };
}

/// Samples that the taps read to the left, and to the right.
const LEFT: usize = 2;
const RIGHT: usize = 3;
/// Samples of a step.
const STEP: usize = 16;

pub fn half_pel([h, v, both]: [&mut [u8]; 3], plane: &[u8], stride: usize) {
    if stride < STEP + LEFT + RIGHT {
        return (rest::TABLE.half_pel)([h, v, both], plane, stride);
    }
    let rows = h.len() / stride;
    assert!(h.len() == rows * stride && v.len() == h.len() && both.len() == h.len());
    assert!(plane.len() >= (rows + 5) * stride);
    SUMS.with_borrow_mut(|sums| {
        sums.resize(stride, 0);
        for y in 0..rows {
            let row = y * stride..(y + 1) * stride;
            let from = &plane[y * stride..(y + 6) * stride];
            let (h, v, both) = (&mut h[row.clone()], &mut v[row.clone()], &mut both[row]);
            // SAFETY: the table is only given out where there is AVX2. All rows are `stride` long, which is more than a
            // step and what the taps read beside it; those of the plane are six.
            unsafe {
                downwards(from.as_ptr(), stride, v.as_mut_ptr(), sums.as_mut_ptr());
                let row = from.as_ptr().add(2 * stride);
                across(row, stride, h.as_mut_ptr());
                across_sums(sums.as_ptr(), stride, both.as_mut_ptr());
            }
            for x in (0..LEFT).chain(stride - RIGHT..stride) {
                let at = |dx: i32, dy: i32| {
                    let x = (x as i32 + dx).clamp(0, stride as i32 - 1) as usize;
                    i32::from(from[(2 + dy) as usize * stride + x])
                };
                [h[x], _, both[x]] = half_pel_at(at);
            }
        }
    });
}

/// Where steps begin that cover `from..to`, the last one at its end.
fn steps(from: usize, to: usize) -> impl Iterator<Item = usize> {
    let last = to - STEP;
    (from..last).step_by(STEP).chain([last])
}

#[target_feature(enable = "avx2")]
#[inline]
fn weigh(outer: __m256i, middle: __m256i, inner: __m256i) -> __m256i {
    // outer - 5 middle + 20 inner
    let four = _mm256_sub_epi16(_mm256_slli_epi16::<2>(inner), middle);
    let five = _mm256_add_epi16(_mm256_slli_epi16::<2>(four), four);
    _mm256_add_epi16(outer, five)
}

#[target_feature(enable = "avx2")]
#[inline]
fn rounded(sum: __m256i) -> __m128i {
    let value = _mm256_srai_epi16::<5>(_mm256_add_epi16(sum, _mm256_set1_epi16(16)));
    _mm_packus_epi16(
        _mm256_castsi256_si128(value),
        _mm256_extracti128_si256::<1>(value),
    )
}

/// # Safety
/// 16 bytes can be read; the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn widen(at: *const u8) -> __m256i {
    // SAFETY: the caller's promise.
    _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(at.cast()) })
}

/// Six taps downwards: their sums, and rounded.
///
/// # Safety
/// Six rows of `stride`, at least a step, can be read and the others written; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn downwards(from: *const u8, stride: usize, v: *mut u8, sums: *mut i16) {
    for x in steps(0, stride) {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|y| widen(from.add(y * stride + x)));
            let sum = weigh(
                _mm256_add_epi16(a, f),
                _mm256_add_epi16(b, e),
                _mm256_add_epi16(c, d),
            );
            _mm256_storeu_si256(sums.add(x).cast(), sum);
            _mm_storeu_si128(v.add(x).cast(), rounded(sum));
        }
    }
}

/// Six taps to the right.
///
/// # Safety
/// `stride` bytes can be read and written, which are more than a step and what the taps read beside it; the processor has
/// AVX2.
#[target_feature(enable = "avx2")]
unsafe fn across(row: *const u8, stride: usize, h: *mut u8) {
    for x in steps(LEFT, stride - RIGHT) {
        // SAFETY: the caller's promise; the first reads begin at the first sample.
        unsafe {
            let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|i| widen(row.add(x + i - 2)));
            let sum = weigh(
                _mm256_add_epi16(a, f),
                _mm256_add_epi16(b, e),
                _mm256_add_epi16(c, d),
            );
            _mm_storeu_si128(h.add(x).cast(), rounded(sum));
        }
    }
}

/// Six taps to the right over sums, in 32 bits.
///
/// # Safety
/// As [`across`].
#[target_feature(enable = "avx2")]
unsafe fn across_sums(sums: *const i16, stride: usize, both: *mut u8) {
    let pair = |first: i16, second: i16| {
        _mm256_set1_epi32(i32::from(first as u16) | i32::from(second) << 16)
    };
    let (left, middle, right) = (pair(1, -5), pair(20, 20), pair(-5, 1));
    for x in steps(LEFT, stride - RIGHT) {
        // SAFETY: the caller's promise; the first reads begin at the first sum.
        let [a, b, c, d, e, f] =
            unsafe { [0, 1, 2, 3, 4, 5].map(|i| _mm256_loadu_si256(sums.add(x + i - 2).cast())) };
        let weigh = |ab, cd, ef| {
            let sum = _mm256_add_epi32(_mm256_madd_epi16(ab, left), _mm256_madd_epi16(cd, middle));
            let sum = _mm256_add_epi32(sum, _mm256_madd_epi16(ef, right));
            _mm256_srai_epi32::<10>(_mm256_add_epi32(sum, _mm256_set1_epi32(512)))
        };
        let low = weigh(
            _mm256_unpacklo_epi16(a, b),
            _mm256_unpacklo_epi16(c, d),
            _mm256_unpacklo_epi16(e, f),
        );
        let high = weigh(
            _mm256_unpackhi_epi16(a, b),
            _mm256_unpackhi_epi16(c, d),
            _mm256_unpackhi_epi16(e, f),
        );
        // Both unpacking and packing keep to halves of registers, so the order is right again.
        let words = _mm256_packs_epi32(low, high);
        let bytes = _mm_packus_epi16(
            _mm256_castsi256_si128(words),
            _mm256_extracti128_si256::<1>(words),
        );
        // SAFETY: the caller's promise.
        unsafe { _mm_storeu_si128(both.add(x).cast(), bytes) };
    }
}
