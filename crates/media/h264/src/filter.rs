//! Deblocking (clause 8.7), a row of macroblocks at a time, and what becomes of a row after it.

use crate::decide::{LOCAL_STRIDE, Local, ORIGIN, chroma_qp, copy_16};
use crate::geometry::Geometry;
use crate::kernels::Kernels;
use crate::kernels::residual::filter_tables::{ALPHA, BETA, TC0};
use crate::macroblock::{Kind, Macroblock};
use crate::reference::Reference;
use crate::strengths::{Filtered, Strengths};

/// Rows of luma of the row above that filtering a row changes, and as many that it reads.
pub const HEAD: usize = 4;

/// Reconstructed samples of a row of macroblocks, below the last rows of the row above.
pub struct Band {
    stride: usize,
    luma: Vec<u8>,
    chroma: Vec<u8>,
    /// The quantisation parameter that decoders attach to each macroblock.
    qps: Vec<u8>,
    /// The one that the next macroblock in coding order differs from.
    last_qp: u8,
}

impl Band {
    /// Room for a row.
    pub fn new(geometry: Geometry) -> Band {
        let stride = geometry.coded_width();
        Band {
            stride,
            luma: vec![0; (HEAD + 16) * stride],
            chroma: vec![0; (HEAD / 2 + 8) * stride],
            qps: vec![0; geometry.columns],
            last_qp: 0,
        }
    }

    /// Bytes of its samples.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.luma.len() + self.chroma.len()
    }

    /// Takes the samples of macroblock `x`.
    pub fn put(&mut self, x: usize, local: &Local) {
        for y in 0..16 {
            let at = (HEAD + y) * self.stride + 16 * x;
            copy_16(
                &local.luma[ORIGIN + y * LOCAL_STRIDE..],
                &mut self.luma[at..],
            );
        }
        for y in 0..8 {
            let at = (HEAD / 2 + y) * self.stride + 16 * x;
            copy_16(
                &local.chroma[ORIGIN + y * LOCAL_STRIDE..],
                &mut self.chroma[at..],
            );
        }
    }
}

/// A row to be filtered.
pub struct FilterRow<'a> {
    /// The kernels.
    pub kernels: Kernels,
    /// Its macroblocks.
    pub macroblocks: &'a [Macroblock],
    /// Its samples.
    pub band: &'a mut Band,
    /// The row above, if there is one.
    pub above: Option<(&'a [Macroblock], &'a Band)>,
    /// The quantisation parameter of the slice.
    pub qp: u8,
}

impl FilterRow<'_> {
    /// Filters the row, or only finishes it where `deblocking` is off.
    pub fn run(&mut self, deblocking: bool) {
        let mut qp = match self.above {
            Some((_, above)) => above.last_qp,
            None => self.qp,
        };
        for (to, mb) in self.band.qps.iter_mut().zip(self.macroblocks) {
            if mb.has_qp_delta() {
                qp = mb.qp;
            }
            // Samples are as if they had been coded with the finest steps.
            *to = if mb.kind == Kind::IPcm { 0 } else { qp };
        }
        self.band.last_qp = qp;
        if let Some((_, above)) = self.above {
            let stride = self.band.stride;
            let (luma, chroma) = (HEAD * stride, HEAD / 2 * stride);
            self.band.luma[..luma].copy_from_slice(&above.luma[16 * stride..]);
            self.band.chroma[..chroma].copy_from_slice(&above.chroma[8 * stride..]);
        }
        if deblocking {
            for x in 0..self.macroblocks.len() {
                self.macroblock(x);
            }
        }
    }

    fn macroblock(&mut self, x: usize) {
        let this = Filtered::of(&self.macroblocks[x]);
        let qp = self.band.qps[x];
        if x > 0 {
            let left = Filtered::of(&self.macroblocks[x - 1]);
            let strengths = this.outer(&left, true);
            self.edge(x, 0, true, &strengths, (qp, self.band.qps[x - 1]));
        }
        let smooth = this.is_smooth();
        let step = if this.mb.transform_8x8 { 2 } else { 1 };
        let inner = |row: &mut Self, vertical| {
            if smooth {
                return;
            }
            for edge in (step..4).step_by(step) {
                row.edge(x, edge, vertical, &this.inner(edge, vertical), (qp, qp));
            }
        };
        inner(self, true);
        if let Some((macroblocks, above)) = self.above {
            let strengths = this.outer(&Filtered::of(&macroblocks[x]), false);
            let other = above.qps[x];
            self.edge(x, 0, false, &strengths, (qp, other));
        }
        inner(self, false);
    }

    /// Filters an edge of macroblock `x`: number `edge` in units of 4 samples.
    fn edge(
        &mut self,
        x: usize,
        edge: usize,
        vertical: bool,
        strengths: &Strengths,
        qps: (u8, u8),
    ) {
        if *strengths == [0; 4] {
            return;
        }
        let kernels = self.kernels.residual;
        let stride = self.band.stride;
        let mean = |a: u8, b: u8| usize::from((a + b + 1) >> 1);
        let luma = mean(qps.0, qps.1);
        let (alpha, beta) = (ALPHA[luma], BETA[luma]);
        if alpha != 0 {
            let at = match vertical {
                true => HEAD * stride + 16 * x + 4 * edge,
                false => (HEAD + 4 * edge) * stride + 16 * x,
            };
            let samples = &mut self.band.luma;
            match (strengths[0] == 4, vertical) {
                (true, true) => (kernels.luma_vertical_strong)(samples, at, stride, alpha, beta),
                (true, false) => (kernels.luma_horizontal_strong)(samples, at, stride, alpha, beta),
                (false, true) => {
                    let limits = limits(strengths, luma);
                    (kernels.luma_vertical_edge)(samples, at, stride, alpha, beta, &limits);
                }
                (false, false) => {
                    let limits = limits(strengths, luma);
                    (kernels.luma_horizontal_edge)(samples, at, stride, alpha, beta, &limits);
                }
            }
        }
        if !edge.is_multiple_of(2) {
            return;
        }
        let chroma = mean(chroma_qp(qps.0), chroma_qp(qps.1));
        let (alpha, beta) = (ALPHA[chroma], BETA[chroma]);
        if alpha == 0 {
            return;
        }
        // An edge of chroma is where every other one of luma is; a pair is two bytes.
        let at = match vertical {
            true => HEAD / 2 * stride + 16 * x + 4 * edge,
            false => (HEAD / 2 + 2 * edge) * stride + 16 * x,
        };
        let samples = &mut self.band.chroma;
        match (strengths[0] == 4, vertical) {
            (true, true) => (kernels.chroma_vertical_strong)(samples, at, stride, alpha, beta),
            (true, false) => (kernels.chroma_horizontal_strong)(samples, at, stride, alpha, beta),
            (false, true) => {
                let limits = limits(strengths, chroma);
                (kernels.chroma_vertical_edge)(samples, at, stride, alpha, beta, &limits);
            }
            (false, false) => {
                let limits = limits(strengths, chroma);
                (kernels.chroma_horizontal_edge)(samples, at, stride, alpha, beta, &limits);
            }
        }
    }

    /// Appends to `reference` the rows that no later filtering changes.
    pub fn append(&self, row: usize, geometry: &Geometry, reference: &Reference) {
        let (first, last) = (row == 0, row + 1 == geometry.rows);
        let rows = |head: usize, rows: usize| {
            let from = if first { head } else { 0 };
            let to = if last { head + rows } else { rows };
            from..to
        };
        let stride = self.band.stride;
        let luma = rows(HEAD, 16);
        reference.luma.append(luma.len(), |i, to| {
            let at = (luma.start + i) * stride;
            to.copy_from_slice(&self.band.luma[at..at + stride]);
        });
        let chroma = rows(HEAD / 2, 8);
        reference.chroma.append(chroma.len(), |i, to| {
            let at = (chroma.start + i) * stride;
            to.copy_from_slice(&self.band.chroma[at..at + stride]);
        });
    }
}

fn limits(strengths: &Strengths, qp: usize) -> [i8; 4] {
    let limit = |i: usize| match strengths[i] {
        0 => -1,
        strength => TC0[qp][usize::from(strength) - 1],
    };
    [limit(0), limit(1), limit(2), limit(3)]
}
