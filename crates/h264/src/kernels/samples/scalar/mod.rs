//! The references.

use super::Samples;

mod distortion;
mod half_pel;
mod prediction;
mod rows;
mod squares;

pub(super) use half_pel::{half_pel, rows_of};
pub(super) use prediction::copy;
pub(super) use rows::{deinterleave, halve, interleave};
pub(super) use squares::{ssd_chroma_row, ssd_row};

pub static TABLE: Samples = Samples {
    name: "scalar",
    sad_16x16: distortion::sad::<16>,
    sad_8x8: distortion::sad::<8>,
    sad_quads: distortion::sad_quads,
    sad_quads_x4: distortion::sad_quads_x4,
    sad_8x8_x8: distortion::sad_x8::<8>,
    sad_4x4_x8: distortion::sad_x8::<4>,
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
    deinterleave,
    ssd_16x16: squares::ssd::<16>,
    ssd_8x8: squares::ssd::<8>,
    ssd_row,
    ssd_chroma_row,
    energy_16x16: squares::energy_16x16,
    energy_chroma: squares::energy_chroma,
};
