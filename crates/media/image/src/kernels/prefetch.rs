//! Prefetching.

use evener_runtime::buffer::aligned::LINE;

/// Prefetches every cache line of `samples` into the private cache. Only a hint.
#[inline]
pub fn lines<T>(samples: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let bytes = std::mem::size_of_val(samples);
        let start = samples.as_ptr().cast::<i8>();
        for at in (0..bytes).step_by(LINE) {
            // SAFETY: a prefetch never faults, and `at` is inside the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(start.add(at)) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (samples, LINE);
}
