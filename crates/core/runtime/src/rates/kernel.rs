//! The timed arithmetic, compiled for each SIMD level.

use crate::topology::Simd;

/// `x = x * a + b` on every element, rounded after each operation, at `level` or the highest this build has
/// below it.
pub(super) fn multiply_add(level: Simd, data: &mut [f32], a: f32, b: f32) {
    match level {
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        // SAFETY: `Simd::hardware` says that the processor has the features this function enables.
        Simd::Avx512 if Simd::hardware() >= Simd::Avx512 => unsafe { avx512(data, a, b) },
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        // SAFETY: as above.
        Simd::Avx2 if Simd::hardware() >= Simd::Avx2 => unsafe { avx2(data, a, b) },
        _ => body(data, a, b),
    }
}

#[inline(always)]
fn body(data: &mut [f32], a: f32, b: f32) {
    for x in data {
        *x = *x * a + b;
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512(data: &mut [f32], a: f32, b: f32) {
    body(data, a, b);
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[target_feature(enable = "avx2,fma")]
fn avx2(data: &mut [f32], a: f32, b: f32) {
    body(data, a, b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_levels_compute_the_same() {
        let input: Vec<f32> = (0..1037).map(|i| (i as f32 - 500.0) * 1.37e-3).collect();
        let expected: Vec<f32> = input.iter().map(|x| x * 0.3 + 0.7).collect();
        // Levels above the machine's must fall back, not fault.
        for level in Simd::ALL {
            let mut data = input.clone();
            multiply_add(level, &mut data, 0.3, 0.7);
            assert_eq!(data, expected, "{level}");
        }
    }
}
