//! The macroblock layer (clause 7.3.5) in CAVLC.

use crate::bits::BitWriter;
use crate::entropy::qp_delta;
use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Levels, Macroblock};
use crate::syntax::SliceKind;

use super::residual::{block, block_without_dc, chroma_dc, empty, tokens};
use super::tables::CODED_BLOCK_PATTERN;
use super::{Cavlc, TotalCoeffs};

impl Cavlc {
    /// Writes macroblock `x` of the row, which is not skipped.
    pub(super) fn macroblock(
        &mut self,
        x: usize,
        macroblock: &Macroblock,
        levels: &[Levels],
        bits: &mut BitWriter,
    ) {
        let kind = macroblock.kind;
        bits.ue(mb_type(macroblock, self.kind));
        match kind {
            Kind::IPcm => {
                self.modes.pass(x, macroblock, |_| {});
                return samples(&levels[macroblock.levels as usize], bits);
            }
            Kind::I4x4 | Kind::I8x8 | Kind::I16x16 => {
                if self.transform_8x8 && kind != Kind::I16x16 {
                    bits.flag(kind == Kind::I8x8); // transform_size_8x8_flag
                }
                // prev_intra4x4_pred_mode_flag and rem_intra4x4_pred_mode, and those of 8x8
                self.modes.pass(x, macroblock, |code| match code {
                    None => bits.put(1, 1),
                    Some(mode) => bits.put(u32::from(mode), 4),
                });
                bits.ue(u32::from(macroblock.chroma_mode)); // intra_chroma_pred_mode
            }
            _ => {
                self.modes.pass(x, macroblock, |_| {});
                self.motion(macroblock, bits);
            }
        }
        if kind != Kind::I16x16 {
            let numbers = &CODED_BLOCK_PATTERN[usize::from(!kind.is_intra())];
            bits.ue(u32::from(numbers[macroblock.cbp as usize])); // coded_block_pattern
            if self.transform_8x8 && !kind.is_intra() && macroblock.cbp & 15 != 0 {
                bits.flag(macroblock.transform_8x8); // transform_size_8x8_flag
            }
        }
        if macroblock.has_qp_delta() {
            bits.se(qp_delta(self.qp, macroblock.qp)); // mb_qp_delta
            self.qp = macroblock.qp;
            let levels = &levels[macroblock.levels as usize];
            luma(macroblock, levels, &self.left, &self.above[x], bits);
            chroma(macroblock, levels, &self.left, &self.above[x], bits);
        }
    }

    /// `mb_pred` and `sub_mb_pred` of inter (clauses 7.3.5.1 and 7.3.5.2).
    fn motion(&self, macroblock: &Macroblock, bits: &mut BitWriter) {
        let sub_macroblocks: &[usize] = match macroblock.kind {
            Kind::P16x16 => &[0],
            Kind::P16x8 => &[0, 2],
            Kind::P8x16 => &[0, 1],
            _ => &[0, 1, 2, 3],
        };
        if macroblock.kind == Kind::P8x8 {
            bits.put(0b1111, 4); // sub_mb_type four times: 8x8
        }
        // ref_idx_l0: te(v)
        for &sub_macroblock in sub_macroblocks {
            let reference = macroblock.refs[sub_macroblock] as u32;
            match self.references {
                0 | 1 => {}
                2 => bits.put(1 - reference, 1),
                _ => bits.ue(reference),
            }
        }
        for mvd in &macroblock.mvds[..sub_macroblocks.len()] {
            bits.se(i32::from(mvd.x)); // mvd_l0
            bits.se(i32::from(mvd.y));
        }
    }
}

/// `mb_type` (tables 7-11 and 7-13).
fn mb_type(macroblock: &Macroblock, slice: SliceKind) -> u32 {
    let intra = match macroblock.kind {
        Kind::PSkip | Kind::P16x16 => return 0,
        Kind::P16x8 => return 1,
        Kind::P8x16 => return 2,
        Kind::P8x8 => return 3,
        Kind::I4x4 | Kind::I8x8 => 0,
        Kind::I16x16 => {
            let luma = u32::from(macroblock.cbp & 15 != 0);
            let chroma = u32::from(macroblock.cbp >> 4);
            1 + u32::from(macroblock.intra_modes[0]) + 4 * chroma + 12 * luma
        }
        Kind::IPcm => 25,
    };
    match slice {
        SliceKind::I => intra,
        SliceKind::P => 5 + intra,
    }
}

/// The samples of `IPcm`.
fn samples(levels: &Levels, bits: &mut BitWriter) {
    bits.align(false); // pcm_alignment_zero_bit
    let luma = levels.luma.as_flattened();
    let chroma = levels.chroma_ac.as_flattened().as_flattened();
    let all = luma.iter().chain(chroma).map(|&sample| sample as u8);
    bits.bytes().extend(all);
}

/// `residual_luma` (clause 7.3.5.3.1).
fn luma(
    macroblock: &Macroblock,
    levels: &Levels,
    left: &TotalCoeffs,
    above: &TotalCoeffs,
    bits: &mut BitWriter,
) {
    let (mut left, mut above) = (left.luma, above.luma);
    let whole = macroblock.kind == Kind::I16x16;
    if whole {
        block(bits, &levels.luma_dc, tokens(left[0], above[0]));
    }
    for sub_macroblock in 0..4 {
        let coded = macroblock.cbp >> sub_macroblock & 1 != 0;
        let first = 4 * sub_macroblock;
        let interleaved =
            (coded && macroblock.transform_8x8).then(|| interleave(&levels.luma[first..][..4]));
        for index in first..first + 4 {
            let (column, line) = (BLOCK_X[index] as usize, BLOCK_Y[index] as usize);
            let count = macroblock.nonzero[index];
            if coded {
                let tokens = tokens(left[line], above[column]);
                match &interleaved {
                    _ if count == 0 => empty(bits, tokens),
                    Some(levels) => block(bits, &levels[index - first], tokens),
                    None if whole => block_without_dc(bits, &levels.luma[index], tokens),
                    None => block(bits, &levels.luma[index], tokens),
                }
            }
            left[line] = count;
            above[column] = count;
        }
    }
}

/// The levels of an 8x8 block as four of 4x4: each has every fourth.
pub(super) fn interleave(levels: &[[i16; 16]]) -> [[i16; 16]; 4] {
    let levels = levels.as_flattened();
    std::array::from_fn(|block| std::array::from_fn(|at| levels[4 * at + block]))
}

/// Chroma (clause 7.3.5.3).
fn chroma(
    macroblock: &Macroblock,
    levels: &Levels,
    left: &TotalCoeffs,
    above: &TotalCoeffs,
    bits: &mut BitWriter,
) {
    if macroblock.cbp >> 4 == 0 {
        return;
    }
    for dc in &levels.chroma_dc {
        chroma_dc(bits, dc);
    }
    if macroblock.cbp >> 4 != 2 {
        return;
    }
    for component in 0..2 {
        let (mut left, mut above) = (left.chroma[component], above.chroma[component]);
        for index in 0..4 {
            let (column, line) = (index & 1, index >> 1);
            let count = macroblock.nonzero[16 + 4 * component + index];
            let tokens = tokens(left[line], above[column]);
            match count {
                0 => empty(bits, tokens),
                _ => block_without_dc(bits, &levels.chroma_ac[component][index], tokens),
            }
            left[line] = count;
            above[column] = count;
        }
    }
}
