//! What syntax elements of residuals cost with CABAC, for decisions that weigh bits against distortion.
//!
//! A cost is what a bin takes by the probability of its context's state. The arithmetic code comes within a few percent of
//! it. Contexts do not adapt while costs are added up.

use super::contexts::Contexts;
use super::residual::{CODED, LAST, LEVEL, SIGNIFICANT, increments, level_increments};

pub use super::residual::BlockKind;

/// A bit, in the units that costs are in.
pub const BIT: u32 = 256;

/// Of the more and the less probable symbol in each state: -256 log2 of its probability, which is 0.5 in state 0, 0.01875
/// in state 63, and falls by the same factor with each state between (clause 9.3.1.2).
#[rustfmt::skip]
const COSTS: [u16; 126] = [
    256, 256, 238, 275, 221, 294, 206, 314, 192, 333, 180, 352, 168, 371, 157, 391, 148, 410,
    139, 429, 130, 448, 122, 468, 115, 487, 108, 506, 102, 525, 96, 545, 90, 564, 85, 583,
    80, 602, 76, 622, 72, 641, 68, 660, 64, 679, 60, 699, 57, 718, 54, 737, 51, 756,
    48, 776, 46, 795, 43, 814, 41, 833, 39, 853, 37, 872, 35, 891, 33, 910, 31, 930,
    29, 949, 28, 968, 26, 987, 25, 1007, 24, 1026, 22, 1045, 21, 1064, 20, 1084, 19, 1103,
    18, 1122, 17, 1141, 16, 1161, 15, 1180, 15, 1199, 14, 1218, 13, 1238, 12, 1257, 12, 1276,
    11, 1295, 11, 1315, 10, 1334, 10, 1353, 9, 1372, 9, 1392, 8, 1411, 8, 1430, 7, 1449,
];

/// What bins cost at one moment of a slice.
#[derive(Clone, Debug)]
pub struct Costs {
    contexts: Contexts,
}

impl Costs {
    pub(super) fn new(contexts: &Contexts) -> Costs {
        Costs {
            contexts: contexts.clone(),
        }
    }

    /// As an I slice begins, or a P slice with cabac_init_idc `init`, at SliceQPY `qp`.
    pub fn at_start(init: Option<u8>, qp: u8) -> Costs {
        Costs {
            contexts: Contexts::new(init, qp),
        }
    }

    #[inline(always)]
    fn bin(&self, ctx: usize, bin: bool) -> u32 {
        let state = self.contexts.states[ctx];
        u32::from(COSTS[usize::from(state ^ u8::from(bin)).min(125)])
    }

    /// coded_block_flag, by that of the blocks to the left and above. Blocks of 8x8 have none.
    #[inline]
    pub fn coded(&self, kind: BlockKind, left: bool, above: bool, is_coded: bool) -> u32 {
        match CODED.get(kind as usize) {
            Some(ctx) => self.bin(ctx + usize::from(left) + 2 * usize::from(above), is_coded),
            None => 0,
        }
    }

    /// significant_coeff_flag of the level at `i`, which is not the block's last place.
    #[inline]
    pub fn significant(&self, kind: BlockKind, i: usize, is_significant: bool) -> u32 {
        let (inc, _) = increments(kind as usize, i);
        self.bin(SIGNIFICANT[kind as usize] + inc, is_significant)
    }

    /// last_significant_coeff_flag of the level at `i`, which is not the block's last place and has a level.
    #[inline]
    pub fn last(&self, kind: BlockKind, i: usize, is_last: bool) -> u32 {
        let (_, inc) = increments(kind as usize, i);
        self.bin(LAST[kind as usize] + inc, is_last)
    }

    /// A level of absolute value `size`, at least 1, with its sign. Behind it the block has `ones` levels of 1 and `more`
    /// of more than 1.
    #[inline]
    pub fn level(&self, kind: BlockKind, size: u32, ones: usize, more: usize) -> u32 {
        let level = LEVEL[kind as usize];
        let (first, others) = level_increments(ones, more);
        let cost = BIT + self.bin(level + first, size > 1);
        if size == 1 {
            return cost;
        }
        let ctx = level + others;
        let cost = cost + (size.min(15) - 2) * self.bin(ctx, true);
        if size < 15 {
            cost + self.bin(ctx, false)
        } else {
            cost + BIT * (2 * (size - 14).ilog2() + 1)
        }
    }

    /// The levels of a block that is coded: all but coded_block_flag.
    pub fn block(&self, kind: BlockKind, levels: &[i16]) -> u32 {
        let Some(last) = levels.iter().rposition(|level| *level != 0) else {
            return 0;
        };
        let mut cost = 0;
        for (i, level) in levels[..=last].iter().enumerate() {
            if i + 1 < levels.len() {
                cost += self.significant(kind, i, *level != 0);
                if *level != 0 {
                    cost += self.last(kind, i, i == last);
                }
            }
        }
        let (mut ones, mut more) = (0, 0);
        for level in levels[..=last].iter().rev().filter(|level| **level != 0) {
            let size = u32::from(level.unsigned_abs());
            cost += self.level(kind, size, ones, more);
            if size == 1 { ones += 1 } else { more += 1 }
        }
        cost
    }
}

#[cfg(test)]
mod tests;
