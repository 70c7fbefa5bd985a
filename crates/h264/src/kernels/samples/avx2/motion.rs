//! Copies, averages, chroma, and rows that become shorter or longer.

use std::arch::x86_64::*;

use super::super::{BlockSize, holds};
use super::rest;

pub fn average(
    to: &mut [u8],
    stride: usize,
    a: &[u8],
    a_stride: usize,
    b: &[u8],
    b_stride: usize,
    size: BlockSize,
) {
    let (width, height) = (size.width(), size.height());
    holds(to, stride, width, height);
    holds(a, a_stride, width, height);
    holds(b, b_stride, width, height);
    let (to, a, b) = (to.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    for y in 0..height {
        // SAFETY: all three hold `height` rows of `width`; SSE2 is always there.
        unsafe {
            let (to, a, b) = (to.add(y * stride), a.add(y * a_stride), b.add(y * b_stride));
            if width == 16 {
                let mean = _mm_avg_epu8(_mm_loadu_si128(a.cast()), _mm_loadu_si128(b.cast()));
                _mm_storeu_si128(to.cast(), mean);
            } else {
                let mean = _mm_avg_epu8(_mm_loadl_epi64(a.cast()), _mm_loadl_epi64(b.cast()));
                _mm_storel_epi64(to.cast(), mean);
            }
        }
    }
}

pub fn copy(to: &mut [u8], stride: usize, from: &[u8], from_stride: usize, size: BlockSize) {
    let (width, height) = (size.width(), size.height());
    holds(to, stride, width, height);
    holds(from, from_stride, width, height);
    let (to, from) = (to.as_mut_ptr(), from.as_ptr());
    for y in 0..height {
        // SAFETY: both hold `height` rows of `width`; SSE2 is always there.
        unsafe {
            let (to, from) = (to.add(y * stride), from.add(y * from_stride));
            if width == 16 {
                _mm_storeu_si128(to.cast(), _mm_loadu_si128(from.cast()));
            } else {
                _mm_storel_epi64(to.cast(), _mm_loadl_epi64(from.cast()));
            }
        }
    }
}

pub fn chroma(
    to: &mut [u8],
    stride: usize,
    from: &[u8],
    from_stride: usize,
    dx: u32,
    dy: u32,
    pairs: usize,
    rows: usize,
) {
    assert!((pairs == 4 || pairs == 8) && dx < 8 && dy < 8);
    holds(to, stride, 2 * pairs, rows);
    holds(from, from_stride, 2 * pairs + 2, rows + 1);
    // SAFETY: the table is only given out where there is AVX2. There are as many rows to write, and of those to read one
    // more, each longer by a pair.
    unsafe {
        let (to, from) = (to.as_mut_ptr(), from.as_ptr());
        match pairs {
            8 => chroma_rows::<16>(to, stride, from, from_stride, (dx, dy), rows),
            _ => chroma_rows::<8>(to, stride, from, from_stride, (dx, dy), rows),
        }
    }
}

/// # Safety
/// `rows` rows of W bytes can be written, and one more of W + 2 bytes read; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn chroma_rows<const W: usize>(
    to: *mut u8,
    stride: usize,
    from: *const u8,
    from_stride: usize,
    (dx, dy): (u32, u32),
    rows: usize,
) {
    let weights = |left: u32, right: u32| _mm_set1_epi16((left | right << 8) as i16);
    let upper = weights((8 - dx) * (8 - dy), dx * (8 - dy));
    let lower = weights((8 - dx) * dy, dx * dy);
    let half = _mm_set1_epi16(32);
    // Samples beside the next pair's.
    let load = |y: usize| {
        // SAFETY: the caller's promise.
        let (left, right) = unsafe {
            let at = from.add(y * from_stride);
            match W {
                16 => (
                    _mm_loadu_si128(at.cast()),
                    _mm_loadu_si128(at.add(2).cast()),
                ),
                _ => (
                    _mm_loadl_epi64(at.cast()),
                    _mm_loadl_epi64(at.add(2).cast()),
                ),
            }
        };
        (
            _mm_unpacklo_epi8(left, right),
            _mm_unpackhi_epi8(left, right),
        )
    };
    let mut above = load(0);
    for y in 0..rows {
        let below = load(y + 1);
        let sum = |above, below| {
            let sum = _mm_add_epi16(
                _mm_maddubs_epi16(above, upper),
                _mm_maddubs_epi16(below, lower),
            );
            _mm_srli_epi16::<6>(_mm_add_epi16(sum, half))
        };
        let low = sum(above.0, below.0);
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.add(y * stride);
            if W == 16 {
                let high = sum(above.1, below.1);
                _mm_storeu_si128(to.cast(), _mm_packus_epi16(low, high));
            } else {
                _mm_storel_epi64(to.cast(), _mm_packus_epi16(low, low));
            }
        }
        above = below;
    }
}

pub fn halve(to: &mut [u8], upper: &[u8], lower: &[u8]) {
    assert!(upper.len() >= 2 * to.len() && lower.len() >= 2 * to.len());
    let whole = to.len() / 16 * 16;
    // SAFETY: the table is only given out where there is AVX2; twice as many samples can be read as are written.
    unsafe { halve_whole(to.as_mut_ptr(), upper.as_ptr(), lower.as_ptr(), whole) };
    rest::halve(&mut to[whole..], &upper[2 * whole..], &lower[2 * whole..]);
}

/// # Safety
/// `count` bytes, a multiple of 16, can be written, and twice as many read of both; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn halve_whole(to: *mut u8, upper: *const u8, lower: *const u8, count: usize) {
    let ones = _mm256_set1_epi8(1);
    for x in (0..count).step_by(16) {
        // SAFETY: the caller's promise.
        unsafe {
            let a = _mm256_loadu_si256(upper.add(2 * x).cast());
            let b = _mm256_loadu_si256(lower.add(2 * x).cast());
            let sum =
                _mm256_add_epi16(_mm256_maddubs_epi16(a, ones), _mm256_maddubs_epi16(b, ones));
            let mean = _mm256_srli_epi16::<2>(_mm256_add_epi16(sum, _mm256_set1_epi16(2)));
            let low = _mm256_castsi256_si128(mean);
            let packed = _mm_packus_epi16(low, _mm256_extracti128_si256::<1>(mean));
            _mm_storeu_si128(to.add(x).cast(), packed);
        }
    }
}

pub fn interleave(to: &mut [u8], first: &[u8], second: &[u8]) {
    let count = to.len() / 2;
    assert!(first.len() >= count && second.len() >= count);
    let whole = count / 16 * 16;
    for x in (0..whole).step_by(16) {
        // SAFETY: `x + 16` samples of each are there, and twice as many bytes; SSE2 is always there.
        unsafe {
            let a = _mm_loadu_si128(first.as_ptr().add(x).cast());
            let b = _mm_loadu_si128(second.as_ptr().add(x).cast());
            let to = to.as_mut_ptr().add(2 * x);
            _mm_storeu_si128(to.cast(), _mm_unpacklo_epi8(a, b));
            _mm_storeu_si128(to.add(16).cast(), _mm_unpackhi_epi8(a, b));
        }
    }
    rest::interleave(&mut to[2 * whole..], &first[whole..], &second[whole..]);
}
