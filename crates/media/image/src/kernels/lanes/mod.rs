//! Registers of f32 lanes, for kernels that the compiler does not vectorise well.
//!
//! A kernel is a body generic over [`Lanes`]. [`for_each_width!`](crate::for_each_width) compiles it for every register
//! width and calls the widest that the SIMD level allows. A value of an implementing type proves that the processor has the
//! instructions, so arithmetic is safe to call.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
mod vector;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use scalar::Scalar;
pub use vector::Lanes;

/// Defines `fn $name(simd, …)` which runs `$body(lanes, …)`, an `#[inline(always)]` function, with the widest registers
/// allowed and present that an argument of `$n` samples fills.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_width {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$g:ident : $bound:path>)? (wide $n:ident, $($arg:ident : $type:ty),* $(,)?) = $body:path;) => {
        $(#[$doc])*
        #[allow(unsafe_code)]
        $vis fn $name $(<$g: $bound>)? (simd: evener_runtime::Simd, $n: usize, $($arg: $type),*) {
            use $crate::kernels::lanes::{Lanes, Scalar};
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::kernels::lanes::{Avx2, Avx512};
                #[target_feature(enable = "avx512f,avx2,fma")]
                fn avx512 $(<$g: $bound>)? (lanes: Avx512, $($arg: $type),*) {
                    $body(lanes, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2 $(<$g: $bound>)? (lanes: Avx2, $($arg: $type),*) {
                    $body(lanes, $($arg),*)
                }
                if $n >= Avx512::N && let Some(lanes) = Avx512::new(simd) {
                    // SAFETY: `lanes` exists, so the processor has these instructions.
                    return unsafe { avx512(lanes, $($arg),*) };
                }
                if $n >= Avx2::N && let Some(lanes) = Avx2::new(simd) {
                    // SAFETY: as above.
                    return unsafe { avx2(lanes, $($arg),*) };
                }
            }
            let _ = (simd, $n);
            $body(Scalar, $($arg),*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [f32; 12] = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -3.25,
        255.0,
        1e-45,
        3e9,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];

    /// Registers hold at most so many lanes.
    const MOST: usize = 16;

    fn lane<S: Lanes>(s: S, v: S::V, at: usize) -> u32 {
        let mut out = [0.0; MOST];
        // SAFETY: longer than every register.
        unsafe { s.store(v, out.as_mut_ptr()) };
        // All NaNs count as equal.
        if out[at].is_nan() {
            f32::NAN.to_bits()
        } else {
            out[at].to_bits()
        }
    }

    /// Every operation gives in every lane what [`Scalar`] gives.
    fn hold<S: Lanes>(s: S) {
        let load = |from: usize| -> [f32; MOST] {
            std::array::from_fn(|i| EDGES[(from + i) % EDGES.len()])
        };
        for (i, j) in (0..EDGES.len()).flat_map(|i| (0..EDGES.len()).map(move |j| (i, j))) {
            let (a, b, c) = (load(i), load(j), load(i + j + 1));
            // SAFETY: longer than every register.
            let [va, vb, vc] = [&a, &b, &c].map(|v| unsafe { s.load(v.as_ptr()) });
            for at in 0..S::N {
                let (a, b, c) = (a[at], b[at], c[at]);
                let of = |v: S::V| lane(s, v, at);
                let one = |v: f32| lane(Scalar, v, 0);
                assert_eq!(of(s.add(va, vb)), one(a + b));
                assert_eq!(of(s.sub(va, vb)), one(a - b));
                assert_eq!(of(s.mul(va, vb)), one(a * b));
                assert_eq!(of(s.mul_add(va, vb, vc)), one(a.mul_add(b, c)));
                assert_eq!(of(s.smooth(va, vb, vc)), one(Scalar.smooth(a, b, c)));
                assert_eq!(of(s.sqrt(va)), one(a.sqrt()));
                assert_eq!(
                    of(s.keep_above(vc, va, vb)),
                    one(Scalar.keep_above(c, a, b))
                );
                assert_eq!(of(s.count(2.0)), one(2.0 + at as f32));
                assert_eq!(of(s.before(va)), one(load(i)[at.saturating_sub(1)]));
                assert_eq!(of(s.after(va)), one(load(i)[(at + 1).min(S::N - 1)]));
            }
            let any = (0..S::N).any(|at| a[at] > b[at]);
            assert_eq!(s.any_above(va, vb), any);
        }
    }

    #[test]
    fn every_width_gives_the_bits_of_one_lane() {
        hold(Scalar);
        #[cfg(target_arch = "x86_64")]
        {
            let simd = evener_runtime::Simd::detect();
            Avx2::new(simd).into_iter().for_each(hold);
            Avx512::new(simd).into_iter().for_each(hold);
        }
    }
}
