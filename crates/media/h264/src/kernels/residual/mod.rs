//! Transforms, quantisation, reconstruction, intra prediction, deblocking.
//!
//! Coefficients and levels of a block are in raster order, row after row, until a `zigzag` puts levels into the order
//! they are coded in. Blocks of 4x4 samples are in coding order (figure 6-10), those of chroma left to right, top to
//! bottom. A bit mask of blocks has block `b` in bit `b`; of chroma, block `b` of component `c` in bit `4c + b`.
//!
//! A block of samples is a slice that begins at its first sample, and its stride, the distance of rows. Functions
//! panic if a slice is too short, or a stride is shorter than a row.

use evener_runtime::Simd;

#[cfg(target_arch = "x86_64")]
mod avx2;
pub(super) mod bounds;
pub mod decimation;
pub mod filter_tables;
pub mod neighbours;
pub mod quantiser;
mod scalar;
pub mod scan;

use neighbours::{Neighbours4x4, Neighbours8x8, Neighbours16x16, NeighboursChroma};
use quantiser::{Quantiser, Quantiser8x8};

/// Coefficients or levels of a 4x4 block.
pub type Block = [i16; 16];
/// Those of the 4 blocks of a quarter of luma, or of a component of chroma.
pub type QuarterBlocks = [Block; 4];
/// Those of the 16 blocks of luma.
pub type LumaBlocks = [Block; 16];
/// Those of the 8 blocks of chroma: of Cb, of Cr.
pub type ChromaBlocks = [QuarterBlocks; 2];
/// DC of the 4 blocks of Cb, of Cr.
pub type ChromaDc = [[i16; 4]; 2];

/// Takes samples and their stride, a prediction and its stride, and writes coefficients of the difference.
pub type Forward<T> = fn(&[u8], usize, &[u8], usize, &mut T);

/// Takes samples (first the slice, then where sample `q0` of the edge begins in it, then the stride), α, β, and the
/// strength of the four quarters of the edge.
pub type EdgeFilter = fn(&mut [u8], usize, usize, u8, u8, &[i8; 4]);

/// As [`EdgeFilter`], with boundary strength 4 everywhere.
pub type StrongEdgeFilter = fn(&mut [u8], usize, usize, u8, u8);

/// A table of functions. All levels give the same results.
#[derive(Clone)]
pub struct Residual {
    /// The 4x4 core transform of a difference of 4x4 samples.
    ///
    /// The transform is that of which clause 8.5.12.2 has the inverse, with the matrix (1 1 1 1; 2 1 -1 -2; 1 -1 -1 1;
    /// 1 -2 2 -1). Coefficients are at most 9180.
    pub forward_4x4: Forward<Block>,
    /// As `forward_4x4`, for the 16 blocks of a macroblock.
    pub forward_16x16: Forward<LumaBlocks>,
    /// As `forward_4x4`, for the 8 blocks of interleaved chroma: 8 rows of 16 bytes.
    pub forward_chroma: Forward<ChromaBlocks>,
    /// The 8x8 transform of a difference of 8x8 samples, of which clause 8.5.13.2 has the inverse. Coefficients are
    /// within ±16383.
    pub forward_8x8: Forward<[i16; 64]>,

    /// Quantises coefficients in place; whether any level is not zero.
    ///
    /// A level is `⌊|c| / step + rounding⌋` with the sign of `c`, within [`quantiser::MAX_LEVEL`].
    pub quantise_4x4: fn(&mut Block, &Quantiser) -> bool,
    /// As `quantise_4x4`, for 16 blocks; the bit mask of those with a level that is not zero.
    pub quantise_16x16: fn(&mut LumaBlocks, &Quantiser) -> u32,
    /// As `quantise_16x16`, for the 8 blocks of chroma.
    pub quantise_chroma: fn(&mut ChromaBlocks, &Quantiser) -> u32,
    /// As `quantise_4x4`, for the coefficients of an 8x8 transform.
    pub quantise_8x8: fn(&mut [i16; 64], &Quantiser8x8) -> bool,

    /// Takes the DC coefficients of `I16x16` out of its blocks, leaving zeros, transforms and quantises them; whether
    /// any level is not zero. The levels are in raster order of the blocks' places in the macroblock.
    pub forward_luma_dc: fn(&mut LumaBlocks, &Quantiser, &mut Block) -> bool,
    /// Transforms and scales the levels of `forward_luma_dc` (clause 8.5.10). The result is in coding order of blocks.
    pub inverse_luma_dc: fn(&Block, &Quantiser) -> Block,
    /// Takes the DC coefficients of chroma out of its blocks, leaving zeros, transforms and quantises them; bit `c` of
    /// the result says whether component `c` has a level that is not zero. Raster order is coding order.
    pub forward_chroma_dc: fn(&mut ChromaBlocks, &Quantiser, &mut ChromaDc) -> u32,
    /// Transforms and scales the levels of `forward_chroma_dc` (clause 8.5.11).
    pub inverse_chroma_dc: fn(&ChromaDc, &Quantiser) -> ChromaDc,

    /// Puts levels into the order of the zigzag scan (clause 8.5.6); how many are not zero.
    pub zigzag_4x4: fn(&Block, &mut Block) -> u8,
    /// As `zigzag_4x4`, for 16 blocks.
    pub zigzag_16x16: fn(&LumaBlocks, &mut LumaBlocks) -> [u8; 16],
    /// As `zigzag_4x4`, for the 8 blocks of chroma.
    pub zigzag_chroma: fn(&ChromaBlocks, &mut ChromaBlocks) -> [[u8; 4]; 2],
    /// Puts 64 levels into the order of the 8x8 zigzag scan (clause 8.5.7). Result `k` is how many of the levels `k`,
    /// `k + 4`, `k + 8`… in that order are not zero: the four blocks as CAVLC codes them.
    pub zigzag_8x8: fn(&[i16; 64], &mut [i16; 64]) -> [u8; 4],

    /// What the levels of a block, in scan order, are worth: see [`decimation`].
    pub decimate_4x4: fn(&Block) -> u32,
    /// As `decimate_4x4`, for a block without DC: the first level is ignored, and the scan begins behind it.
    pub decimate_ac: fn(&Block) -> u32,

    /// Scales levels, transforms them and adds the result to the prediction in place (clauses 8.5.12 and 8.5.14).
    ///
    /// Sums that leave 16 bits wrap around. The standard forbids streams in which that happens; levels that come from a
    /// forward transform of differences reach it only if errors of quantisation add up, at the highest quantisation
    /// parameters.
    pub add_4x4: fn(&Block, &Quantiser, &mut [u8], usize),
    /// As `add_4x4`, for 16 blocks, of which only those in the bit mask are touched.
    pub add_16x16: fn(&LumaBlocks, u32, &Quantiser, &mut [u8], usize),
    /// As `add_4x4`, for the blocks of `I16x16`: after their levels, the bit mask of blocks that have levels beside
    /// DC, and scaled DC in coding order.
    pub add_16x16_dc: fn(&LumaBlocks, u32, &Block, &Quantiser, &mut [u8], usize),
    /// As `add_16x16_dc`, for the 8 blocks of interleaved chroma.
    pub add_chroma: fn(&ChromaBlocks, u32, &ChromaDc, &Quantiser, &mut [u8], usize),
    /// As `add_4x4`, for the levels of an 8x8 transform (clause 8.5.13).
    pub add_8x8: fn(&[i16; 64], &Quantiser8x8, &mut [u8], usize),

    /// Predicts 16x16 samples of luma by a mode of table 8-4 (see [`neighbours::intra_16x16`]).
    ///
    /// This and the following panic if the mode does not exist, or needs neighbours that are missing.
    pub intra_16x16: fn(u8, &Neighbours16x16, &mut [u8], usize),
    /// Predicts 8x8 samples of both components of chroma by a mode of table 8-5 (see [`neighbours::intra_chroma`]).
    pub intra_chroma: fn(u8, &NeighboursChroma, &mut [u8], usize),
    /// Predicts 4x4 samples of luma by a mode of table 8-2 (see [`neighbours::intra_4x4`]).
    pub intra_4x4: fn(u8, &Neighbours4x4, &mut [u8], usize),
    /// Predicts 8x8 samples of luma by a mode of table 8-3, whose numbers are those of table 8-2, from neighbours that
    /// [`Neighbours8x8::filtered`] gave.
    pub intra_8x8: fn(u8, &Neighbours8x8, &mut [u8], usize),

    /// Filters a vertical edge of 16 samples of luma (clause 8.7.2.3): `tC0` of each four rows, -1 where the boundary
    /// strength is 0.
    pub luma_vertical_edge: EdgeFilter,
    /// As `luma_vertical_edge`, for a horizontal edge: of each four columns.
    pub luma_horizontal_edge: EdgeFilter,
    /// Filters a vertical edge of 16 samples of luma with boundary strength 4 (clause 8.7.2.4).
    pub luma_vertical_strong: StrongEdgeFilter,
    /// As `luma_vertical_strong`, for a horizontal edge.
    pub luma_horizontal_strong: StrongEdgeFilter,
    /// Filters a vertical edge of 8 interleaved pairs of chroma: `tC0` of each two rows.
    pub chroma_vertical_edge: EdgeFilter,
    /// As `chroma_vertical_edge`, for a horizontal edge: of each two columns of pairs.
    pub chroma_horizontal_edge: EdgeFilter,
    /// Filters a vertical edge of 8 interleaved pairs of chroma with boundary strength 4.
    pub chroma_vertical_strong: StrongEdgeFilter,
    /// As `chroma_vertical_strong`, for a horizontal edge.
    pub chroma_horizontal_strong: StrongEdgeFilter,
}

impl Residual {
    /// The table of the highest level that `simd` allows and the processor has.
    pub fn at(simd: Simd) -> &'static Residual {
        #[cfg(target_arch = "x86_64")]
        if matches!(simd, Simd::Avx2 | Simd::Avx512) && avx2::present() {
            static TABLE: Residual = avx2::TABLE;
            return &TABLE;
        }
        static TABLE: Residual = scalar::TABLE;
        let _ = simd;
        &TABLE
    }
}
