//! Loads and stores.
//!
//! Those of samples take a slice and an index, and rely on the caller for its bounds.

use std::arch::x86_64::*;

/// The unaligned bytes of a type at `at`.
///
/// # Safety
/// As many bytes lie in `samples` from `at` on.
#[inline(always)]
unsafe fn read<T: Copy>(samples: &[u8], at: usize) -> T {
    debug_assert!(at + size_of::<T>() <= samples.len());
    // SAFETY: the caller's; the read is unaligned, and T is plain bytes in all uses here.
    unsafe { samples.as_ptr().add(at).cast::<T>().read_unaligned() }
}

/// Puts the bytes of `value` at `at`.
///
/// # Safety
/// As many bytes lie in `samples` from `at` on.
#[inline(always)]
unsafe fn write<T: Copy>(samples: &mut [u8], at: usize, value: T) {
    debug_assert!(at + size_of::<T>() <= samples.len());
    // SAFETY: the caller's; the write is unaligned.
    unsafe {
        samples
            .as_mut_ptr()
            .add(at)
            .cast::<T>()
            .write_unaligned(value)
    }
}

/// 4 bytes.
///
/// # Safety
/// They lie in `samples`.
#[inline(always)]
pub unsafe fn read_4(samples: &[u8], at: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe { read(samples, at) }
}

/// 8 bytes, in the lower half.
///
/// # Safety
/// They lie in `samples`.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn load_8(samples: &[u8], at: usize) -> __m128i {
    // SAFETY: the caller's.
    _mm_cvtsi64_si128(unsafe { read(samples, at) })
}

/// 16 bytes.
///
/// # Safety
/// They lie in `samples`.
#[inline(always)]
pub unsafe fn load_16(samples: &[u8], at: usize) -> __m128i {
    // SAFETY: the caller's.
    unsafe { read(samples, at) }
}

/// # Safety
/// 4 bytes lie in `samples` from `at` on.
#[inline(always)]
pub unsafe fn write_4(samples: &mut [u8], at: usize, value: i32) {
    // SAFETY: the caller's.
    unsafe { write(samples, at, value) }
}

/// Stores the lower half.
///
/// # Safety
/// 8 bytes lie in `samples` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn store_8(samples: &mut [u8], at: usize, value: __m128i) {
    // SAFETY: the caller's.
    unsafe { write(samples, at, _mm_cvtsi128_si64(value)) }
}

/// Stores the upper half.
///
/// # Safety
/// 8 bytes lie in `samples` from `at` on.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn store_8_high(samples: &mut [u8], at: usize, value: __m128i) {
    // SAFETY: the caller's.
    unsafe { write(samples, at, _mm_extract_epi64::<1>(value)) }
}

/// # Safety
/// 16 bytes lie in `samples` from `at` on.
#[inline(always)]
pub unsafe fn store_16(samples: &mut [u8], at: usize, value: __m128i) {
    // SAFETY: the caller's.
    unsafe { write(samples, at, value) }
}

/// Numbers of which arrays of 32 bytes are loaded.
pub trait Number: Copy {}
impl Number for u8 {}
impl Number for i8 {}
impl Number for u16 {}
impl Number for i16 {}

/// The first 32 bytes of an array.
#[inline(always)]
pub fn load_32<T: Number, const N: usize>(numbers: &[T; N]) -> __m256i {
    const { assert!(size_of::<T>() * N >= 32) }
    // SAFETY: the array has 32 bytes, as asserted.
    unsafe { numbers.as_ptr().cast::<__m256i>().read_unaligned() }
}

/// The 16 bytes of an array that come after `after` times 16 bytes.
#[inline(always)]
pub fn load_part<T: Number, const N: usize>(numbers: &[T; N], after: usize) -> __m128i {
    assert!(size_of::<T>() * N >= 16 * (after + 1));
    // SAFETY: the array has those bytes, as asserted.
    unsafe {
        numbers
            .as_ptr()
            .cast::<__m128i>()
            .add(after)
            .read_unaligned()
    }
}

/// Puts 32 bytes into an array of as many.
#[inline(always)]
pub fn store_32<T: Number, const N: usize>(numbers: &mut [T; N], value: __m256i) {
    const { assert!(size_of::<T>() * N == 32) }
    // SAFETY: the array has 32 bytes, as asserted.
    unsafe {
        numbers
            .as_mut_ptr()
            .cast::<__m256i>()
            .write_unaligned(value)
    }
}

/// Puts 16 bytes into an array, after `after` times as many.
#[inline(always)]
pub fn store_part(numbers: &mut [i16; 64], after: usize, value: __m128i) {
    assert!(after < 8);
    // SAFETY: the array has 8 times 16 bytes.
    unsafe {
        numbers
            .as_mut_ptr()
            .cast::<__m128i>()
            .add(after)
            .write_unaligned(value)
    }
}
