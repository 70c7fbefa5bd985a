//! With AVX2.
//!
//! Each function checks its slices and then calls one that reads and writes through pointers within them.

mod distortion;
mod half_pel;
mod motion;

use super::{Samples, scalar};

/// Whether the processor runs these.
pub fn present() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// What [`present`] has been asked for.
pub static TABLE: Samples = Samples {
    sad_quads_x4: distortion::sad_quads_x4,
    sad_8x8_x8: distortion::sad_8x8_x8,
    satd: [
        distortion::satd_wide::<16>,
        distortion::satd_wide::<8>,
        distortion::satd_narrow::<16>,
        distortion::satd_narrow::<8>,
    ],
    satd_4x4: distortion::satd_4x4,
    satd_average: [
        distortion::satd_average_wide::<16>,
        distortion::satd_average_wide::<8>,
        distortion::satd_average_narrow::<16>,
        distortion::satd_average_narrow::<8>,
    ],
    average: motion::average,
    copy: motion::copy,
    half_pel: half_pel::half_pel,
    chroma: motion::chroma,
    halve: motion::halve,
    interleave: motion::interleave,
};

/// The definitions, for what is left of a row.
use scalar as rest;
