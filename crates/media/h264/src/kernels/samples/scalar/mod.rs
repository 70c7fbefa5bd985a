//! The references.

use super::Samples;

mod distortion;
mod half_pel;
mod prediction;
mod rows;
mod squares;

pub(super) use half_pel::{half_pel, rows_of};
pub(super) use prediction::copy;
pub(super) use rows::{halve, interleave};

pub static TABLE: Samples = Samples {
    name: "scalar",
    sad_quads_x4: distortion::sad_quads_x4,
    sad_8x8_x8: distortion::sad_8x8_x8,
    satd: [
        distortion::satd::<16, 16>,
        distortion::satd::<16, 8>,
        distortion::satd::<8, 16>,
        distortion::satd::<8, 8>,
    ],
    satd_4x4: distortion::satd::<4, 4>,
    satd_average: [
        distortion::satd_average::<16, 16>,
        distortion::satd_average::<16, 8>,
        distortion::satd_average::<8, 16>,
        distortion::satd_average::<8, 8>,
    ],
    average: prediction::average,
    copy,
    half_pel,
    chroma: prediction::chroma,
    halve,
    interleave,
    ssd_16x16: squares::ssd_16x16,
    energy_16x16: squares::energy_16x16,
    energy_chroma: squares::energy_chroma,
};
