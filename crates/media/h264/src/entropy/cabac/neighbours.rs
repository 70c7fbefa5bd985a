//! What contexts depend on of the macroblocks to the left and above.

use crate::macroblock::{Kind, Macroblock, Mv};

/// Absolute values of a coded vector difference.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AbsMvd {
    pub x: u8,
    pub y: u8,
}

impl AbsMvd {
    /// Those of `mvd`, at most 255: only sums of up to 33 are told apart.
    pub fn of(mvd: Mv) -> AbsMvd {
        let size = |component: i16| component.unsigned_abs().min(255) as u8;
        AbsMvd {
            x: size(mvd.x),
            y: size(mvd.y),
        }
    }
}

/// coded_block_flag of the blocks along a side of a macroblock, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CodedBlockFlags {
    /// Of 4 blocks.
    pub luma: u8,
    /// Of 2 blocks of Cb, 2 of Cr.
    pub chroma: [u8; 2],
    /// Of the DC of luma, Cb and Cr.
    pub dc: u8,
}

impl CodedBlockFlags {
    /// All blocks.
    pub const ALL: CodedBlockFlags = CodedBlockFlags {
        luma: 15,
        chroma: [3; 2],
        dc: 7,
    };
}

/// A side of a macroblock, for the next one along it. Arrays go along the side.
///
/// If it is not said otherwise, a value is condTermFlag of the named syntax element (clause 9.3.3.1.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Neighbour {
    /// mb_skip_flag: it is there and not skipped.
    pub is_coded: bool,
    /// mb_type in I slices: it is there and neither `I4x4` nor `I8x8`.
    pub is_not_nxn: bool,
    /// transform_size_8x8_flag.
    pub transform_8x8: bool,
    /// intra_chroma_pred_mode.
    pub has_chroma_mode: bool,
    /// ref_idx_l0.
    pub is_far: [bool; 2],
    /// What is added for mvd_l0.
    pub vectors: [AbsMvd; 2],
    /// coded_block_pattern, luma.
    pub is_luma_zero: [bool; 2],
    /// coded_block_pattern, chroma: its value.
    pub chroma: u8,
    /// coded_block_flag.
    pub coded: CodedBlockFlags,
    /// There is no macroblock, so that to an intra macroblock all blocks count as coded.
    pub is_outside: bool,
}

impl Neighbour {
    /// Where there is no macroblock.
    pub const OUTSIDE: Neighbour = Neighbour {
        is_outside: true,
        is_luma_zero: [false; 2],
        ..Neighbour::SKIPPED
    };

    /// Of a skipped macroblock.
    pub const SKIPPED: Neighbour = Neighbour {
        is_coded: false,
        is_not_nxn: false,
        transform_8x8: false,
        has_chroma_mode: false,
        is_far: [false; 2],
        vectors: [AbsMvd { x: 0, y: 0 }; 2],
        is_luma_zero: [true; 2],
        chroma: 0,
        coded: CodedBlockFlags {
            luma: 0,
            chroma: [0; 2],
            dc: 0,
        },
        is_outside: false,
    };

    /// Of a macroblock of samples.
    pub const SAMPLES: Neighbour = Neighbour {
        is_coded: true,
        is_not_nxn: true,
        is_luma_zero: [false; 2],
        chroma: 2,
        coded: CodedBlockFlags::ALL,
        ..Neighbour::SKIPPED
    };

    /// The side of another macroblock along the sub-macroblocks `along`.
    #[inline(always)]
    pub fn of(
        macroblock: &Macroblock,
        along: [usize; 2],
        vectors: &[AbsMvd; 4],
        coded: CodedBlockFlags,
    ) -> Neighbour {
        let kind = macroblock.kind;
        let is_intra = kind.is_intra();
        let [first, second] = along;
        let is_far = |sub_macroblock: usize| !is_intra && macroblock.refs[sub_macroblock] > 0;
        let is_luma_zero = |sub_macroblock: usize| macroblock.cbp >> sub_macroblock & 1 == 0;
        Neighbour {
            is_coded: true,
            is_not_nxn: kind == Kind::I16x16,
            transform_8x8: macroblock.transform_8x8,
            has_chroma_mode: is_intra && macroblock.chroma_mode != 0,
            is_far: [is_far(first), is_far(second)],
            vectors: [vectors[first], vectors[second]],
            is_luma_zero: [is_luma_zero(first), is_luma_zero(second)],
            chroma: macroblock.cbp >> 4,
            coded,
            is_outside: false,
        }
    }

    /// coded_block_flag as a macroblock that is intra or not takes it (clause 9.3.3.1.1.9).
    #[inline(always)]
    pub fn coded_for(&self, is_intra: bool) -> CodedBlockFlags {
        if self.is_outside && is_intra {
            CodedBlockFlags::ALL
        } else {
            self.coded
        }
    }
}

/// The sides that adjoin a macroblock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    pub left: Neighbour,
    pub above: Neighbour,
}

impl Neighbours {
    /// Of how many something holds.
    #[inline(always)]
    pub fn count(&self, holds: impl Fn(&Neighbour) -> bool) -> usize {
        usize::from(holds(&self.left)) + usize::from(holds(&self.above))
    }

    /// 1 if it holds to the left, and 2 if above.
    #[inline(always)]
    pub fn sum(&self, holds: impl Fn(&Neighbour) -> bool) -> usize {
        usize::from(holds(&self.left)) + 2 * usize::from(holds(&self.above))
    }
}
