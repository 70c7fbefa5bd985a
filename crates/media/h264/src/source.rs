//! A picture to be coded: in whole macroblocks, and smaller versions of it to search in.

use evener_runtime::buffer::GrowingRows;

use crate::energy;
use crate::geometry::{Geometry, PAD};
use crate::kernels::Kernels;
use crate::padded::{Padded, Plane, Shape};

/// Samples around a smaller version.
pub const SMALL_PAD: usize = 16;

/// The planes of a picture as they are written: luma, Cb, Cr, without padding.
#[derive(Clone, Copy)]
pub struct Planes<'a> {
    /// `width * height` samples.
    pub luma: &'a [u8],
    /// A quarter as many, of Cb and of Cr.
    pub chroma: [&'a [u8]; 2],
}

/// The luma of a picture, and smaller versions of it, to search in.
#[derive(Clone, Copy)]
pub struct Pyramid<'a> {
    /// At the full size.
    pub full: Plane<'a>,
    /// Half as wide and high.
    pub half: Plane<'a>,
    /// A quarter as wide and high.
    pub quarter: Plane<'a>,
}

/// The planes of a [`Pyramid`]: full size, half, quarter.
pub fn pyramid_shapes(geometry: &Geometry) -> [Shape; 3] {
    let (width, height) = (geometry.coded_width(), geometry.coded_height());
    let small = |by: usize| Shape {
        width: width / by,
        height: height / by,
        stride: (width / by + 2 * SMALL_PAD).next_multiple_of(64),
        pad: SMALL_PAD,
        pad_rows: SMALL_PAD,
        sample: 1,
    };
    let full = Shape {
        width,
        height,
        stride: geometry.stride,
        pad: PAD,
        pad_rows: PAD,
        sample: 1,
    };
    [full, small(2), small(4)]
}

/// A picture to be coded.
///
/// Where its size is not a multiple of 16, it is continued by its outermost samples.
pub struct Source {
    geometry: Geometry,
    /// Luma.
    pub luma: Padded,
    /// Half as wide and high.
    pub half: Padded,
    /// A quarter as wide and high.
    pub quarter: Padded,
    /// Chroma, interleaved, without a border.
    pub chroma: Padded,
    /// By how much the quantisation parameter of each macroblock deviates: the bits of an `i16`.
    offsets: GrowingRows<u16>,
}

impl Source {
    /// Memory for pictures of a size.
    pub fn new(geometry: Geometry) -> Source {
        let (width, height) = (geometry.coded_width(), geometry.coded_height());
        let [luma, half, quarter] = pyramid_shapes(&geometry).map(Padded::new);
        Source {
            geometry,
            luma,
            half,
            quarter,
            chroma: Padded::new(Shape {
                width,
                height: height / 2,
                stride: width.next_multiple_of(64),
                pad: 0,
                pad_rows: 0,
                sample: 2,
            }),
            offsets: GrowingRows::zeroed(geometry.columns, geometry.rows),
        }
    }

    /// What is searched.
    pub fn pyramid(&self) -> Pyramid<'_> {
        Pyramid {
            full: self.luma.plane(),
            half: self.half.plane(),
            quarter: self.quarter.plane(),
        }
    }

    /// Forgets the picture.
    pub fn reset(&mut self) {
        for plane in [
            &mut self.luma,
            &mut self.half,
            &mut self.quarter,
            &mut self.chroma,
        ] {
            plane.reset();
        }
        self.offsets.reset();
    }

    /// Takes the next row of macroblocks. If it is `adaptive`, their quantisation parameters will differ.
    pub fn append(&self, row: usize, planes: Planes<'_>, kernels: Kernels, adaptive: bool) {
        let Geometry { width, height, .. } = self.geometry;
        self.luma.append(16, |i, to| {
            let y = (16 * row + i).min(height - 1);
            widen(&planes.luma[y * width..(y + 1) * width], 1, to);
        });
        let chroma_width = width / 2;
        self.chroma.append(8, |i, to| {
            let y = (8 * row + i).min(height / 2 - 1);
            let [cb, cr] = planes
                .chroma
                .map(|p| &p[y * chroma_width..(y + 1) * chroma_width]);
            (kernels.samples.interleave)(&mut to[..width], cb, cr);
            extend(to, width, 2);
        });
        halve(&self.luma, &self.half, kernels);
        halve(&self.half, &self.quarter, kernels);
        let mut offsets = self.offsets.append(1);
        if adaptive {
            for (x, offset) in offsets.iter_mut().enumerate() {
                *offset = self.energy_offset(x, row, kernels) as u16;
            }
        }
    }

    fn energy_offset(&self, x: usize, y: usize, kernels: Kernels) -> i16 {
        let (x, y) = (16 * x as i32, y as i32);
        let (luma, chroma) = (&self.luma, &self.chroma);
        let samples = kernels.samples;
        energy::offset(
            (samples.energy_16x16)(&luma.read()[luma.at(x, 16 * y)..], luma.shape().stride),
            (samples.energy_chroma)(&chroma.read()[chroma.at(x, 8 * y)..], chroma.shape().stride),
        )
    }

    /// By how much the quantisation parameter of macroblock `x`, `y` deviates from that of the picture, in units of
    /// 1/[`STEP`](energy::STEP).
    #[inline]
    pub fn qp_offset(&self, x: usize, y: usize) -> i16 {
        self.offsets.read()[y * self.geometry.columns + x] as i16
    }
}

/// Appends to `small` all rows that those of `large` make.
fn halve(large: &Padded, small: &Padded, kernels: Kernels) {
    let rows = |plane: &Padded| {
        let above = plane.published().saturating_sub(plane.shape().pad_rows);
        above.min(plane.shape().height)
    };
    let (have, done) = (rows(large) / 2, rows(small));
    let (from, width) = (large.read(), large.shape().width);
    small.append(have - done, |i, to| {
        let y = 2 * (done + i) as i32;
        let (a, b) = (large.at(0, y), large.at(0, y + 1));
        (kernels.samples.halve)(to, &from[a..a + width], &from[b..b + width]);
    });
}

/// Copies a row and repeats its last sample.
fn widen(from: &[u8], sample: usize, to: &mut [u8]) {
    to[..from.len()].copy_from_slice(from);
    extend(to, from.len(), sample);
}

/// Repeats the last sample of the first `len` bytes to the end.
fn extend(row: &mut [u8], len: usize, sample: usize) {
    let (known, rest) = row.split_at_mut(len);
    for to in rest.chunks_mut(sample) {
        to.copy_from_slice(&known[len - sample..][..to.len()]);
    }
}
