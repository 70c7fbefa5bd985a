//! Distortion, interpolation, pyramids.
//!
//! A block of samples is a slice that begins at its first sample, and its stride, the distance of rows. Functions panic
//! if a slice is too short.

use evener_runtime::Simd;

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

/// The parts of a macroblock that are predicted by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// All of it.
    B16x16,
    /// An upper or lower half.
    B16x8,
    /// A left or right half.
    B8x16,
    /// A quarter.
    B8x8,
}

impl BlockSize {
    /// All of them, in the order of tables.
    pub const ALL: [BlockSize; 4] = [
        BlockSize::B16x16,
        BlockSize::B16x8,
        BlockSize::B8x16,
        BlockSize::B8x8,
    ];

    /// Samples in a row.
    pub const fn width(self) -> usize {
        match self {
            BlockSize::B16x16 | BlockSize::B16x8 => 16,
            BlockSize::B8x16 | BlockSize::B8x8 => 8,
        }
    }

    /// Rows.
    pub const fn height(self) -> usize {
        match self {
            BlockSize::B16x16 | BlockSize::B8x16 => 16,
            BlockSize::B16x8 | BlockSize::B8x8 => 8,
        }
    }
}

/// Takes two blocks, each with its stride, and returns their distortion.
pub type Distortion = fn(&[u8], usize, &[u8], usize) -> u32;
/// Takes a block and two others whose average, rounded up, it is compared with.
pub type DistortionOfAverage = fn(&[u8], usize, &[u8], usize, &[u8], usize) -> u32;

/// A table of functions. All levels give the same results.
pub struct Samples {
    /// Sums of absolute differences of the quarters of a macroblock, at four places in a reference: after the block and its
    /// stride come the reference, its stride, and where the places begin in it.
    pub sad_quads_x4: fn(&[u8], usize, &[u8], usize, [usize; 4]) -> [[u32; 4]; 4],
    /// Sums of absolute differences of 8x8 samples with a reference, at eight places to the right of one another. Of each
    /// row of the reference 16 samples are read.
    pub sad_8x8_x8: fn(&[u8], usize, &[u8], usize) -> [u16; 8],
    /// Half the sum of absolute values of the 4x4 Hadamard transforms of a difference, by [`BlockSize`]. That sum is even.
    pub satd: [Distortion; 4],
    /// As `satd`, for 4x4 samples.
    pub satd_4x4: Distortion,
    /// As `satd`, against an average.
    pub satd_average: [DistortionOfAverage; 4],
    /// Writes the average of two blocks, rounded up: destination, first and second block, each with its stride, size.
    pub average: fn(&mut [u8], usize, &[u8], usize, &[u8], usize, BlockSize),
    /// Copies a block: destination and source, each with its stride, size.
    pub copy: fn(&mut [u8], usize, &[u8], usize, BlockSize),
    /// Rows of the planes between samples (clause 8.4.2.2.1): half a sample to the right, half a sample down, both. After
    /// these come the rows of the plane itself, from two above to three below, and the stride of all. At the ends of a
    /// row samples repeat.
    pub half_pel: fn([&mut [u8]; 3], &[u8], usize),
    /// Predicts interleaved chroma at an eighth of a sample (clause 8.4.2.2.2): destination and source, each with its
    /// stride, eighths to the right and down, pairs in a row (4 or 8), rows.
    pub chroma: fn(&mut [u8], usize, &[u8], usize, u32, u32, usize, usize),
    /// Averages of 2x2 samples, rounded half up: destination, upper and lower row, which are twice as long.
    pub halve: fn(&mut [u8], &[u8], &[u8]),
    /// Interleaves two rows.
    pub interleave: fn(&mut [u8], &[u8], &[u8]),
}

impl Samples {
    /// The table of the highest level that `simd` allows and the processor has.
    pub fn at(simd: Simd) -> &'static Samples {
        #[cfg(target_arch = "x86_64")]
        if matches!(simd, Simd::Avx2 | Simd::Avx512) && avx2::present() {
            return &avx2::TABLE;
        }
        let _ = simd;
        &scalar::TABLE
    }
}

/// Checks that a slice holds a block.
#[inline(always)]
fn holds(samples: &[u8], stride: usize, width: usize, height: usize) {
    assert!(
        samples.len() >= (height - 1) * stride + width,
        "{} samples for {width}x{height} with stride {stride}",
        samples.len()
    );
}
