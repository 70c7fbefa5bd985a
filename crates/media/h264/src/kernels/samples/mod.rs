//! Distortion, interpolation, pyramids.
//!
//! A block of samples is a slice that begins at its first sample, and its stride, the distance of rows. Functions
//! panic if a slice is too short, or a stride is shorter than a row.

use evener_runtime::Simd;

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

/// The size of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockSize {
    /// 16 columns, 16 rows.
    B16x16,
    /// 16 columns, 8 rows.
    B16x8,
    /// 8 columns, 16 rows.
    B8x16,
    /// 8 columns, 8 rows.
    B8x8,
}

impl BlockSize {
    /// In the order of tables.
    pub const ALL: [BlockSize; 4] = [Self::B16x16, Self::B16x8, Self::B8x16, Self::B8x8];

    /// Columns.
    #[inline]
    pub fn width(self) -> usize {
        match self {
            Self::B16x16 | Self::B16x8 => 16,
            Self::B8x16 | Self::B8x8 => 8,
        }
    }

    /// Rows.
    #[inline]
    pub fn height(self) -> usize {
        match self {
            Self::B16x16 | Self::B8x16 => 16,
            Self::B16x8 | Self::B8x8 => 8,
        }
    }
}

/// The sum of samples and of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Energy {
    /// Of samples.
    pub sum: u32,
    /// Of squares.
    pub squares: u32,
}

/// Takes a block and its stride, another and its stride, and gives how much they differ.
pub type Distortion = fn(&[u8], usize, &[u8], usize) -> u32;

/// As [`Distortion`], of four blocks of the second slice, which begin at offsets: for each of them, quarter by quarter.
pub type Distortions = fn(&[u8], usize, &[u8], usize, [usize; 4]) -> [[u32; 4]; 4];

/// As [`Distortion`], of a block and the average of two others.
pub type AverageDistortion = fn(&[u8], usize, &[u8], usize, &[u8], usize) -> u32;

/// Takes a block and its stride to write to, and two others to average.
pub type Average = fn(&mut [u8], usize, &[u8], usize, &[u8], usize, BlockSize);

/// Takes a block and its stride to write to, samples and their stride, eighths of a sample to the right and down, pairs of a
/// row, and rows.
pub type Chroma = fn(&mut [u8], usize, &[u8], usize, u32, u32, usize, usize);

/// A table of functions.
pub struct Samples {
    /// What it is compiled for.
    pub name: &'static str,
    /// Of a block of 16x16 and each of four others: the sums of absolute differences of their quarters, left to right, top
    /// to bottom.
    pub sad_quads_x4: Distortions,
    /// Sums of absolute differences of a block of 8x8 and the eight blocks that begin at the first eight samples of the
    /// second slice. Each of its 8 rows has 16 samples.
    pub sad_8x8_x8: fn(&[u8], usize, &[u8], usize) -> [u16; 8],
    /// The sum of absolute transformed differences: of each 4x4 block, half the sum of the absolute values of the
    /// 4x4 Hadamard transform of its differences. That sum is even. By [`BlockSize`].
    pub satd: [Distortion; 4],
    /// As `satd`, of 4x4.
    pub satd_4x4: Distortion,
    /// As `satd`, of a block and the average of two others, as of `average`.
    pub satd_average: [AverageDistortion; 4],
    /// Writes the average of two blocks, `(a + b + 1) >> 1` (clause 8.4.2.2.1).
    pub average: Average,
    /// Copies a block to the first one.
    pub copy: fn(&mut [u8], usize, &[u8], usize, BlockSize),
    /// Writes rows between samples (clause 8.4.2.2.1): half a sample to the right (`b`), half a sample down (`h`), both (`j`).
    ///
    /// Takes where to write them, as many rows of each; then samples, with 2 rows above and 3 below; and the stride of
    /// all, at least 6. Of `b` and `j`, the first two of a row repeat the third, and the last three the one before them:
    /// samples that they depend on are missing.
    pub half_pel: fn([&mut [u8]; 3], &[u8], usize),
    /// Predicts interleaved chroma between samples (clause 8.4.2.2.2): fewer than 8 eighths each way, 4 or 8 pairs and rows.
    /// Of samples there is one more row, and one more pair in each.
    pub chroma: Chroma,
    /// Writes a row half as wide: each sample from two of each of two rows, `(a + b + c + d + 2) >> 2`.
    /// Rows have at least twice the samples that are written.
    pub halve: fn(&mut [u8], &[u8], &[u8]),
    /// Writes samples of Cb and Cr in turn. They are as many, and what is written is twice as long.
    pub interleave: fn(&mut [u8], &[u8], &[u8]),
    /// The sum of squared differences of blocks of 16x16.
    pub ssd_16x16: Distortion,
    /// The energy of 16x16 samples.
    pub energy_16x16: fn(&[u8], usize) -> Energy,
    /// The energy of 8x8 pairs of chroma: of Cb and of Cr.
    pub energy_chroma: fn(&[u8], usize) -> [Energy; 2],
}

impl Samples {
    /// The table of the highest level that `simd` allows and the processor has.
    pub fn at(simd: Simd) -> &'static Samples {
        #[cfg(target_arch = "x86_64")]
        if let Some(table) = x86::table(simd) {
            return table;
        }
        let _ = simd;
        &scalar::TABLE
    }
}
