//! Choosing prediction from the picture itself.

#[cfg(feature = "forced")]
mod forced;

use super::SliceContext;
use super::cost;
use super::local::{Local, STRIDE};
use super::residual::Coder;
use crate::kernels::BlockSize;
use crate::kernels::residual::neighbours::{
    Neighbours4x4, Neighbours8x8, Neighbours16x16, NeighboursChroma, intra_4x4, intra_16x16,
    intra_chroma,
};
use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Macroblock};
use crate::neighbours::{DC, Neighbour};
use crate::syntax::SliceKind;

/// The search of modes for one macroblock.
pub struct IntraSearch<'a> {
    /// The picture.
    pub slice: &'a SliceContext<'a>,
    /// The block's place, in samples.
    pub at: (i32, i32),
    /// Neighbours to the left above, above, to the right above.
    pub around: [&'a Neighbour; 3],
    /// The macroblock to the left.
    pub left: Option<&'a Macroblock>,
    /// The price of a bit.
    pub lambda: u32,
}

/// Blocks of 4x4 samples, by place, whose samples above to the right come later.
const LATER: u16 = 1 << 3 | 1 << 7 | 1 << 11 | 1 << 13 | 1 << 15;

/// Bits of the type of `I16x16` beside its mode, of `I4x4`, and what they are more in a P picture.
const BITS_16X16: u32 = 3;
const BITS_4X4: u32 = 1;
const BITS_IN_P: u32 = 4;

impl IntraSearch<'_> {
    /// Finds the best prediction and codes it, if it costs less than `limit`. Without `small`, luma is predicted as a
    /// whole. Where nothing is found, `local` holds nothing of use.
    pub fn run(
        &self,
        limit: u32,
        small: bool,
        local: &mut Local,
        coder: &mut Coder,
        mb: &mut Macroblock,
    ) -> bool {
        let beside = match self.slice.header.kind {
            SliceKind::I => 0,
            SliceKind::P => self.lambda * BITS_IN_P,
        };
        let (mode, whole) = self.whole(local);
        let whole = whole + beside + self.lambda * BITS_16X16;
        let promising = u64::from(whole) < u64::from(limit) + u64::from(limit) / 4;
        let mut most = limit
            .min(whole)
            .saturating_sub(beside + self.lambda * BITS_4X4);
        let mut found = false;
        if small && promising {
            if self.slice.tools.transform_8x8
                && let Some(cost) = self.blocks_8x8(most, local, coder, mb)
            {
                coder.keep(local);
                (most, found) = (cost, true);
            }
            let mut blocks = *mb;
            if self.blocks_4x4(most, local, coder, &mut blocks) {
                *mb = blocks;
                mb.transform_8x8 = false;
                found = true;
            } else if found {
                coder.restore(local);
            }
        }
        if found {
            coder.small_done(mb);
        } else if whole < limit {
            mb.kind = Kind::I16x16;
            mb.intra_modes = [DC; 16];
            mb.intra_modes[0] = mode;
            let predict = self.slice.kernels.residual.intra_16x16;
            let neighbours = self.neighbours(local);
            predict(
                mode,
                &neighbours,
                &mut local.luma[Local::at(0, 0)..],
                STRIDE,
            );
            coder.intra_16x16(self.slice, self.at, local, mb);
        } else {
            return false;
        }
        mb.chroma_mode = self.chroma(local);
        coder.intra_chroma(self.slice, self.at, local, mb);
        true
    }

    fn has_above(&self) -> bool {
        self.around[1].available
    }

    fn neighbours(&self, local: &Local) -> Neighbours16x16 {
        let above = Local::at(0, 0) - STRIDE;
        Neighbours16x16 {
            top: self.has_above().then_some(self.around[1].luma),
            left: self.left.map(|_| local.left()),
            corner: local.luma[above - 1],
        }
    }

    /// The best mode for luma as a whole, and its cost.
    fn whole(&self, local: &Local) -> (u8, u32) {
        let kernels = self.slice.kernels;
        let neighbours = self.neighbours(local);
        let plane = &self.slice.source.luma;
        let source = &plane.read()[plane.at(self.at.0, self.at.1)..];
        let mut best = (intra_16x16::DC, u32::MAX);
        let mut samples = [0; 256];
        for &mode in whole_modes(&neighbours) {
            (kernels.residual.intra_16x16)(mode, &neighbours, &mut samples, 16);
            let satd = kernels.samples.satd[BlockSize::B16x16 as usize];
            let satd = satd(source, plane.shape().stride, &samples, 16);
            let cost = satd + self.lambda * cost::ue(u32::from(mode));
            if cost < best.1 {
                best = (mode, cost);
            }
        }
        best
    }

    /// Predicts and codes luma in blocks of 4x4 samples, one after the other. `false` once that costs `limit`.
    fn blocks_4x4(
        &self,
        limit: u32,
        local: &mut Local,
        coder: &mut Coder,
        mb: &mut Macroblock,
    ) -> bool {
        mb.kind = Kind::I4x4;
        mb.cbp = 0;
        let mut total = 0;
        for block in 0..16 {
            let neighbours = self.neighbours_4x4(block, local);
            let (mode, cost) = self.block(block, &neighbours, mb);
            total += cost;
            if total >= limit {
                return false;
            }
            mb.intra_modes[block] = mode;
            let (x, y) = (
                4 * usize::from(BLOCK_X[block]),
                4 * usize::from(BLOCK_Y[block]),
            );
            let samples = &mut local.luma[Local::at(x, y)..];
            (self.slice.kernels.residual.intra_4x4)(mode, &neighbours, samples, STRIDE);
            coder.intra_4x4(self.slice, self.at, block, local, mb);
        }
        true
    }

    /// As [`Self::blocks_4x4`], in blocks of 8x8 samples. What that costs, unless it is `limit` or more.
    fn blocks_8x8(
        &self,
        limit: u32,
        local: &mut Local,
        coder: &mut Coder,
        mb: &mut Macroblock,
    ) -> Option<u32> {
        mb.kind = Kind::I8x8;
        mb.transform_8x8 = true;
        let mut total = 0;
        for q in 0..4 {
            let neighbours = self.neighbours_8x8(q, local).filtered();
            let (mode, cost) = self.block_8x8(q, &neighbours, mb);
            total += cost;
            if total >= limit {
                mb.transform_8x8 = false;
                return None;
            }
            mb.intra_modes[4 * q..4 * q + 4].fill(mode);
            let samples = &mut local.luma[Local::at(8 * (q % 2), 8 * (q / 2))..];
            (self.slice.kernels.residual.intra_8x8)(mode, &neighbours, samples, STRIDE);
            coder.intra_8x8(self.slice, self.at, q, local, mb);
        }
        Some(total)
    }

    fn neighbours_8x8(&self, q: usize, local: &Local) -> Neighbours8x8 {
        let at = Local::at(8 * (q % 2), 8 * (q / 2));
        let (has_left, has_top) = (
            q % 2 == 1 || self.left.is_some(),
            q >= 2 || self.has_above(),
        );
        let has_right = [self.has_above(), self.around[2].available, true, false][q];
        let has_corner = match q {
            0 => self.around[0].available,
            1 => self.has_above(),
            2 => self.left.is_some(),
            _ => true,
        };
        let above = at - STRIDE;
        Neighbours8x8 {
            top: has_top.then(|| {
                let mut top: [u8; 16] = local.luma[above..above + 16]
                    .try_into()
                    .expect("16 samples");
                if !has_right {
                    let last = top[7];
                    top[8..].fill(last);
                }
                top
            }),
            left: has_left.then(|| local.column(at - 1)),
            corner: has_corner.then(|| local.luma[above - 1]),
        }
    }

    /// The best mode of a block of 8x8 samples, and its cost.
    fn block_8x8(&self, q: usize, neighbours: &Neighbours8x8, mb: &Macroblock) -> (u8, u32) {
        let kernels = self.slice.kernels;
        let plane = &self.slice.source.luma;
        let (x, y) = (8 * (q as i32 % 2), 8 * (q as i32 / 2));
        let source = &plane.read()[plane.at(self.at.0 + x, self.at.1 + y)..];
        let expected = self.expected(4 * q, mb);
        let mut best = (DC, u32::MAX);
        let mut samples = [0; 64];
        for (mode, is_possible) in possible(
            neighbours.top.is_some(),
            neighbours.left.is_some(),
            neighbours.corner.is_some(),
        ) {
            if !is_possible {
                continue;
            }
            (kernels.residual.intra_8x8)(mode, neighbours, &mut samples, 8);
            let satd = kernels.samples.satd[BlockSize::B8x8 as usize];
            let satd = satd(source, plane.shape().stride, &samples, 8);
            let cost = satd + self.lambda * if mode == expected { 1 } else { 4 };
            if cost < best.1 {
                best = (mode, cost);
            }
        }
        best
    }

    fn neighbours_4x4(&self, block: usize, local: &Local) -> Neighbours4x4 {
        let (x, y) = (usize::from(BLOCK_X[block]), usize::from(BLOCK_Y[block]));
        let at = Local::at(4 * x, 4 * y);
        let has_top = y > 0 || self.has_above();
        let has_right = match (x, y) {
            (3, 0) => self.around[2].available,
            _ => LATER >> block & 1 == 0,
        };
        let above = at - STRIDE;
        let top = has_top.then(|| {
            let mut top: [u8; 8] = local.luma[above..above + 8].try_into().expect("8 samples");
            if !has_right {
                let last = top[3];
                top[4..].fill(last);
            }
            top
        });
        let has_left = x > 0 || self.left.is_some();
        Neighbours4x4 {
            top,
            left: has_left.then(|| local.column(at - 1)),
            corner: local.luma[above - 1],
        }
    }

    /// The mode that neighbours lead to expect (clause 8.3.1.1).
    fn expected(&self, block: usize, mb: &Macroblock) -> u8 {
        let (x, y) = (BLOCK_X[block], BLOCK_Y[block]);
        let inside = |x: u8, y: u8| mb.intra_modes[AT[usize::from(4 * y + x)]];
        let left = match (x, self.left) {
            (0, None) => return DC,
            (0, Some(left)) => match left.kind {
                Kind::I4x4 | Kind::I8x8 => left.intra_modes[AT[usize::from(4 * y + 3)]],
                _ => DC,
            },
            _ => inside(x - 1, y),
        };
        let above = match y {
            0 if !self.has_above() => return DC,
            0 => self.around[1].modes[usize::from(x)],
            _ => inside(x, y - 1),
        };
        left.min(above)
    }

    /// The best mode of a block of 4x4 samples, and its cost.
    fn block(&self, block: usize, neighbours: &Neighbours4x4, mb: &Macroblock) -> (u8, u32) {
        let kernels = self.slice.kernels;
        let plane = &self.slice.source.luma;
        let (x, y) = (4 * i32::from(BLOCK_X[block]), 4 * i32::from(BLOCK_Y[block]));
        let source = &plane.read()[plane.at(self.at.0 + x, self.at.1 + y)..];
        let expected = self.expected(block, mb);
        let mut best = (DC, u32::MAX);
        let mut samples = [0; 16];
        let (top, left) = (neighbours.top.is_some(), neighbours.left.is_some());
        for (mode, is_possible) in possible(top, left, top && left) {
            if !is_possible {
                continue;
            }
            (kernels.residual.intra_4x4)(mode, neighbours, &mut samples, 4);
            let satd = (kernels.samples.satd_4x4)(source, plane.shape().stride, &samples, 4);
            let cost = satd + self.lambda * if mode == expected { 1 } else { 4 };
            if cost < best.1 {
                best = (mode, cost);
            }
        }
        best
    }

    fn chroma_neighbours(&self, local: &Local) -> NeighboursChroma {
        let at = Local::at(0, 0);
        let left = || {
            let mut left = [0; 16];
            for (y, pair) in left.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let at = at + y * STRIDE - 2;
                *pair = [local.chroma[at], local.chroma[at + 1]];
            }
            left
        };
        NeighboursChroma {
            top: self.has_above().then_some(self.around[1].chroma),
            left: self.left.map(|_| left()),
            corner: [local.chroma[at - STRIDE - 2], local.chroma[at - STRIDE - 1]],
        }
    }

    /// Predicts chroma by its best mode, which it returns.
    fn chroma(&self, local: &mut Local) -> u8 {
        let kernels = self.slice.kernels;
        let plane = &self.slice.source.chroma;
        let source = &plane.read()[plane.at(self.at.0, self.at.1 / 2)..];
        let neighbours = self.chroma_neighbours(local);
        let mut best = (intra_chroma::DC, u32::MAX);
        let mut samples = [0; 128];
        for &mode in chroma_modes(&neighbours) {
            (kernels.residual.intra_chroma)(mode, &neighbours, &mut samples, 16);
            let satd = kernels.samples.satd[BlockSize::B16x8 as usize];
            let satd = satd(source, plane.shape().stride, &samples, 16);
            let cost = satd + self.lambda * cost::ue(u32::from(mode));
            if cost < best.1 {
                best = (mode, cost);
            }
        }
        let to = &mut local.chroma[Local::at(0, 0)..];
        (kernels.residual.intra_chroma)(best.0, &neighbours, to, STRIDE);
        best.0
    }
}

/// The modes of luma as a whole that neighbours allow.
fn whole_modes(neighbours: &Neighbours16x16) -> &'static [u8] {
    match (neighbours.top.is_some(), neighbours.left.is_some()) {
        (false, false) => &[intra_16x16::DC],
        (true, false) => &[intra_16x16::DC, intra_16x16::VERTICAL],
        (false, true) => &[intra_16x16::DC, intra_16x16::HORIZONTAL],
        (true, true) => &[
            intra_16x16::DC,
            intra_16x16::VERTICAL,
            intra_16x16::HORIZONTAL,
            intra_16x16::PLANE,
        ],
    }
}

/// The same of chroma.
fn chroma_modes(neighbours: &NeighboursChroma) -> &'static [u8] {
    match (neighbours.top.is_some(), neighbours.left.is_some()) {
        (false, false) => &[intra_chroma::DC],
        (true, false) => &[intra_chroma::DC, intra_chroma::VERTICAL],
        (false, true) => &[intra_chroma::DC, intra_chroma::HORIZONTAL],
        (true, true) => &[
            intra_chroma::DC,
            intra_chroma::HORIZONTAL,
            intra_chroma::VERTICAL,
            intra_chroma::PLANE,
        ],
    }
}

/// Modes, and whether neighbours allow them.
type Possible = [(u8, bool); 9];

/// The modes of blocks of 4x4 and 8x8 samples.
#[inline]
fn possible(top: bool, left: bool, corner: bool) -> Possible {
    let all = top && left && corner;
    [
        (intra_4x4::DC, true),
        (intra_4x4::VERTICAL, top),
        (intra_4x4::HORIZONTAL, left),
        (intra_4x4::DIAGONAL_DOWN_LEFT, top),
        (intra_4x4::DIAGONAL_DOWN_RIGHT, all),
        (intra_4x4::VERTICAL_RIGHT, all),
        (intra_4x4::HORIZONTAL_DOWN, all),
        (intra_4x4::VERTICAL_LEFT, top),
        (intra_4x4::HORIZONTAL_UP, left),
    ]
}

/// The number of the block at a place, by `4 * y + x`.
const AT: [usize; 16] = {
    let mut at = [0; 16];
    let mut block = 0;
    while block < 16 {
        at[(4 * BLOCK_Y[block] + BLOCK_X[block]) as usize] = block;
        block += 1;
    }
    at
};
