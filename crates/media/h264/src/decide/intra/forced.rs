//! Prediction from the picture itself that a test demands.

use super::{IntraSearch, Possible, chroma_modes, possible, whole_modes};
use crate::decide::forced::Forced;
use crate::decide::local::{Local, STRIDE};
use crate::decide::residual::Coder;
use crate::macroblock::{BLOCK_X, BLOCK_Y, Kind, Macroblock};
use crate::neighbours::DC;

impl IntraSearch<'_> {
    /// Predicts and codes as a test demands; the kind is that of `mb`.
    pub fn forced(
        &self,
        forced: &Forced,
        local: &mut Local,
        coder: &mut Coder,
        mb: &mut Macroblock,
    ) {
        let kernels = self.slice.kernels.residual;
        let pick = |modes: &[u8], wish: u8| modes[usize::from(wish) % modes.len()];
        let allowed = |modes: Possible| -> Vec<u8> {
            let allowed = modes.iter().filter(|mode| mode.1);
            allowed.map(|mode| mode.0).collect()
        };
        match mb.kind {
            Kind::I4x4 => {
                for block in 0..16 {
                    let neighbours = self.neighbours_4x4(block, local);
                    let (top, left) = (neighbours.top.is_some(), neighbours.left.is_some());
                    let modes = allowed(possible(top, left, top && left));
                    let mode = pick(&modes, forced.modes[block]);
                    mb.intra_modes[block] = mode;
                    let (x, y) = (BLOCK_X[block], BLOCK_Y[block]);
                    let at = Local::at(4 * usize::from(x), 4 * usize::from(y));
                    (kernels.intra_4x4)(mode, &neighbours, &mut local.luma[at..], STRIDE);
                    coder.intra_4x4(self.slice, self.at, block, local, mb);
                }
                coder.small_done(mb);
            }
            Kind::I8x8 => {
                mb.transform_8x8 = true;
                for q in 0..4 {
                    let neighbours = self.neighbours_8x8(q, local).filtered();
                    let modes = allowed(possible(
                        neighbours.top.is_some(),
                        neighbours.left.is_some(),
                        neighbours.corner.is_some(),
                    ));
                    let mode = pick(&modes, forced.modes[q]);
                    mb.intra_modes[4 * q..4 * q + 4].fill(mode);
                    let at = Local::at(8 * (q % 2), 8 * (q / 2));
                    (kernels.intra_8x8)(mode, &neighbours, &mut local.luma[at..], STRIDE);
                    coder.intra_8x8(self.slice, self.at, q, local, mb);
                }
                coder.small_done(mb);
            }
            _ => {
                let neighbours = self.neighbours(local);
                let mode = pick(whole_modes(&neighbours), forced.modes[0]);
                mb.intra_modes = [DC; 16];
                mb.intra_modes[0] = mode;
                let samples = &mut local.luma[Local::at(0, 0)..];
                (kernels.intra_16x16)(mode, &neighbours, samples, STRIDE);
                coder.intra_16x16(self.slice, self.at, local, mb);
            }
        }
        let neighbours = self.chroma_neighbours(local);
        mb.chroma_mode = pick(chroma_modes(&neighbours), forced.chroma_mode);
        let samples = &mut local.chroma[Local::at(0, 0)..];
        (kernels.intra_chroma)(mb.chroma_mode, &neighbours, samples, STRIDE);
        coder.intra_chroma(self.slice, self.at, local, mb);
    }
}
