//! macroblock_layer() (clause 7.3.5) but for residuals: binarisations (clause 9.3.2) and their contexts
//! (clause 9.3.3.1).

use super::contexts::{
    CBP_CHROMA, CBP_LUMA, CHROMA_MODE, Contexts, MB_SKIP, MB_TYPE_I, MB_TYPE_P, MB_TYPE_P_INTRA,
    MVD_X, MVD_Y, PREDICTED_MODE, QP_DELTA, REF_IDX, REMAINING_MODE, SUB_MB_TYPE, TRANSFORM_8X8,
};
use super::engine::Coder;
use super::neighbours::{AbsMvd, Neighbours};
use crate::macroblock::{Kind, Macroblock, Mv};

/// A coder of bins with the contexts of its slice.
pub(super) struct Bins<'a, 'b> {
    pub coder: &'a mut Coder<'b>,
    pub contexts: &'a mut Contexts,
}

impl Bins<'_, '_> {
    #[inline(always)]
    pub fn put(&mut self, ctx: usize, bin: bool) {
        self.coder.decision(self.contexts, ctx, bin);
    }

    /// mb_skip_flag.
    pub fn skip(&mut self, around: &Neighbours, skip: bool) {
        let inc = around.count(|edge| edge.is_coded);
        self.put(MB_SKIP + inc, skip);
    }

    /// mb_type in an I slice.
    pub fn type_in_i(&mut self, around: &Neighbours, macroblock: &Macroblock) {
        let first = MB_TYPE_I + around.count(|edge| edge.is_not_nxn);
        let rest = |inc: usize| MB_TYPE_I + inc;
        let rest = [rest(3), rest(4), rest(5), rest(6), rest(7)];
        self.intra_type(macroblock, first, rest);
    }

    /// mb_type in a P slice.
    pub fn type_in_p(&mut self, macroblock: &Macroblock) {
        let (second, third) = match macroblock.kind {
            Kind::P16x16 => (false, false),
            Kind::P8x8 => (false, true),
            Kind::P8x16 => (true, false),
            Kind::P16x8 => (true, true),
            _ => {
                self.put(MB_TYPE_P, true);
                let rest = |inc: usize| MB_TYPE_P_INTRA + inc;
                let rest = [rest(1), rest(2), rest(2), rest(3), rest(3)];
                self.intra_type(macroblock, MB_TYPE_P_INTRA, rest);
                return;
            }
        };
        self.put(MB_TYPE_P, false);
        self.put(MB_TYPE_P + 1, second);
        self.put(MB_TYPE_P + 2 + usize::from(second), third);
    }

    /// mb_type of an intra macroblock (table 9-36), of I_PCM all but the last bin. `rest` has the contexts of: AC in
    /// luma, chroma, AC in chroma, both bits of the prediction mode.
    fn intra_type(&mut self, macroblock: &Macroblock, first: usize, rest: [usize; 5]) {
        let kind = macroblock.kind;
        self.put(first, matches!(kind, Kind::I16x16 | Kind::IPcm));
        if kind == Kind::I16x16 {
            self.coder.go_on();
            let chroma = macroblock.cbp >> 4;
            let mode = macroblock.intra_modes[0];
            self.put(rest[0], macroblock.cbp & 15 != 0);
            self.put(rest[1], chroma != 0);
            if chroma != 0 {
                self.put(rest[2], chroma == 2);
            }
            self.put(rest[3], mode & 2 != 0);
            self.put(rest[4], mode & 1 != 0);
        }
    }

    /// transform_size_8x8_flag.
    pub fn transform_8x8(&mut self, around: &Neighbours, flag: bool) {
        let inc = around.count(|edge| edge.transform_8x8);
        self.put(TRANSFORM_8X8 + inc, flag);
    }

    /// prev_intra4x4_pred_mode_flag and rem_intra4x4_pred_mode, or those of 8x8.
    pub fn mode(&mut self, remaining: Option<u8>) {
        self.put(PREDICTED_MODE, remaining.is_none());
        if let Some(mode) = remaining {
            for bit in 0..3 {
                self.put(REMAINING_MODE, mode >> bit & 1 != 0);
            }
        }
    }

    /// intra_chroma_pred_mode.
    pub fn chroma_mode(&mut self, around: &Neighbours, mode: u8) {
        let inc = around.count(|edge| edge.has_chroma_mode);
        self.put(CHROMA_MODE + inc, mode > 0);
        if mode > 0 {
            self.put(CHROMA_MODE + 3, mode > 1);
            if mode > 1 {
                self.put(CHROMA_MODE + 3, mode > 2);
            }
        }
    }

    /// The reference indices of the partitions of an inter macroblock.
    pub fn references(&mut self, around: &Neighbours, macroblock: &Macroblock) {
        let is_far = |sub_macroblock: usize| usize::from(macroblock.refs[sub_macroblock] > 0);
        let [a0, a1] = numbers(around.left.is_far);
        let [b0, b1] = numbers(around.above.is_far);
        let incs = [
            a0 + 2 * b0,
            is_far(0) + 2 * b1,
            a1 + 2 * is_far(0),
            is_far(2) + 2 * is_far(1),
        ];
        for &sub_macroblock in first_sub_macroblocks(macroblock.kind) {
            self.reference(incs[sub_macroblock], macroblock.refs[sub_macroblock]);
        }
    }

    fn reference(&mut self, inc: usize, index: i8) {
        let mut ctx = REF_IDX + inc;
        for bin in 0..index {
            self.put(ctx, true);
            ctx = REF_IDX + if bin == 0 { 4 } else { 5 };
        }
        self.put(ctx, false);
    }

    /// The vectors of an inter macroblock, as differences. Gives their absolute values for each sub-macroblock.
    pub fn vectors(&mut self, around: &Neighbours, macroblock: &Macroblock) -> [AbsMvd; 4] {
        let mut sizes = [AbsMvd::default(); 4];
        let [a0, a1] = around.left.vectors;
        let [b0, b1] = around.above.vectors;
        let mvds = &macroblock.mvds;
        match macroblock.kind {
            Kind::P16x16 => sizes = [self.vector(a0, b0, mvds[0]); 4],
            Kind::P16x8 => {
                let upper = self.vector(a0, b0, mvds[0]);
                let lower = self.vector(a1, upper, mvds[1]);
                sizes = [upper, upper, lower, lower];
            }
            Kind::P8x16 => {
                let left = self.vector(a0, b0, mvds[0]);
                let right = self.vector(left, b1, mvds[1]);
                sizes = [left, right, left, right];
            }
            _ => {
                sizes[0] = self.vector(a0, b0, mvds[0]);
                sizes[1] = self.vector(sizes[0], b1, mvds[1]);
                sizes[2] = self.vector(a1, sizes[0], mvds[2]);
                sizes[3] = self.vector(sizes[2], sizes[1], mvds[3]);
            }
        }
        sizes
    }

    fn vector(&mut self, a: AbsMvd, b: AbsMvd, mvd: Mv) -> AbsMvd {
        self.component(MVD_X, a.x, b.x, mvd.x);
        self.component(MVD_Y, a.y, b.y, mvd.y);
        AbsMvd::of(mvd)
    }

    /// mvd_l0 (UEG3 with uCoff 9, clauses 9.3.2.3 and 9.3.3.1.1.7).
    fn component(&mut self, ctx: usize, a: u8, b: u8, mvd: i16) {
        let sum = u32::from(a) + u32::from(b);
        let inc = usize::from(sum > 2) + usize::from(sum > 32);
        let size = u32::from(mvd.unsigned_abs());
        self.put(ctx + inc, size > 0);
        if size == 0 {
            return;
        }
        for bin in 1..size.min(9) {
            self.put(ctx + 2 + bin.min(4) as usize, true);
        }
        if size < 9 {
            self.put(ctx + 2 + size.min(4) as usize, false);
        } else {
            self.coder.exp_golomb(size - 9, 3);
        }
        self.coder.bypass(mvd < 0);
    }

    /// sub_mb_type of all sub-macroblocks: each has one vector.
    pub fn sub_types(&mut self) {
        for _ in 0..4 {
            self.put(SUB_MB_TYPE, true);
        }
    }

    /// coded_block_pattern.
    pub fn pattern(&mut self, around: &Neighbours, cbp: u8) {
        let [a0, a1] = numbers(around.left.is_luma_zero);
        let [b0, b1] = numbers(around.above.is_luma_zero);
        let is_zero = |sub_macroblock: u8| usize::from(cbp >> sub_macroblock & 1 == 0);
        let incs = [
            a0 + 2 * b0,
            is_zero(0) + 2 * b1,
            a1 + 2 * is_zero(0),
            is_zero(2) + 2 * is_zero(1),
        ];
        for (sub_macroblock, inc) in incs.into_iter().enumerate() {
            self.put(CBP_LUMA + inc, cbp >> sub_macroblock & 1 != 0);
        }
        let chroma = cbp >> 4;
        let inc = around.sum(|edge| edge.chroma > 0);
        self.put(CBP_CHROMA + inc, chroma > 0);
        if chroma > 0 {
            let inc = around.sum(|edge| edge.chroma > 1);
            self.put(CBP_CHROMA + 4 + inc, chroma > 1);
        }
    }

    /// mb_qp_delta, of which the macroblock before in the slice had one other than 0 or not (table 9-3, clause
    /// 9.3.3.1.1.5).
    pub fn qp_delta(&mut self, before: bool, delta: i32) {
        let value = 2 * delta.unsigned_abs() - u32::from(delta > 0);
        let mut ctx = QP_DELTA + usize::from(before);
        for bin in 0..value {
            self.put(ctx, true);
            ctx = QP_DELTA + if bin == 0 { 2 } else { 3 };
        }
        self.put(ctx, false);
    }
}

#[inline(always)]
fn numbers([first, second]: [bool; 2]) -> [usize; 2] {
    [first.into(), second.into()]
}

/// The sub-macroblocks that partitions begin with.
fn first_sub_macroblocks(kind: Kind) -> &'static [usize] {
    match kind {
        Kind::P16x16 => &[0],
        Kind::P16x8 => &[0, 2],
        Kind::P8x16 => &[0, 1],
        Kind::P8x8 => &[0, 1, 2, 3],
        _ => &[],
    }
}
