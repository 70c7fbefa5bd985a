//! Keeping a picture to a number of bits while its macroblocks are decided, for the buffers of decoders.
//!
//! Entropy coding runs behind, so bits are estimated from levels. Rows run one behind the other, and how far each has got
//! differs from run to run. So a macroblock counts only those that are always decided before it: its own row to the left,
//! the row above up to the one above to the right, the row above that one further, and so on. Each hands on the sum.

use crate::macroblock::{Kind, Levels, Macroblock};
use crate::rate::log2;

use super::cost;

/// What a picture may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bits, at most.
    pub bits: u64,
    /// The cost of all its macroblocks.
    pub cost: u64,
}

/// Estimated bits of macroblocks, and their costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Bits.
    pub bits: u32,
    /// Costs before anything was decided.
    pub cost: u32,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Spent) -> Spent {
        Spent {
            bits: self.bits + other.bits,
            cost: self.cost + other.cost,
        }
    }
}

/// Steps of the quantisation parameter in which the bits of a picture are halved.
const HALVED: f64 = 4.0;
/// The part of the cost that must be known before it says anything about the rest.
const KNOWN: u64 = 32;

impl Budget {
    /// By how much the parameter of the next macroblock has to be raised after what is known to be spent.
    pub fn raise(&self, spent: Spent) -> i32 {
        let (bits, cost) = (u64::from(spent.bits), u64::from(spent.cost));
        let left = self.bits.saturating_sub(bits);
        if left == 0 {
            return 51;
        }
        if cost == 0 || cost * KNOWN < self.cost {
            return 0;
        }
        let rest = bits as f64 / cost as f64 * self.cost.saturating_sub(cost) as f64;
        match rest <= left as f64 {
            true => 0,
            false => (HALVED * log2(rest / left as f64)).ceil().min(51.0) as i32,
        }
    }
}

/// About how many bits a macroblock has, from above in most cases.
pub fn estimate(mb: &Macroblock, levels: &Levels) -> u32 {
    if mb.kind == Kind::IPcm {
        return 384 * 8 + 16;
    }
    let mut bits = match mb.kind {
        Kind::PSkip => return 1,
        Kind::I4x4 => 40,
        Kind::I8x8 => 16,
        Kind::I16x16 => 8,
        _ => 4,
    };
    for mvd in &mb.mvds[..mb.kind.vectors()] {
        bits += cost::se(i32::from(mvd.x)) + cost::se(i32::from(mvd.y));
    }
    let block = |levels: &[i16]| -> u32 {
        let found = levels.iter().filter(|&&level| level != 0);
        let sizes = found.map(|level| 5 + 2 * u32::from(level.unsigned_abs()).ilog2());
        sizes.sum::<u32>() + 1
    };
    if mb.kind == Kind::I16x16 {
        bits += block(&levels.luma_dc);
    }
    for (b, luma) in levels.luma.iter().enumerate() {
        if mb.cbp >> (b / 4) & 1 == 1 && mb.nonzero[b] != 0 {
            bits += block(&luma[usize::from(mb.kind == Kind::I16x16)..]);
        }
    }
    if mb.cbp >= 16 {
        bits += levels.chroma_dc.iter().map(|dc| block(dc)).sum::<u32>();
    }
    if mb.cbp >= 32 {
        for (b, ac) in levels.chroma_ac.iter().flatten().enumerate() {
            if mb.nonzero[16 + b] != 0 {
                bits += block(&ac[1..]);
            }
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_rise_where_more_is_spent_than_planned() {
        let budget = Budget {
            bits: 1000,
            cost: 640,
        };
        let spent = |bits, cost| Spent { bits, cost };
        // Nothing is known yet.
        assert_eq!(budget.raise(spent(0, 0)), 0);
        assert_eq!(budget.raise(spent(500, 19)), 0);
        // As planned, and below.
        assert_eq!(budget.raise(spent(500, 320)), 0);
        assert_eq!(budget.raise(spent(100, 320)), 0);
        // 750 are spent, and as many more would come, where 250 are left: a third.
        assert_eq!(budget.raise(spent(750, 320)), 7);
        assert_eq!(budget.raise(spent(1000, 320)), 51);
        // The last macroblock.
        assert_eq!(budget.raise(spent(999, 640)), 0);
        // A picture that costs nothing by expectation.
        let nothing = Budget {
            bits: 1000,
            cost: 0,
        };
        assert_eq!(nothing.raise(spent(0, 0)), 0);
        assert_eq!(nothing.raise(spent(500, 0)), 0);
        assert_eq!(nothing.raise(spent(1000, 0)), 51);
    }
}
