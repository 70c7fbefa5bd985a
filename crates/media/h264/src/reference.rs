//! Reconstructed pictures, with the planes between their samples.

use crate::filter::HEAD;
use crate::geometry::{Geometry, PAD};
use crate::kernels::Kernels;
use crate::padded::{Padded, Shape};
use evener_runtime::buffer::GrowingRows;

/// Rows below a sample that the plane between it and the next one depends on.
pub const BELOW: usize = 3;
/// Rows above.
pub const ABOVE: usize = 2;

/// A reconstructed picture that others are predicted from.
///
/// Planes between samples (clause 8.4.2.2.1) are as large as that of luma: `half[0]` is half a sample to the right,
/// `half[1]` half a sample down, `half[2]` both.
pub struct Reference {
    /// Luma.
    pub luma: Padded,
    /// Between its samples.
    pub half: [GrowingRows<u8>; 3],
    /// Chroma, interleaved.
    pub chroma: Padded,
}

impl Reference {
    /// Memory for pictures of a size.
    pub fn new(geometry: Geometry) -> Reference {
        let shape = Shape {
            width: geometry.coded_width(),
            height: geometry.coded_height(),
            stride: geometry.stride,
            pad: PAD,
            pad_rows: PAD,
            sample: 1,
        };
        let plane = || GrowingRows::zeroed(geometry.stride, geometry.padded_height());
        Reference {
            luma: Padded::new(shape),
            half: [plane(), plane(), plane()],
            chroma: Padded::new(Shape {
                height: shape.height / 2,
                pad_rows: PAD / 2,
                sample: 2,
                ..shape
            }),
        }
    }

    /// Forgets the picture.
    pub fn reset(&mut self) {
        self.luma.reset();
        self.half.iter_mut().for_each(GrowingRows::reset);
        self.chroma.reset();
    }

    /// Appends to the planes between samples the rows that are known once row `row` of macroblocks is filtered.
    pub fn interpolate(&self, row: usize, kernels: Kernels) {
        let (luma, stride) = (self.luma.read(), self.luma.shape().stride);
        let have = match 16 * (row + 1) {
            last if last == self.luma.shape().height => self.half[0].rows(),
            rows => PAD + rows - HEAD,
        };
        let all = self.half[0].rows();
        let done = self.half[0].published();
        // Rows at the very ends are never read: vectors do not point so far.
        let from = done.max(ABOVE);
        let to = have.saturating_sub(BELOW).max(from);
        let end = if have == all { all } else { to };
        if end == done {
            return;
        }
        let [mut h, mut v, mut both] = self.half.each_ref().map(|plane| plane.append(end - done));
        let at = (from - done) * stride;
        let rows = (to - from) * stride;
        (kernels.samples.half_pel)(
            [
                &mut h[at..at + rows],
                &mut v[at..at + rows],
                &mut both[at..at + rows],
            ],
            &luma[(from - ABOVE) * stride..(to + BELOW) * stride],
            stride,
        );
    }
}

/// The planes of a reference, as far as they are known.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Luma, and the three planes between its samples.
    pub luma: [&'a [u8]; 4],
    /// Chroma, interleaved.
    pub chroma: &'a [u8],
    /// From a row to the next, of all of them.
    pub stride: usize,
}

impl Reference {
    /// Its planes now.
    pub fn view(&self) -> View<'_> {
        let [h, v, both] = self.half.each_ref().map(GrowingRows::read);
        View {
            luma: [self.luma.read(), h, v, both],
            chroma: self.chroma.read(),
            stride: self.luma.shape().stride,
        }
    }
}
