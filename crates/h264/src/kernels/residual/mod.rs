//! Transforms, quantisation, intra prediction, deblocking.

use evener_runtime::Simd;

/// A table of functions.
pub struct Residual {}

impl Residual {
    /// The table of the highest level that `simd` allows and the processor has.
    pub fn at(simd: Simd) -> &'static Residual {
        let _ = simd;
        &Residual {}
    }
}
