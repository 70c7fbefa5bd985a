//! Prefetching.

#[cfg(target_arch = "x86_64")]
use evener_runtime::buffer::aligned::LINE;

/// Prefetches every cache line of `samples` into the private cache. Only a hint.
#[inline]
pub fn lines<T>(samples: &[T]) {
    #[cfg(target_arch = "x86_64")]
    hint::<T, { std::arch::x86_64::_MM_HINT_T1 }>(samples);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = samples;
}

/// The same for samples that are written next: stores that wait for their lines hold up what follows them.
#[inline]
pub fn lines_to_write<T>(samples: &[T]) {
    #[cfg(target_arch = "x86_64")]
    hint::<T, { std::arch::x86_64::_MM_HINT_ET0 }>(samples);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = samples;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint<T, const HINT: i32>(samples: &[T]) {
    use std::arch::x86_64::_mm_prefetch;
    let bytes = std::mem::size_of_val(samples);
    let start = samples.as_ptr().cast::<i8>();
    for at in (0..bytes).step_by(LINE) {
        // SAFETY: a prefetch never faults, and `at` is inside the slice.
        unsafe { _mm_prefetch::<HINT>(start.add(at)) }
    }
}
