//! Analysis of pictures apart from an encoder, to measure what it takes in jobs of any size.
//!
//! It is the encoder's own search and refinement, on source pictures: a picture is searched in the source of another, and
//! no macroblock knows its neighbours. So all macroblocks of all pictures are independent of one another.

use evener_runtime::buffer::{Rows, RowsRef};

use crate::config::Tools;
use crate::decide::{Alone, SliceContext};
use crate::entropy::cost::Costs;
use crate::geometry::Geometry;
use crate::kernels::Kernels;
use crate::reference::{self, View};
use crate::search::{Best, Search, SearchResult};
pub use crate::source::Planes;
use crate::source::Source;
use crate::syntax::{SliceHeader, SliceKind};

/// Analyses pictures of one size.
pub struct Analysis {
    geometry: Geometry,
    kernels: Kernels,
    tools: Tools,
    header: SliceHeader,
    costs: Costs,
}

/// A picture with smaller versions of it, and planes between its samples once they are [made](Analysis::interpolate).
pub struct Picture {
    source: Source,
    half: [Rows<u8>; 3],
}

/// Where the macroblocks of a cell, 2x2 of them, may have come from, by the smallest version of the pictures.
#[derive(Clone, Copy)]
pub struct Coarse(Best);

/// What the search of a macroblock found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched(SearchResult);

impl Analysis {
    /// For pictures of `width` by `height` samples, both even. Refinement uses `tools`, with one reference, and weighs
    /// distortion against bits as at the quantisation parameter `qp`, 0 to 51.
    pub fn new(width: usize, height: usize, kernels: Kernels, tools: Tools, qp: u8) -> Analysis {
        let header = SliceHeader {
            kind: SliceKind::P,
            idr: None,
            qp,
            ..SliceHeader::default()
        };
        Analysis {
            geometry: Geometry::new(width, height),
            kernels,
            tools: Tools {
                references: 1,
                ..tools
            },
            costs: Costs::at_start(Some(header.cabac_init), qp),
            header,
        }
    }

    /// Columns and rows of macroblocks.
    pub fn macroblocks(&self) -> (usize, usize) {
        (self.geometry.columns, self.geometry.rows)
    }

    /// Columns and rows of cells.
    pub fn cells(&self) -> (usize, usize) {
        let (columns, rows) = self.macroblocks();
        (columns.div_ceil(2), rows.div_ceil(2))
    }

    /// Takes a picture and makes the smaller versions.
    ///
    /// # Panics
    /// If the planes are smaller than the pictures.
    pub fn picture(&self, planes: Planes<'_>) -> Picture {
        let source = Source::new(self.geometry);
        for row in 0..self.geometry.rows {
            source.append(row, planes, self.kernels, false);
        }
        let plane = || Rows::zeroed(self.geometry.stride, self.geometry.padded_height());
        Picture {
            source,
            half: [plane(), plane(), plane()],
        }
    }

    /// Rows of macroblocks that planes between samples have: those of the picture, and of the border around it.
    pub fn bands(&self) -> usize {
        self.geometry.padded_height() / 16
    }

    /// Makes the planes between samples of one row of macroblocks, beside those of other rows.
    ///
    /// # Panics
    /// If there are fewer [`bands`](Analysis::bands), or the picture is a reference that is searched.
    pub fn interpolate(&self, picture: &Picture, band: usize) {
        let stride = self.geometry.stride;
        // Rows at the very ends are never read: vectors do not point so far.
        let last = self.geometry.padded_height() - reference::BELOW;
        let from = (16 * band).max(reference::ABOVE);
        let to = (16 * band + 16).min(last);
        let [mut h, mut v, mut both] = picture.half.each_ref().map(|plane| plane.write(from..to));
        let luma = picture.source.luma.read();
        (self.kernels.samples.half_pel)(
            [&mut h, &mut v, &mut both],
            &luma[(from - reference::ABOVE) * stride..(to + reference::BELOW) * stride],
            stride,
        );
    }

    /// A picture that is searched in a reference.
    ///
    /// # Panics
    /// If planes between samples of the reference are being made.
    pub fn pair<'a>(&'a self, picture: &'a Picture, reference: &'a Picture) -> Pair<'a> {
        Pair {
            analysis: self,
            picture,
            reference,
            half: reference.half.each_ref().map(Rows::read),
        }
    }
}

/// A picture and its reference. Macroblocks and cells are given by column and row.
pub struct Pair<'a> {
    analysis: &'a Analysis,
    picture: &'a Picture,
    reference: &'a Picture,
    half: [RowsRef<'a, u8>; 3],
}

impl Pair<'_> {
    fn motion(&self) -> Search<'_> {
        let Analysis {
            geometry, kernels, ..
        } = *self.analysis;
        Search::new(
            geometry,
            kernels,
            self.picture.source.pyramid(),
            self.reference.source.pyramid(),
        )
    }

    /// Searches a cell in the smallest versions.
    pub fn coarse(&self, (x, y): (usize, usize)) -> Coarse {
        Coarse(self.motion().coarse(x, y))
    }

    /// Searches a macroblock, from what was found for its cell: one motion search of 16x16 samples.
    pub fn search(&self, (x, y): (usize, usize), cell: &Coarse) -> Searched {
        Searched(self.motion().macroblock(x, y, &cell.0))
    }

    /// Refines what was found for a macroblock, between samples and in partitions as the tools have them. Returns its
    /// cost: distortion, and bits by their price.
    pub fn refine(&self, at: (usize, usize), searched: &Searched) -> u32 {
        let analysis = self.analysis;
        let luma = &self.reference.source.luma;
        let [h, v, both] = &self.half;
        let view = View {
            luma: [luma.read(), h, v, both],
            chroma: self.reference.source.chroma.read(),
            stride: analysis.geometry.stride,
        };
        let slice = SliceContext {
            kernels: analysis.kernels,
            geometry: analysis.geometry,
            tools: &analysis.tools,
            header: &analysis.header,
            costs: &analysis.costs,
            fine_qp: 0,
            budget: None,
            source: &self.picture.source,
            references: &[view],
            force: None,
        };
        let alone = Alone {
            slice: &slice,
            qp: analysis.header.qp,
        };
        alone.inter(at, &searched.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::reference::Reference;

    const SIZE: (usize, usize) = (96, 64);

    /// A texture that moves by `shift` samples to the left and as many rows up.
    fn luma(shift: usize) -> Vec<u8> {
        let sample = |x: usize, y: usize| {
            let wave = (x as f64 * 0.31).sin()
                + (y as f64 * 0.23).cos()
                + (x as f64 * y as f64 * 0.011).sin();
            (128.0 + 38.0 * wave) as u8
        };
        let (width, height) = SIZE;
        (0..width * height)
            .map(|i| sample(i % width + shift, i / width + shift))
            .collect()
    }

    fn analysis(subpel: u8) -> Analysis {
        let tools = Tools {
            subpel,
            ..Preset::Medium.tools()
        };
        Analysis::new(
            SIZE.0,
            SIZE.1,
            Kernels::at(evener_runtime::Simd::detect()),
            tools,
            26,
        )
    }

    fn picture(analysis: &Analysis, shift: usize) -> Picture {
        let grey = vec![128; SIZE.0 * SIZE.1 / 4];
        analysis.picture(Planes {
            luma: &luma(shift),
            chroma: [&grey, &grey],
        })
    }

    #[test]
    fn a_texture_that_moves_is_found_where_it_was() {
        let analysis = analysis(5);
        let (new, old) = (picture(&analysis, 3), picture(&analysis, 0));
        for band in 0..analysis.bands() {
            analysis.interpolate(&old, band);
        }
        let pair = analysis.pair(&new, &old);
        let coarse = pair.coarse((1, 0));
        let searched = pair.search((2, 1), &coarse);
        assert_eq!((searched.0.whole[0].x, searched.0.whole[0].y), (12, 12));
        assert_eq!(searched.0.sad, 0);
        let elsewhere = pair.refine((2, 1), &Searched::default());
        assert!(pair.refine((2, 1), &searched) <= elsewhere);
    }

    #[test]
    fn bands_make_the_planes_that_references_have() {
        let analysis = analysis(2);
        let picture = picture(&analysis, 1);
        for band in (0..analysis.bands()).rev() {
            analysis.interpolate(&picture, band);
        }
        let whole = Reference::new(analysis.geometry);
        let (source, at) = (&picture.source.luma, |y: usize| source_row(&picture, y));
        whole
            .luma
            .append(source.shape().height, |y, to| to.copy_from_slice(at(y)));
        whole.interpolate(analysis.geometry.rows - 1, analysis.kernels);
        for (plane, expected) in picture.half.iter().zip(whole.view().luma[1..].iter()) {
            assert!(*plane.read() == **expected);
        }
    }

    fn source_row(picture: &Picture, y: usize) -> &[u8] {
        let luma = &picture.source.luma;
        let from = luma.at(0, y as i32);
        &luma.read()[from..from + luma.shape().width]
    }
}
