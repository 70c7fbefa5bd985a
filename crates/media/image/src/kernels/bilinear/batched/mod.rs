//! Bilinear sampling of interleaved frames: for each output position four loads serve all frames.

#[cfg(target_arch = "x86_64")]
mod avx2;

use evener_runtime::Simd;

use super::definition::{Map, Sampling, blend, tap};
use crate::geometry::Rect;
use crate::kernels::BATCH;
use crate::kernels::lanes::Scalar;
use crate::kernels::pointwise::{Pointwise, Same};

/// Interleaved samples.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// [`BATCH`] values for each position.
    Values(&'a [f32]),
    /// A byte for each position, whose bits are the frames' samples: 0 or 1.
    Bits(&'a [u8]),
}

impl Samples<'_> {
    /// The number of positions.
    #[inline]
    fn places(&self) -> usize {
        match self {
            Samples::Values(values) => values.len() / BATCH,
            Samples::Bits(bytes) => bytes.len(),
        }
    }

    /// The sample of one frame.
    #[inline]
    fn of(&self, place: usize, frame: usize) -> f32 {
        match self {
            Samples::Values(values) => values[place * BATCH + frame],
            Samples::Bits(bytes) => f32::from(bytes[place] >> frame & 1),
        }
    }
}

/// A rectangle of an interleaved plane.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    samples: Samples<'a>,
    stride: usize,
    rect: Rect,
}

impl<'a> Block<'a> {
    /// The contiguous rows of `rect`, `stride` samples of a frame apart.
    ///
    /// # Panics
    /// If `samples` does not have all of them, or `stride` is less than the width of `rect`.
    pub fn new(samples: Samples<'a>, stride: usize, rect: Rect) -> Self {
        assert!(stride >= rect.width() && samples.places() >= rect.height() * stride);
        Block {
            samples,
            stride,
            rect,
        }
    }

    #[inline]
    fn at(&self, x: i32, y: i32, frame: usize) -> f32 {
        let (row, column) = ((y - self.rect.y0) as usize, (x - self.rect.x0) as usize);
        self.samples.of(row * self.stride + column, frame)
    }
}

/// The layout of outputs.
pub enum Out<'a, 'b> {
    /// An interleaved row.
    Interleaved(&'a mut [f32]),
    /// A row of each frame, all of one length.
    Planar(&'a mut [&'b mut [f32]; BATCH]),
}

impl Out<'_, '_> {
    #[inline]
    fn len(&self) -> usize {
        match self {
            Out::Interleaved(row) => row.len() / BATCH,
            Out::Planar(rows) => rows[0].len(),
        }
    }
}

/// Outputs (x0, y) and on of every frame. `block` holds every tap that is not fill, and no sample outside the plane, which
/// has at least 2 x 2 samples.
pub fn row<M: Map, A: Pointwise>(
    simd: Simd,
    sampling: &Sampling<'_, M, Same, A>,
    block: &Block<'_>,
    at: (i32, i32),
    mut out: Out<'_, '_>,
) {
    #[cfg(target_arch = "x86_64")]
    if avx2::row(simd, sampling, block, at, &mut out) {
        return;
    }
    let _ = simd;
    for i in 0..out.len() {
        let v = one(sampling, block, (at.0 + i as i32, at.1));
        put(&mut out, i, &v);
    }
}

/// One output of every frame: the definition.
fn one<M: Map, A: Pointwise>(
    sampling: &Sampling<'_, M, Same, A>,
    block: &Block<'_>,
    (x, y): (i32, i32),
) -> [f32; BATCH] {
    let (sx, sy) = sampling.map.at(Scalar, x as f32, y as f32);
    let tap = tap(sx, sy, sampling.plane, sampling.border);
    std::array::from_fn(|frame| {
        let v = tap.map_or(sampling.border.fill(), |t| {
            let of = |x, y| block.at(x, y, frame);
            let upper = [of(t.x, t.y), of(t.x + 1, t.y)];
            let lower = [of(t.x, t.y + 1), of(t.x + 1, t.y + 1)];
            blend(upper, lower, t.fx, t.fy)
        });
        sampling.after.of(Scalar, v)
    })
}

fn put(out: &mut Out<'_, '_>, at: usize, v: &[f32; BATCH]) {
    match out {
        Out::Interleaved(row) => row[at * BATCH..][..BATCH].copy_from_slice(v),
        Out::Planar(rows) => {
            for (row, v) in rows.iter_mut().zip(v) {
                row[at] = *v;
            }
        }
    }
}
