//! Prediction from references that a test demands.

use super::{Area, Inter, InterSearch, difference, sub_macroblock};
use crate::decide::forced::Forced;
use crate::kernels::BlockSize;
use crate::macroblock::{Kind, Mv};
use crate::neighbours::Partition;

impl InterSearch<'_> {
    /// The prediction that a test demands.
    pub fn forced(&self, kind: Kind, forced: &Forced) -> Inter {
        let mut motion = self.motion.clone();
        let mut result = Inter::skipped(Mv::ZERO);
        let (kind, size) = match kind {
            Kind::P16x8 => (kind, BlockSize::B16x8),
            Kind::P8x16 => (kind, BlockSize::B8x16),
            Kind::P8x8 => (kind, BlockSize::B8x8),
            _ => (Kind::P16x16, BlockSize::B16x16),
        };
        result.kind = kind;
        for (i, &(partition, sub_macroblocks)) in partitions(kind).iter().enumerate() {
            let q = sub_macroblocks[0];
            let reference = (usize::from(forced.refs[q]) % self.slice.references.len()) as i8;
            let area = Area {
                size,
                ..sub_macroblock(q)
            };
            let mv = self.limits(area).clamp(forced.mvs[q]);
            result.mvds[i] = difference(mv, motion.predict(partition, reference));
            for &q in sub_macroblocks {
                motion.set(q, reference, mv);
                result.refs[q] = reference;
                result.mvs[q] = mv;
            }
        }
        result
    }
}

/// The sub-macroblocks of each partition of a kind, and what it is to the prediction of vectors.
fn partitions(kind: Kind) -> &'static [(Partition, &'static [usize])] {
    match kind {
        Kind::P16x8 => &[(Partition::Rows(0), &[0, 1]), (Partition::Rows(1), &[2, 3])],
        Kind::P8x16 => &[
            (Partition::Columns(0), &[0, 2]),
            (Partition::Columns(1), &[1, 3]),
        ],
        Kind::P8x8 => &[
            (Partition::SubMacroblock(0), &[0]),
            (Partition::SubMacroblock(1), &[1]),
            (Partition::SubMacroblock(2), &[2]),
            (Partition::SubMacroblock(3), &[3]),
        ],
        _ => &[(Partition::Whole, &[0, 1, 2, 3])],
    }
}
