//! Kernels that are chosen by measurement.
//!
//! Some processors run vectors of 128 bits sooner than half as many of 256.

use std::hint::black_box;

use evener_runtime::Kernels;

use crate::kernels::{BlockSize, Samples};

/// The plane of a trial, which stays in the nearest cache but one.
const STRIDE: usize = 512;
const HEIGHT: usize = 64;
/// Rows between whose samples others are made.
const ROWS: usize = 16;

/// Kernels of distortion and interpolation.
pub static ANALYSIS: Kernels = Kernels::new(
    "analysis",
    "62 macroblocks",
    |simd| Samples::at(simd).name,
    |simd| {
        let kernels = Samples::at(simd);
        let samples: Vec<u8> = (0..STRIDE * HEIGHT).map(|i| (i * i / 7) as u8).collect();
        let mut planes = [0; 3].map(|_| vec![0; ROWS * STRIDE]);
        Box::new(move || {
            let between = planes.each_mut().map(Vec::as_mut_slice);
            (kernels.half_pel)(between, &samples[..(ROWS + 5) * STRIDE], STRIDE);
            for row in [0, 16] {
                for column in 0..STRIDE / 16 - 1 {
                    let at = row * STRIDE + 16 * column;
                    black_box(distortions(kernels, &samples, at));
                }
            }
        })
    },
);

/// All of them.
pub static KERNELS: [&Kernels; 1] = [&ANALYSIS];

/// What a search asks of a macroblock: four vectors of whole samples, eight between them.
fn distortions(kernels: &Samples, samples: &[u8], at: usize) -> u32 {
    let (block, near) = (&samples[at..], at + 16 * STRIDE);
    let offsets = [0, 1, STRIDE, STRIDE + 1].map(|step| near + step);
    let sums = (kernels.sad_quads_x4)(block, STRIDE, samples, STRIDE, offsets);
    let mut sum: u32 = sums.as_flattened().iter().sum();
    let size = BlockSize::B16x16 as usize;
    for step in 0..4 {
        let (a, b) = (&samples[near + step..], &samples[near + step + 1..]);
        sum += (kernels.satd[size])(block, STRIDE, a, STRIDE);
        sum += (kernels.satd_average[size])(block, STRIDE, a, STRIDE, b, STRIDE);
    }
    sum
}
