//! Kernels on blocks of samples: scalar references and variants for each SIMD level.
//!
//! A [`Kernels`] is a table of functions for one level. All levels give the same bits.
//!
//! Chroma is interleaved everywhere: rows of Cb, Cr, Cb, Cr, … So 8x8 samples of both are 16 bytes by 8 rows.

use evener_runtime::Simd;

pub mod residual;
mod samples;

pub use residual::Residual;
pub use samples::{BlockSize, Energy, Samples};

/// The kernels of a SIMD level.
#[derive(Clone, Copy)]
pub struct Kernels {
    /// Distortion, interpolation, pyramids.
    pub samples: &'static Samples,
    /// Transforms, quantisation, intra prediction, deblocking.
    pub residual: &'static Residual,
}

impl Kernels {
    /// The kernels of the highest level that `simd` allows and the processor has.
    pub fn at(simd: Simd) -> Kernels {
        Kernels {
            samples: Samples::at(simd),
            residual: Residual::at(simd),
        }
    }
}
