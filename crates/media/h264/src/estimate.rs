//! What a picture would cost, before anything is decided: estimates at half the size, from source pictures alone.

use crate::kernels::{BlockSize, Kernels};
use crate::padded::Plane;
use crate::search::SearchResult;

/// The least costs of predicting a macroblock, as sums of absolute transformed differences at half the size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// From its own picture.
    pub intra: u32,
    /// From the picture before or from its own, whichever is less.
    pub inter: u32,
}

impl Estimate {
    /// From what prediction from its own picture costs, and what was found in the picture before, if there is one.
    pub fn new(intra: u32, before: Option<&SearchResult>) -> Estimate {
        Estimate {
            intra,
            inter: before.map_or(intra, |found| intra.min(found.half_satd)),
        }
    }
}

/// From a row of a prediction to the next.
const STRIDE: usize = 16;

/// The cost of predicting macroblock `x`, `y` from source samples around it: their mean, the row above, or the column
/// to the left. `half` is the picture at half the size.
pub fn intra(kernels: Kernels, half: Plane<'_>, x: usize, y: usize) -> u32 {
    let Plane { samples, shape } = half;
    let stride = shape.stride;
    let at = shape.at(8 * x as i32, 8 * y as i32);
    let block = &samples[at..];
    let satd = kernels.samples.satd[BlockSize::B8x8 as usize];
    let mut prediction = [0; 8 * STRIDE];
    let mut best = u32::MAX;
    let (mut sum, mut count) = (0, 0);
    if y > 0 {
        let above: &[u8; 8] = samples[at - stride..].first_chunk().expect("8 samples");
        for row in prediction.as_chunks_mut::<STRIDE>().0 {
            *row.first_chunk_mut().expect("a row is longer") = *above;
        }
        best = best.min(satd(block, stride, &prediction, STRIDE));
        sum += above.iter().map(|&v| u32::from(v)).sum::<u32>();
        count += 8;
    }
    if x > 0 {
        for (y, row) in prediction
            .as_chunks_mut::<STRIDE>()
            .0
            .iter_mut()
            .enumerate()
        {
            let value = samples[at + y * stride - 1];
            row[..8].fill(value);
            sum += u32::from(value);
        }
        best = best.min(satd(block, stride, &prediction, STRIDE));
        count += 8;
    }
    let mean = match count {
        0 => 128,
        _ => (sum + count / 2) / count,
    };
    prediction.fill(mean as u8);
    best.min(satd(block, stride, &prediction, STRIDE))
}
