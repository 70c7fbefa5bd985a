//! Coding what prediction leaves: levels, and the reconstruction that decoders get from them.

use super::Frame;
use super::local::{Local, STRIDE};
use crate::kernels::Residual;
use crate::kernels::residual::ChromaBlocks;
use crate::kernels::residual::decimation::{DROP_CHROMA, DROP_LUMA, DROP_QUARTER};
use crate::kernels::residual::filter_tables::CHROMA_QP;
use crate::kernels::residual::quantiser::Quantiser;
use crate::macroblock::{BLOCK_X, BLOCK_Y, Levels, Macroblock};

/// How much is added before a magnitude is cut to a level, in 64ths of a step.
const INTRA_ROUNDING: u8 = 21;
const INTER_ROUNDING: u8 = 11;

static INTRA: std::sync::LazyLock<[Quantiser; 52]> =
    std::sync::LazyLock::new(|| Quantiser::table(super::cost::tune(9, 21) as u8));
static INTER: std::sync::LazyLock<[Quantiser; 52]> =
    std::sync::LazyLock::new(|| Quantiser::table(super::cost::tune(8, 11) as u8));

/// The parameter of chroma that goes with one of luma (table 8-15).
pub fn chroma_qp(qp: u8) -> u8 {
    CHROMA_QP[usize::from(qp)]
}

/// Codes macroblocks, one after the other.
pub struct Coder {
    /// The levels of the last one.
    pub levels: Box<Levels>,
    luma: [[i16; 16]; 16],
    chroma: ChromaBlocks,
}

impl Default for Coder {
    fn default() -> Coder {
        Coder {
            levels: Box::default(),
            luma: [[0; 16]; 16],
            chroma: [[[0; 16]; 4]; 2],
        }
    }
}

fn luma_source<'a>(frame: &'a Frame<'_>, (x, y): (i32, i32)) -> (&'a [u8], usize) {
    let plane = &frame.source.luma;
    (&plane.read()[plane.at(x, y)..], plane.shape().stride)
}

fn chroma_source<'a>(frame: &'a Frame<'_>, (x, y): (i32, i32)) -> (&'a [u8], usize) {
    let plane = &frame.source.chroma;
    (&plane.read()[plane.at(x, y / 2)..], plane.shape().stride)
}

impl Coder {
    /// Codes a macroblock that is predicted from references; `local` holds the prediction.
    pub fn inter(
        &mut self,
        frame: &Frame<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = frame.kernels.residual;
        let quantiser = &INTER[usize::from(mb.qp)];
        let (source, stride) = luma_source(frame, at);
        let samples = &mut local.luma[Local::at(0, 0)..];
        (kernels.forward_16x16)(source, stride, samples, STRIDE, &mut self.luma);
        let mut mask = (kernels.quantise_16x16)(&mut self.luma, quantiser);
        if mask != 0 {
            let counts = (kernels.zigzag_16x16)(&self.luma, &mut self.levels.luma);
            mask = self.worth(kernels, mask);
            for b in 0..16 {
                mb.nonzero[b] = if mask >> b & 1 == 1 { counts[b] } else { 0 };
            }
            mb.cbp |= quarters(mask);
            (kernels.add_16x16)(&self.luma, mask, quantiser, samples, STRIDE);
        }
        self.chroma(frame, at, local, mb, &INTER);
    }

    /// The blocks whose levels are worth their bits.
    fn worth(&self, kernels: &Residual, mask: u32) -> u32 {
        let (mut kept, mut total) = (mask, 0);
        for quarter in 0..4 {
            let blocks = 15 << (4 * quarter);
            if mask & blocks == 0 {
                continue;
            }
            let mut cost = 0;
            for b in 4 * quarter..4 * quarter + 4 {
                if mask >> b & 1 == 1 {
                    cost += (kernels.decimate_4x4)(&self.levels.luma[b]);
                }
            }
            total += cost;
            if cost <= super::cost::tune(4, DROP_QUARTER) {
                kept &= !blocks;
            }
        }
        if total <= super::cost::tune(5, DROP_LUMA) {
            0
        } else {
            kept
        }
    }

    /// Codes a block of 4x4 samples of an intra macroblock; `local` holds its prediction.
    pub fn intra_4x4(
        &mut self,
        frame: &Frame<'_>,
        (x, y): (i32, i32),
        block: usize,
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = frame.kernels.residual;
        let quantiser = &INTRA[usize::from(mb.qp)];
        let (bx, by) = (
            4 * usize::from(BLOCK_X[block]),
            4 * usize::from(BLOCK_Y[block]),
        );
        let (source, stride) = luma_source(frame, (x + bx as i32, y + by as i32));
        let samples = &mut local.luma[Local::at(bx, by)..];
        let levels = &mut self.luma[block];
        (kernels.forward_4x4)(source, stride, samples, STRIDE, levels);
        mb.nonzero[block] = 0;
        if (kernels.quantise_4x4)(levels, quantiser) {
            mb.nonzero[block] = (kernels.zigzag_4x4)(levels, &mut self.levels.luma[block]);
            (kernels.add_4x4)(levels, quantiser, samples, STRIDE);
        } else {
            self.levels.luma[block] = [0; 16];
        }
    }

    /// After all blocks of an intra macroblock: which quarters have levels.
    pub fn intra_4x4_done(&self, mb: &mut Macroblock) {
        let mask = (0..16).fold(0, |mask, b| mask | u32::from(mb.nonzero[b] != 0) << b);
        mb.cbp |= quarters(mask);
    }

    /// Codes luma that is predicted as a whole from its own picture; `local` holds the prediction.
    pub fn intra_16x16(
        &mut self,
        frame: &Frame<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = frame.kernels.residual;
        let quantiser = &INTRA[usize::from(mb.qp)];
        let (source, stride) = luma_source(frame, at);
        let samples = &mut local.luma[Local::at(0, 0)..];
        (kernels.forward_16x16)(source, stride, samples, STRIDE, &mut self.luma);
        let mut dc = [0; 16];
        (kernels.forward_luma_dc)(&mut self.luma, quantiser, &mut dc);
        (kernels.zigzag_4x4)(&dc, &mut self.levels.luma_dc);
        let mask = (kernels.quantise_16x16)(&mut self.luma, quantiser);
        mb.nonzero[..16].fill(0);
        if mask != 0 {
            let counts = (kernels.zigzag_16x16)(&self.luma, &mut self.levels.luma);
            mb.nonzero[..16].copy_from_slice(&counts);
            mb.cbp |= 15;
        }
        let dc = (kernels.inverse_luma_dc)(&dc, quantiser);
        (kernels.add_16x16_dc)(&self.luma, mask, &dc, quantiser, samples, STRIDE);
    }

    /// Codes chroma of an intra macroblock; `local` holds the prediction.
    pub fn intra_chroma(
        &mut self,
        frame: &Frame<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        self.chroma(frame, at, local, mb, &INTRA);
    }

    fn chroma(
        &mut self,
        frame: &Frame<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
        quantisers: &[Quantiser; 52],
    ) {
        let kernels = frame.kernels.residual;
        let quantiser = &quantisers[usize::from(chroma_qp(mb.qp))];
        let (source, stride) = chroma_source(frame, at);
        let samples = &mut local.chroma[Local::at(0, 0)..];
        (kernels.forward_chroma)(source, stride, samples, STRIDE, &mut self.chroma);
        let dc = &mut self.levels.chroma_dc;
        let any_dc = (kernels.forward_chroma_dc)(&mut self.chroma, quantiser, dc);
        let mut mask = (kernels.quantise_chroma)(&mut self.chroma, quantiser);
        mb.nonzero[16..].fill(0);
        if mask != 0 {
            let counts = (kernels.zigzag_chroma)(&self.chroma, &mut self.levels.chroma_ac);
            for component in 0..2 {
                let blocks = 15 << (4 * component);
                if !mb.kind.is_intra() && mask & blocks != 0 {
                    let costs = self.levels.chroma_ac[component].iter();
                    let cost: u32 = costs.map(|block| (kernels.decimate_ac)(block)).sum();
                    if cost <= super::cost::tune(6, DROP_CHROMA) {
                        mask &= !blocks;
                    }
                }
                for b in 0..4 {
                    if mask >> (4 * component + b) & 1 == 1 {
                        mb.nonzero[16 + 4 * component + b] = counts[component][b];
                    } else {
                        self.levels.chroma_ac[component][b] = [0; 16];
                    }
                }
            }
        }
        if mask == 0 && any_dc == 0 {
            return;
        }
        mb.cbp |= if mask != 0 { 32 } else { 16 };
        if mask == 0 {
            self.levels.chroma_ac = [[[0; 16]; 4]; 2];
        }
        let dc = (kernels.inverse_chroma_dc)(&self.levels.chroma_dc, quantiser);
        (kernels.add_chroma)(&self.chroma, mask, &dc, quantiser, samples, STRIDE);
    }
}

/// The quarters that have a block in a mask.
fn quarters(mask: u32) -> u8 {
    (0..4).fold(0, |all, q| all | u8::from(mask >> (4 * q) & 15 != 0) << q)
}
