//! Coding what prediction leaves: levels, and the reconstruction that decoders get from them.

use super::SliceContext;
use super::levels::{self, Steps};
use super::local::{Local, STRIDE, copy_16};
use crate::entropy::cost::{BlockKind, Costs};
use crate::kernels::Residual;
use crate::kernels::residual::ChromaBlocks;
use crate::kernels::residual::filter_tables::CHROMA_QP;
use crate::kernels::residual::quantiser::{Quantiser, Quantiser8x8};
use crate::kernels::residual::scan::{ZIGZAG_4X4, ZIGZAG_8X8};
use crate::macroblock::{BLOCK_X, BLOCK_Y, Levels, Macroblock};

/// How much is added before a magnitude is cut to a level, in 64ths of a step.
const INTRA_ROUNDING: u8 = 21;
const INTER_ROUNDING: u8 = 13;

/// Levels of a sub-macroblock, of all luma, and of a component of chroma are dropped where
/// [`decimation`](crate::kernels::residual::decimation) finds them worth at most this. The reference encoder's 4 and 5 for
/// luma cost 2 % of the rate on foreman.
const DROP_QUARTER: u32 = 1;
const DROP_LUMA: u32 = 3;
const DROP_CHROMA: u32 = 6;

static INTRA: [Quantiser; 52] = Quantiser::table(INTRA_ROUNDING);
static INTER_8X8: [Quantiser8x8; 52] = Quantiser8x8::table(INTER_ROUNDING);
static INTRA_8X8: [Quantiser8x8; 52] = Quantiser8x8::table(INTRA_ROUNDING);
static INTER: [Quantiser; 52] = Quantiser::table(INTER_ROUNDING);

/// The parameter of chroma that goes with one of luma (table 8-15).
#[inline]
pub fn chroma_qp(qp: u8) -> u8 {
    CHROMA_QP[usize::from(qp)]
}

/// Codes macroblocks, one after the other.
pub struct Coder {
    /// The levels of the last one.
    pub levels: Box<Levels>,
    /// Whether luma is transformed in blocks of 8x8, where a test demands it.
    pub demanded_8x8: Option<bool>,
    luma: [[i16; 16]; 16],
    wide: [[i16; 64]; 4],
    chroma: ChromaBlocks,
    /// The levels and the reconstruction of another way to code luma.
    other: Box<Other>,
}

#[derive(Clone)]
struct Other {
    prediction: [u8; 256],
    samples: [u8; 256],
    levels: [[i16; 16]; 16],
}

impl Default for Coder {
    fn default() -> Coder {
        Coder {
            levels: Box::default(),
            demanded_8x8: None,
            luma: [[0; 16]; 16],
            wide: [[0; 64]; 4],
            chroma: [[[0; 16]; 4]; 2],
            other: Box::new(Other {
                prediction: [0; 256],
                samples: [0; 256],
                levels: [[0; 16]; 16],
            }),
        }
    }
}

#[inline]
pub(super) fn luma_source<'a>(
    slice: &'a SliceContext<'_>,
    (x, y): (i32, i32),
) -> (&'a [u8], usize) {
    let plane = &slice.source.luma;
    (&plane.read()[plane.at(x, y)..], plane.shape().stride)
}

#[inline]
pub(super) fn chroma_source<'a>(
    slice: &'a SliceContext<'_>,
    (x, y): (i32, i32),
) -> (&'a [u8], usize) {
    let plane = &slice.source.chroma;
    (&plane.read()[plane.at(x, y / 2)..], plane.shape().stride)
}

/// What codes a 4x4 block of luma, as [`levels::choose`] takes it.
fn steps_4x4(quantiser: &Quantiser) -> Steps<'_> {
    Steps {
        multiplier: &quantiser.multiplier,
        shift: 16 + u32::from(quantiser.qp / 6),
        scan: &ZIGZAG_4X4,
    }
}

fn steps_8x8(quantiser: &Quantiser8x8) -> Steps<'_> {
    Steps {
        multiplier: &quantiser.multiplier,
        shift: 16 + u32::from(quantiser.qp / 6),
        scan: &ZIGZAG_8X8,
    }
}

/// Levels from the order of coding to raster order.
fn to_raster(levels: &[i16], scan: &[u8], raster: &mut [i16]) {
    for (level, &at) in levels.iter().zip(scan) {
        raster[usize::from(at)] = *level;
    }
}

/// What it costs to say that a block has levels, and that it has none.
fn coded(costs: &Costs, kind: BlockKind) -> (u32, u32) {
    (
        costs.coded(kind, true, true, true),
        costs.coded(kind, true, true, false),
    )
}

impl Coder {
    /// Codes a macroblock that is predicted from references; `local` holds the prediction.
    pub fn inter(
        &mut self,
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let choose = self.demanded_8x8.unwrap_or(slice.tools.transform_8x8);
        if choose {
            copy_out(local, &mut self.other.prediction);
        }
        self.inter_4x4(slice, at, local, mb);
        if choose && mb.cbp & 15 != 0 {
            self.inter_8x8(slice, at, local, mb);
        }
        self.chroma(slice, at, local, mb, &INTER);
    }

    fn inter_4x4(
        &mut self,
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = slice.kernels.residual;
        let (source, stride) = luma_source(slice, at);
        let samples = &mut local.luma[Local::at(0, 0)..];
        (kernels.forward_16x16)(source, stride, samples, STRIDE, &mut self.luma);
        let mask = if slice.tools.trellis {
            self.chosen_4x4(slice, &INTER[usize::from(mb.qp)], mb)
        } else {
            let quantiser = &INTER[usize::from(mb.qp)];
            let mut mask = (kernels.quantise_16x16)(&mut self.luma, quantiser);
            if mask != 0 {
                let counts = (kernels.zigzag_16x16)(&self.luma, &mut self.levels.luma);
                mask = self.worth(kernels, mask);
                for (b, count) in counts.into_iter().enumerate() {
                    mb.nonzero[b] = if mask >> b & 1 == 1 { count } else { 0 };
                }
            }
            mask
        };
        if mask != 0 {
            mb.cbp |= luma_cbp(mask);
            let quantiser = &INTER[usize::from(mb.qp)];
            (kernels.add_16x16)(&self.luma, mask, quantiser, samples, STRIDE);
        }
    }

    /// Turns the coefficients of 16 blocks into chosen levels; which blocks have any.
    fn chosen_4x4(
        &mut self,
        slice: &SliceContext<'_>,
        quantiser: &Quantiser,
        mb: &mut Macroblock,
    ) -> u32 {
        let mut mask = 0;
        for b in 0..16 {
            let (block, scanned) = (&mut self.luma[b], &mut self.levels.luma[b]);
            mb.nonzero[b] = narrow_levels(slice, quantiser, block, scanned);
            mask |= u32::from(mb.nonzero[b] != 0) << b;
        }
        mask
    }

    /// Codes luma with the 8x8 transform and keeps that if it costs less than what `local` holds, coded with the 4x4 one.
    fn inter_8x8(
        &mut self,
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = slice.kernels.residual;
        let (source, stride) = luma_source(slice, at);
        let costs = slice.costs;
        let narrow_bits: u32 = (0..16)
            .filter(|b| mb.nonzero[*b] != 0)
            .map(|b| costs.block(BlockKind::Luma4x4, &self.levels.luma[b]))
            .sum::<u32>()
            + self.flags(costs, mb);
        let difference = slice.kernels.samples.ssd_16x16;
        let narrow = difference(source, stride, &local.luma[Local::at(0, 0)..], STRIDE);
        let narrow = u64::from(narrow) + levels::price(mb.qp, narrow_bits);

        let other = &mut *self.other;
        other.samples = other.prediction;
        let quantiser = &INTER_8X8[usize::from(mb.qp)];
        let mut counts = [[0; 4]; 4];
        let mut bits = 0;
        let mut cbp = 0;
        for (q, counts) in counts.iter_mut().enumerate() {
            let (x, y) = (8 * (q % 2), 8 * (q / 2));
            let source = &source[y * stride + x..];
            let block = &mut self.wide[q];
            (kernels.forward_8x8)(source, stride, &other.prediction[16 * y + x..], 16, block);
            let scanned = other.levels[4 * q..4 * q + 4].as_flattened_mut();
            let scanned: &mut [i16; 64] = scanned.try_into().expect("64 levels");
            *counts = wide_levels(slice, quantiser, block, scanned);
            if *counts != [0; 4] {
                cbp |= 1 << q;
                bits += costs.block(BlockKind::Luma8x8, scanned);
                let samples = &mut other.samples[16 * y + x..];
                (kernels.add_8x8)(block, quantiser, samples, 16);
            }
        }
        let wide = difference(source, stride, &other.samples, 16);
        let demanded = self.demanded_8x8.is_some();
        if !demanded && u64::from(wide) + levels::price(mb.qp, bits) >= narrow {
            return;
        }
        mb.cbp = cbp;
        mb.transform_8x8 = cbp != 0;
        mb.nonzero[..16].copy_from_slice(counts.as_flattened());
        self.levels.luma = other.levels;
        copy_in(&other.samples, local);
    }

    /// What it costs to say which 4x4 blocks of coded sub-macroblocks have levels.
    fn flags(&self, costs: &Costs, mb: &Macroblock) -> u32 {
        let (some, none) = coded(costs, BlockKind::Luma4x4);
        (0..16)
            .filter(|b| mb.cbp >> (b / 4) & 1 == 1)
            .map(|b| if mb.nonzero[b] != 0 { some } else { none })
            .sum()
    }

    /// The blocks whose levels are worth their bits.
    fn worth(&self, kernels: &Residual, mask: u32) -> u32 {
        let (mut kept, mut total) = (mask, 0);
        for sub_macroblock in 0..4 {
            let blocks = 15 << (4 * sub_macroblock);
            if mask & blocks == 0 {
                continue;
            }
            let mut cost = 0;
            for b in 4 * sub_macroblock..4 * sub_macroblock + 4 {
                if mask >> b & 1 == 1 {
                    cost += (kernels.decimate_4x4)(&self.levels.luma[b]);
                }
            }
            total += cost;
            if cost <= DROP_QUARTER {
                kept &= !blocks;
            }
        }
        if total <= DROP_LUMA { 0 } else { kept }
    }

    /// Codes a block of 4x4 samples of an intra macroblock; `local` holds its prediction.
    pub fn intra_4x4(
        &mut self,
        slice: &SliceContext<'_>,
        (x, y): (i32, i32),
        block: usize,
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = slice.kernels.residual;
        let quantiser = &INTRA[usize::from(mb.qp)];
        let (bx, by) = (
            4 * usize::from(BLOCK_X[block]),
            4 * usize::from(BLOCK_Y[block]),
        );
        let (source, stride) = luma_source(slice, (x + bx as i32, y + by as i32));
        let samples = &mut local.luma[Local::at(bx, by)..];
        let levels = &mut self.luma[block];
        (kernels.forward_4x4)(source, stride, samples, STRIDE, levels);
        mb.nonzero[block] = narrow_levels(slice, quantiser, levels, &mut self.levels.luma[block]);
        if mb.nonzero[block] != 0 {
            (kernels.add_4x4)(levels, quantiser, samples, STRIDE);
        }
    }

    /// Codes a block of 8x8 samples of an intra macroblock; `local` holds its prediction.
    pub fn intra_8x8(
        &mut self,
        slice: &SliceContext<'_>,
        (x, y): (i32, i32),
        q: usize,
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = slice.kernels.residual;
        let quantiser = &INTRA_8X8[usize::from(mb.qp)];
        let (bx, by) = (8 * (q % 2), 8 * (q / 2));
        let (source, stride) = luma_source(slice, (x + bx as i32, y + by as i32));
        let samples = &mut local.luma[Local::at(bx, by)..];
        let block = &mut self.wide[q];
        (kernels.forward_8x8)(source, stride, samples, STRIDE, block);
        let scanned = self.levels.luma[4 * q..4 * q + 4].as_flattened_mut();
        let scanned: &mut [i16; 64] = scanned.try_into().expect("64 levels");
        let counts = wide_levels(slice, quantiser, block, scanned);
        mb.nonzero[4 * q..4 * q + 4].copy_from_slice(&counts);
        if counts != [0; 4] {
            (kernels.add_8x8)(block, quantiser, samples, STRIDE);
        }
    }

    /// Keeps luma as it is coded now.
    pub fn keep(&mut self, local: &Local) {
        copy_out(local, &mut self.other.samples);
        self.other.levels = self.levels.luma;
    }

    /// Puts back what [`Coder::keep`] kept.
    pub fn restore(&mut self, local: &mut Local) {
        self.levels.luma = self.other.levels;
        copy_in(&self.other.samples, local);
    }

    /// After all blocks of an intra macroblock: which sub-macroblocks have levels.
    pub fn small_done(&self, mb: &mut Macroblock) {
        let mask = (0..16).fold(0, |mask, b| mask | u32::from(mb.nonzero[b] != 0) << b);
        mb.cbp |= luma_cbp(mask);
    }

    /// Codes luma that is predicted as a whole from its own picture; `local` holds the prediction.
    pub fn intra_16x16(
        &mut self,
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        let kernels = slice.kernels.residual;
        let quantiser = &INTRA[usize::from(mb.qp)];
        let (source, stride) = luma_source(slice, at);
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
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
    ) {
        self.chroma(slice, at, local, mb, &INTRA);
    }

    fn chroma(
        &mut self,
        slice: &SliceContext<'_>,
        at: (i32, i32),
        local: &mut Local,
        mb: &mut Macroblock,
        quantisers: &[Quantiser; 52],
    ) {
        let kernels = slice.kernels.residual;
        let quantiser = &quantisers[usize::from(chroma_qp(mb.qp))];
        let (source, stride) = chroma_source(slice, at);
        let samples = &mut local.chroma[Local::at(0, 0)..];
        (kernels.forward_chroma)(source, stride, samples, STRIDE, &mut self.chroma);
        let dc = &mut self.levels.chroma_dc;
        let any_dc = (kernels.forward_chroma_dc)(&mut self.chroma, quantiser, dc);
        let mut mask = (kernels.quantise_chroma)(&mut self.chroma, quantiser);
        mb.nonzero[16..].fill(0);
        if mask != 0 {
            let counts = (kernels.zigzag_chroma)(&self.chroma, &mut self.levels.chroma_ac);
            for (component, counts) in counts.into_iter().enumerate() {
                let blocks = 15 << (4 * component);
                if !mb.kind.is_intra() && mask & blocks != 0 {
                    let costs = self.levels.chroma_ac[component].iter();
                    let cost: u32 = costs.map(|block| (kernels.decimate_ac)(block)).sum();
                    if cost <= DROP_CHROMA {
                        mask &= !blocks;
                    }
                }
                for (b, count) in counts.into_iter().enumerate() {
                    if mask >> (4 * component + b) & 1 == 1 {
                        mb.nonzero[16 + 4 * component + b] = count;
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

/// The luma bits of `coded_block_pattern` for the 4x4 blocks in a mask.
fn luma_cbp(mask: u32) -> u8 {
    (0..4).fold(0, |all, q| all | u8::from(mask >> (4 * q) & 15 != 0) << q)
}

/// Turns coefficients of a 4x4 transform into levels, in raster order and in the order of coding. How many are not zero.
fn narrow_levels(
    slice: &SliceContext<'_>,
    quantiser: &Quantiser,
    block: &mut [i16; 16],
    scanned: &mut [i16; 16],
) -> u8 {
    let kernels = slice.kernels.residual;
    if !slice.tools.trellis {
        let any = (kernels.quantise_4x4)(block, quantiser);
        return match any {
            true => (kernels.zigzag_4x4)(block, scanned),
            false => {
                scanned.fill(0);
                0
            }
        };
    }
    let (kind, steps) = (BlockKind::Luma4x4, steps_4x4(quantiser));
    let coded = coded(slice.costs, kind);
    let count = levels::choose::<16>(slice.costs, kind, block, &steps, coded, scanned);
    if count != 0 {
        to_raster(scanned, steps.scan, block);
    }
    count
}

/// Turns coefficients of an 8x8 transform into levels, in raster order and in the order of coding. How many of each
/// fourth of them are not zero.
fn wide_levels(
    slice: &SliceContext<'_>,
    quantiser: &Quantiser8x8,
    block: &mut [i16; 64],
    scanned: &mut [i16; 64],
) -> [u8; 4] {
    let kernels = slice.kernels.residual;
    if !slice.tools.trellis {
        let any = (kernels.quantise_8x8)(block, quantiser);
        // The levels of a block without any are read too, where another of the macroblock has some.
        return if any {
            (kernels.zigzag_8x8)(block, scanned)
        } else {
            scanned.fill(0);
            [0; 4]
        };
    }
    let (kind, steps) = (BlockKind::Luma8x8, steps_8x8(quantiser));
    let mut counts = [0; 4];
    if levels::choose::<64>(slice.costs, kind, block, &steps, (0, 0), scanned) != 0 {
        for (i, level) in scanned.iter().enumerate() {
            counts[i % 4] += u8::from(*level != 0);
        }
        to_raster(scanned, steps.scan, block);
    }
    counts
}

fn copy_in(from: &[u8; 256], local: &mut Local) {
    for y in 0..16 {
        copy_16(&from[16 * y..], &mut local.luma[Local::at(0, y)..]);
    }
}

fn copy_out(local: &Local, to: &mut [u8; 256]) {
    for y in 0..16 {
        copy_16(&local.luma[Local::at(0, y)..], &mut to[16 * y..]);
    }
}
