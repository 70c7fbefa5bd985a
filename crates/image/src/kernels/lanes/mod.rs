//! Registers of f32 lanes: what a kernel is written in when the compiler's own vectors are not good enough.
//!
//! A kernel is a body generic over [`Lanes`]; [`for_each_width!`](crate::for_each_width) compiles it for every register
//! width and calls the widest that the SIMD level allows. A value of an implementing type is the proof that the
//! processor has the instructions, so that arithmetic is safe to call.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use scalar::Scalar;

/// Arithmetic on registers of [`Lanes::N`] f32 lanes. Lane for lane it gives the bits of the scalar operation.
pub trait Lanes: Copy {
    /// A register.
    type V: Copy;
    /// A register of whole numbers.
    type I: Copy;
    /// Lanes of a register.
    const N: usize;

    /// The samples from `at` on.
    ///
    /// # Safety
    /// `N` samples from `at` on are inside one allocation.
    unsafe fn load(self, at: *const f32) -> Self::V;
    /// Writes the samples from `at` on.
    ///
    /// # Safety
    /// `N` samples from `at` on are inside one allocation that may be written.
    unsafe fn store(self, v: Self::V, at: *mut f32);
    /// Writes the whole numbers from `at` on.
    ///
    /// # Safety
    /// As of [`Lanes::store`].
    unsafe fn store_whole(self, v: Self::I, at: *mut i32);
    /// `v` in the first lane, `v` + 1 in the next and so on.
    fn count(self, v: f32) -> Self::V;
    /// `v` in every lane.
    fn splat(self, v: f32) -> Self::V;
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b + c, rounded once.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// (a + c) + (b + b)
    fn smooth(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The square root.
    fn sqrt(self, v: Self::V) -> Self::V;
    /// The largest whole number not above, as number and as whole number; the latter is the smallest there is where it
    /// does not fit or `v` is no number.
    fn floor(self, v: Self::V) -> (Self::V, Self::I);
    /// `v` in every lane.
    fn splat_whole(self, v: i32) -> Self::I;
    /// a - b, modulo 2³².
    fn sub_whole(self, a: Self::I, b: Self::I) -> Self::I;
    /// a * b + c, modulo 2³².
    fn mul_add_whole(self, a: Self::I, b: Self::I, c: Self::I) -> Self::I;
    /// The larger one, both taken as unsigned.
    fn max_unsigned(self, a: Self::I, b: Self::I) -> Self::I;
    /// Whether every lane, taken as unsigned, is at most `most`.
    fn all_at_most(self, v: Self::I, most: u32) -> bool;
    /// `v` where `a > b`, else 0.
    fn keep_above(self, v: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// Whether `a > b` in any lane.
    fn any_above(self, a: Self::V, b: Self::V) -> bool;
    /// Every lane takes the one before it; the first keeps its own.
    fn before(self, v: Self::V) -> Self::V;
    /// Every lane takes the one after it; the last keeps its own.
    fn after(self, v: Self::V) -> Self::V;
}

/// Defines `fn $name(simd, …)` which runs `$body(lanes, …)`, an `#[inline(always)]` function, with the widest registers
/// allowed and present that an argument of `$n` samples fills.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_width {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$g:ident : $bound:path>)? (wide $n:ident, $($arg:ident : $type:ty),* $(,)?) = $body:path;) => {
        $(#[$doc])*
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
