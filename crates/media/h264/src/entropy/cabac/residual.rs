//! residual() (clause 7.3.5.3): coded_block_flag and levels.

use super::contexts::Contexts;
use super::engine::Coder;
use super::macroblock::Bins;
use super::neighbours::CodedBlockFlags;
use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock};

/// Kinds of blocks, ctxBlockCat (table 9-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// DC of `I16x16`.
    LumaDc = 0,
    /// AC of `I16x16`.
    LumaAc = 1,
    /// Other blocks of 4x4 of luma.
    Luma4x4 = 2,
    /// DC of Cb or Cr.
    ChromaDc = 3,
    /// AC of Cb or Cr.
    ChromaAc = 4,
    /// Blocks of 8x8 of luma.
    Luma8x8 = 5,
}

const LUMA_DC: usize = BlockKind::LumaDc as usize;
const LUMA_AC: usize = BlockKind::LumaAc as usize;
const LUMA_4X4: usize = BlockKind::Luma4x4 as usize;
const CHROMA_DC: usize = BlockKind::ChromaDc as usize;
const CHROMA_AC: usize = BlockKind::ChromaAc as usize;
const LUMA_8X8: usize = BlockKind::Luma8x8 as usize;

// ctxIdxOffset with ctxBlockCatOffset, by kind of block (tables 9-34 and 9-40).
/// coded_block_flag.
pub(super) const CODED: [usize; 5] = [85, 89, 93, 97, 101];
/// significant_coeff_flag.
pub(super) const SIGNIFICANT: [usize; 6] = [105, 120, 134, 149, 152, 402];
/// last_significant_coeff_flag.
pub(super) const LAST: [usize; 6] = [166, 181, 195, 210, 213, 417];
/// coeff_abs_level_minus1.
pub(super) const LEVEL: [usize; 6] = [227, 237, 247, 257, 266, 426];

/// ctxIdxInc of significant_coeff_flag in blocks of 8x8 (table 9-43, frame coded macroblocks).
const SIGNIFICANT_8X8: [u8; 63] = [
    0, 1, 2, 3, 4, 5, 5, 4, 4, 3, 3, 4, 4, 4, 5, 5, 4, 4, 4, 4, 3, 3, 6, 7, 7, 7, 8, 9, 10, 9, 8,
    7, 7, 6, 11, 12, 13, 11, 6, 7, 8, 9, 14, 10, 9, 8, 6, 11, 12, 13, 11, 6, 9, 14, 10, 9, 11, 12,
    13, 11, 14, 10, 12,
];
/// ctxIdxInc of last_significant_coeff_flag in blocks of 8x8 (table 9-43).
const LAST_8X8: [u8; 63] = [
    0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8,
];

/// The residual of a macroblock whose neighbours' sides are `left` and `above`. Gives its own right and lower side.
pub(super) fn residual(
    bins: &mut Bins,
    macroblock: &Macroblock,
    levels: &Levels,
    left: CodedBlockFlags,
    above: CodedBlockFlags,
) -> (CodedBlockFlags, CodedBlockFlags) {
    let chroma = macroblock.cbp >> 4;
    let mut right = CodedBlockFlags::default();
    let mut below = CodedBlockFlags::default();

    if macroblock.kind == Kind::I16x16 {
        right.dc |= dc::<LUMA_DC>(bins, 0, &levels.luma_dc, left, above);
    }
    let mut luma = Grid::new(left.luma, above.luma, 4);
    for sub_macroblock in 0..4 {
        if macroblock.cbp >> sub_macroblock & 1 != 0 {
            luma_sub_macroblock(bins, macroblock, levels, sub_macroblock, &mut luma);
        }
    }
    (right.luma, below.luma) = luma.sides();

    if chroma > 0 {
        right.dc |= dc::<CHROMA_DC>(bins, 1, &levels.chroma_dc[0], left, above);
        right.dc |= dc::<CHROMA_DC>(bins, 2, &levels.chroma_dc[1], left, above);
    }
    below.dc = right.dc;
    if chroma > 1 {
        for component in 0..2 {
            let mut grid = Grid::new(left.chroma[component], above.chroma[component], 2);
            for (block, levels) in levels.chroma_ac[component].iter().enumerate() {
                let is_coded = macroblock.nonzero[16 + 4 * component + block] != 0;
                let inc = grid.pass(block & 1, block >> 1, is_coded);
                block_if::<CHROMA_AC>(bins, inc, is_coded, &levels[1..]);
            }
            (right.chroma[component], below.chroma[component]) = grid.sides();
        }
    }
    (right, below)
}

/// The DC whose coded_block_flag is bit `bit` of [`CodedBlockFlags::dc`]. Gives that.
fn dc<const KIND: usize>(
    bins: &mut Bins,
    bit: usize,
    levels: &[i16],
    left: CodedBlockFlags,
    above: CodedBlockFlags,
) -> u8 {
    let inc = left.dc >> bit & 1 | (above.dc >> bit & 1) << 1;
    let is_coded = levels.iter().any(|level| *level != 0);
    block_if::<KIND>(bins, usize::from(inc), is_coded, levels);
    u8::from(is_coded) << bit
}

fn luma_sub_macroblock(
    bins: &mut Bins,
    macroblock: &Macroblock,
    levels: &Levels,
    sub_macroblock: usize,
    grid: &mut Grid,
) {
    let blocks = 4 * sub_macroblock..4 * sub_macroblock + 4;
    if macroblock.transform_8x8 {
        // coded_block_flag is not coded but inferred to be 1 (clause 7.4.5.3.3).
        for block in blocks.clone() {
            grid.pass(BLOCK_X[block].into(), BLOCK_Y[block].into(), true);
        }
        block::<LUMA_8X8>(bins, levels.luma[blocks].as_flattened());
        return;
    }
    for block in blocks {
        let is_coded = macroblock.nonzero[block] != 0;
        let inc = grid.pass(BLOCK_X[block].into(), BLOCK_Y[block].into(), is_coded);
        let levels = &levels.luma[block];
        if macroblock.kind == Kind::I16x16 {
            block_if::<LUMA_AC>(bins, inc, is_coded, &levels[1..]);
        } else {
            block_if::<LUMA_4X4>(bins, inc, is_coded, levels);
        }
    }
}

/// coded_block_flag of square blocks and of those beside them: bit `8 * (y + 1) + x + 1` is that of block x, y.
struct Grid {
    bits: u64,
    /// The number of blocks along a side.
    side: usize,
}

impl Grid {
    #[inline(always)]
    fn new(left: u8, above: u8, side: usize) -> Grid {
        let column = (0..side).fold(0, |bits, y| {
            bits | u64::from(left >> y & 1) << (8 * (y + 1))
        });
        let bits = column | u64::from(above) << 1;
        Grid { bits, side }
    }

    /// Enters the flag of the block x, y. Gives its ctxIdxInc (clause 9.3.3.1.1.9).
    #[inline(always)]
    fn pass(&mut self, x: usize, y: usize, is_coded: bool) -> usize {
        let at = 8 * y + x;
        let inc = self.bits >> (at + 8) & 1 | (self.bits >> (at + 1) & 1) << 1;
        self.bits |= u64::from(is_coded) << (at + 9);
        inc as usize
    }

    /// The flags of the right and the lower side.
    #[inline(always)]
    fn sides(&self) -> (u8, u8) {
        let right = (0..self.side).fold(0, |bits, y| {
            bits | (self.bits >> (8 * (y + 1) + self.side) & 1) << y
        });
        let below = self.bits >> (8 * self.side + 1);
        (right as u8, below as u8)
    }
}

/// coded_block_flag and, if it is set, the levels.
#[inline(always)]
fn block_if<const KIND: usize>(bins: &mut Bins, inc: usize, is_coded: bool, levels: &[i16]) {
    bins.put(CODED[KIND] + inc, is_coded);
    if is_coded {
        block::<KIND>(bins, levels);
    }
}

/// residual_block_cabac() (clause 7.3.5.3.3) behind coded_block_flag: levels that are not all 0.
pub(super) fn block<const KIND: usize>(bins: &mut Bins, levels: &[i16]) {
    let contexts = &mut *bins.contexts;
    bins.coder.fork(|coder| {
        let mask = mask(levels);
        assert!(mask != 0, "a block that is coded has no levels");
        map::<KIND>(coder, contexts, mask, levels.len());
        values::<KIND>(coder, contexts, mask, levels);
    });
}

/// A bit for each level that is not 0, the lowest for the first.
#[inline(always)]
fn mask(levels: &[i16]) -> u64 {
    levels
        .iter()
        .enumerate()
        .fold(0, |mask, (i, level)| mask | u64::from(*level != 0) << i)
}

/// ctxIdxInc of significant_coeff_flag and last_significant_coeff_flag of the level at `i` (clause 9.3.3.1.3).
///
/// For chroma DC that is Min(i, 2), and the flags of its 4 levels end with the third.
#[inline(always)]
pub(super) fn increments(kind: usize, i: usize) -> (usize, usize) {
    match kind {
        LUMA_8X8 => (SIGNIFICANT_8X8[i].into(), LAST_8X8[i].into()),
        _ => (i, i),
    }
}

/// ctxIdxInc of coeff_abs_level_minus1 behind `ones` levels of 1 and `more` of more than 1: that of its first bin, and of
/// the others (clause 9.3.3.1.3).
///
/// For chroma DC the latter is at most 8, and more than 3 levels are never behind one.
#[inline(always)]
pub(super) fn level_increments(ones: usize, more: usize) -> (usize, usize) {
    let first = if more == 0 { 4.min(1 + ones) } else { 0 };
    (first, 5 + 4.min(more))
}

/// Which of `count` levels are not 0: significant_coeff_flag and last_significant_coeff_flag.
#[inline(always)]
fn map<const KIND: usize>(coder: &mut Coder, contexts: &mut Contexts, mask: u64, count: usize) {
    let last = 63 - mask.leading_zeros() as usize;
    for i in 0..=last.min(count - 2) {
        let (significant, end) = increments(KIND, i);
        let is_significant = mask >> i & 1 != 0;
        coder.decision(contexts, SIGNIFICANT[KIND] + significant, is_significant);
        if is_significant {
            coder.decision(contexts, LAST[KIND] + end, i == last);
        }
    }
}

/// Levels that are not 0 from the last to the first: coeff_abs_level_minus1 (UEG0 with uCoff 14, clauses 9.3.2.3 and
/// 9.3.3.1.3) and signs.
#[inline(always)]
fn values<const KIND: usize>(
    coder: &mut Coder,
    contexts: &mut Contexts,
    mut mask: u64,
    levels: &[i16],
) {
    let (mut ones, mut more) = (0, 0);
    while mask != 0 {
        let i = 63 - mask.leading_zeros() as usize;
        mask ^= 1 << i;
        let size = u32::from(levels[i].unsigned_abs());
        let (first, others) = level_increments(ones, more);
        coder.decision(contexts, LEVEL[KIND] + first, size > 1);
        if size == 1 {
            ones += 1;
        } else {
            let ctx = LEVEL[KIND] + others;
            more += 1;
            for _ in 2..size.min(15) {
                coder.decision(contexts, ctx, true);
            }
            if size < 15 {
                coder.decision(contexts, ctx, false);
            } else {
                coder.exp_golomb(size - 15, 0);
            }
        }
        coder.bypass(levels[i] < 0);
    }
}
