//! What is decided of a macroblock: all that entropy coding, deblocking and its neighbours need to know.

/// A motion vector, in quarter samples of luma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mv {
    /// To the right.
    pub x: i16,
    /// Downwards.
    pub y: i16,
}

impl Mv {
    /// No motion.
    pub const ZERO: Mv = Mv { x: 0, y: 0 };
}

/// How a macroblock is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each 4x4 block from its neighbours.
    I4x4,
    /// Each 8x8 block from its neighbours; the transform is 8x8.
    I8x8,
    /// All of it from its neighbours.
    #[default]
    I16x16,
    /// Not predicted: samples.
    IPcm,
    /// As its neighbours move, nothing coded.
    PSkip,
    /// One vector.
    P16x16,
    /// One vector for the upper half, one for the lower.
    P16x8,
    /// One vector for the left half, one for the right.
    P8x16,
    /// One vector for each sub-macroblock.
    P8x8,
}

impl Kind {
    /// Whether it is predicted from its own picture.
    #[inline]
    pub fn is_intra(self) -> bool {
        matches!(self, Kind::I4x4 | Kind::I8x8 | Kind::I16x16 | Kind::IPcm)
    }

    /// The number of vectors that are coded.
    #[inline]
    pub fn vectors(self) -> usize {
        match self {
            Kind::P16x16 => 1,
            Kind::P16x8 | Kind::P8x16 => 2,
            Kind::P8x8 => 4,
            _ => 0,
        }
    }
}

/// A macroblock as it was decided.
///
/// Blocks are numbered in coding order (figure 6-10): block `b` of 4x4 samples is at `BLOCK_X[b]`, `BLOCK_Y[b]`;
/// sub-macroblocks of 8x8 samples go left to right, top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macroblock {
    /// How it is predicted.
    pub kind: Kind,
    /// The luma quantisation parameter that its residual is scaled with. Where no difference is coded
    /// (see [`Macroblock::has_qp_delta`]) it is that of the macroblock before.
    pub qp: u8,
    /// The coded block pattern: a bit for each sub-macroblock of luma, and 16 times 0, 1 (DC) or 2 (DC and AC) for chroma.
    /// Of `I16x16` all luma bits are the same.
    pub cbp: u8,
    /// Whether luma is transformed in blocks of 8x8. Only where luma is coded, or in `I8x8`.
    pub transform_8x8: bool,
    /// Prediction modes: of each 4x4 block in coding order; of an 8x8 block four times; of `I16x16` the first alone.
    pub intra_modes: [u8; 16],
    /// The prediction mode of chroma (table 7-16): 0 DC, 1 horizontal, 2 vertical, 3 plane.
    pub chroma_mode: u8,
    /// The reference index of each sub-macroblock, -1 where it is intra.
    pub refs: [i8; 4],
    /// The vector of each sub-macroblock.
    pub mvs: [Mv; 4],
    /// Vectors less their prediction, in the order of partitions; as many as [`Kind::vectors`].
    pub mvds: [Mv; 4],
    /// Non-zero levels of each 4x4 block: 16 of luma in coding order, 4 of Cb, 4 of Cr. Without DC in chroma and
    /// `I16x16`. With an 8x8 transform, block `4q + k` counts levels `k`, `k + 4`, `k + 8`… of sub-macroblock
    /// `q`. In `IPcm` all are 16.
    pub nonzero: [u8; 24],
    /// Which [`Levels`] of the row are its own, if it has any residual.
    pub levels: u32,
}

impl Default for Macroblock {
    #[inline]
    fn default() -> Macroblock {
        Macroblock {
            kind: Kind::default(),
            qp: 0,
            cbp: 0,
            transform_8x8: false,
            intra_modes: [0; 16],
            chroma_mode: 0,
            refs: [0; 4],
            mvs: [Mv::ZERO; 4],
            mvds: [Mv::ZERO; 4],
            nonzero: [0; 24],
            levels: 0,
        }
    }
}

impl Macroblock {
    /// Whether a difference of the quantisation parameter is coded: luma or chroma has levels, or it is `I16x16`.
    #[inline]
    pub fn has_qp_delta(&self) -> bool {
        self.cbp != 0 || self.kind == Kind::I16x16
    }

    /// Whether it has an entry in the row's [`Levels`].
    #[inline]
    pub fn has_levels(&self) -> bool {
        self.has_qp_delta() || self.kind == Kind::IPcm
    }
}

/// Quantised transform coefficients of a macroblock, in the order they are coded in (zigzag, clause 8.5.6).
///
/// Of `IPcm`, `luma` holds 256 samples row after row, `chroma_ac` 64 of Cb and 64 of Cr.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Levels {
    /// 16 blocks in coding order. Of `I16x16` the first of each is unused. With an 8x8 transform, four blocks in a
    /// row hold the 64 levels of a sub-macroblock.
    pub luma: [[i16; 16]; 16],
    /// DC of `I16x16`.
    pub luma_dc: [i16; 16],
    /// DC of Cb and Cr.
    pub chroma_dc: [[i16; 4]; 2],
    /// AC of Cb and Cr, four blocks each, left to right, top to bottom; the first of each is unused.
    pub chroma_ac: [[[i16; 16]; 4]; 2],
}

/// Where 4x4 blocks lie in their macroblock, in blocks to the right, in coding order.
pub const BLOCK_X: [u8; 16] = [0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3];
/// In blocks downwards.
pub const BLOCK_Y: [u8; 16] = [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3];
