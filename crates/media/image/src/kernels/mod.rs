//! Row kernels: a body written once and compiled for every SIMD level.
//!
//! Rust never reorders floating-point arithmetic, so a loop over independent elements gives the same bits at any vector
//! width: [`for_each_level!`](crate::for_each_level). Kernels for which a compiler does not find the best loads are written
//! in registers of [`lanes`].

pub mod bilinear;
pub mod convert;
pub mod interleaved;
pub mod lanes;
pub mod pointwise;
pub mod power;
pub mod prefetch;
pub mod resample;
pub mod stencil;
pub mod taps;
pub mod turn;
pub mod weighted_sum;

/// Most rows that executors ask [`Stage::rows`](crate::stage::Stage::rows) for at once.
pub const STRIP: usize = 8;

/// Frames of a batch: the lanes of a register of 256 bits.
pub const BATCH: usize = 8;

/// Defines `fn $name(simd, …)` which runs `$body(…)` compiled for the highest level allowed and present.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_level {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$g:ident : $bound:path>)? ($($arg:ident : $type:ty),* $(,)?) = $body:path;) => {
        $(#[$doc])*
        #[allow(unsafe_code)]
        $vis fn $name $(<$g: $bound>)? (simd: evener_runtime::Simd, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2 $(<$g: $bound>)? ($($arg: $type),*) {
                    $body($($arg),*)
                }
                if $crate::kernels::has_avx2(simd) {
                    // SAFETY: the processor has AVX2 and FMA.
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = simd;
            $body($($arg),*)
        }
    };
}

/// Whether `simd` allows AVX2 kernels and the processor runs them. The processor is asked here, so no value of `simd` can
/// make a kernel unsound.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2(simd: evener_runtime::Simd) -> bool {
    use evener_runtime::Simd;
    matches!(simd, Simd::Avx2 | Simd::Avx512)
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
}

/// Whether `simd` allows AVX-512 kernels and the processor runs them, and AVX2 and FMA beside them.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx512(simd: evener_runtime::Simd) -> bool {
    simd == evener_runtime::Simd::Avx512
        && std::arch::is_x86_feature_detected!("avx512f")
        && has_avx2(simd)
}
