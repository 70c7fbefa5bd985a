//! Macroblocks that are coded as samples: they would take more bits than a level allows, levels larger than
//! there are, or values in the transform that are.

use super::ModeDecision;
use super::local::{Local, STRIDE};
use super::range;
use super::residual::{chroma_source, luma_source};
use crate::entropy::most_bits;
use crate::kernels::residual::quantiser::MAX_LEVEL;
use crate::macroblock::{Kind, Levels, Macroblock};
use crate::neighbours::INTRA;

/// The most bits of a macroblock (clause A.3.1). One of samples has 3,072 and a few more.
const MOST_BITS: u32 = 3200;
/// The same for CABAC, of which only the length in CAVLC is known here: that may be less by as much.
const MOST_BITS_CABAC: u32 = MOST_BITS * 4 / 5;
/// So few levels fit, however large they are.
const FEW_LEVELS: u32 = 48;

/// From this quantisation parameter on no level of DC is cut: at 0 they are at most 6,528, and half as much 6 further.
const UNCUT: u8 = 12;

impl ModeDecision<'_> {
    /// Whether the macroblock that was coded last may take too many bits, has a level of DC that was cut, or is more than
    /// decoders can transform.
    pub(super) fn needs_samples(&self, mb: &Macroblock) -> bool {
        if self.qp < UNCUT && mb.has_qp_delta() && self.is_cut(mb) {
            return true;
        }
        if range::exceeds(mb, &self.coder.levels) {
            return true;
        }
        let count: u32 = mb.nonzero.iter().map(|&n| u32::from(n)).sum();
        let most = match self.slice.tools.cabac {
            true => MOST_BITS_CABAC,
            false => MOST_BITS,
        };
        count > FEW_LEVELS && most_bits(mb, &self.coder.levels) > most
    }

    fn is_cut(&self, mb: &Macroblock) -> bool {
        let levels = &self.coder.levels;
        let luma: &[i16] = match mb.kind {
            Kind::I16x16 => &levels.luma_dc,
            _ => &[],
        };
        let chroma: &[i16] = match mb.cbp >> 4 {
            0 => &[],
            _ => levels.chroma_dc.as_flattened(),
        };
        let mut all = luma.iter().chain(chroma);
        all.any(|level| level.abs() == MAX_LEVEL)
    }

    /// Codes the macroblock as samples.
    pub(super) fn samples(&mut self) -> Macroblock {
        let levels = &mut *self.coder.levels;
        *levels = Levels::default();
        let (source, stride) = luma_source(self.slice, self.at);
        let rows = source
            .chunks(stride)
            .zip(self.local.luma[Local::at(0, 0)..].chunks_mut(STRIDE));
        for ((row, to), levels) in rows.zip(&mut levels.luma) {
            to[..16].copy_from_slice(&row[..16]);
            *levels = std::array::from_fn(|x| i16::from(row[x]));
        }
        let (source, stride) = chroma_source(self.slice, self.at);
        let rows = source
            .chunks(stride)
            .zip(self.local.chroma[Local::at(0, 0)..].chunks_mut(STRIDE));
        for (y, (row, to)) in rows.take(8).enumerate() {
            to[..16].copy_from_slice(&row[..16]);
            for (at, &sample) in row[..16].iter().enumerate() {
                let place = 8 * y + at / 2;
                levels.chroma_ac[at % 2][place / 16][place % 16] = i16::from(sample);
            }
        }
        Macroblock {
            kind: Kind::IPcm,
            qp: self.qp,
            refs: [INTRA; 4],
            nonzero: [16; 24],
            ..Macroblock::default()
        }
    }
}
