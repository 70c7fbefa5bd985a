//! Prediction from reference pictures (clause 8.4.2.2).

use crate::geometry::Geometry;
use crate::kernels::BlockSize;
use crate::kernels::Kernels;
use crate::macroblock::Mv;
use crate::reference::View;

/// Which planes a quarter-sample position lies between: the plane and the sample to the right and down of each.
///
/// Planes are those of [`View::luma`]. Where both are the same, the position is in a plane.
const BETWEEN: [[(usize, usize, usize); 2]; 16] = {
    const F: usize = 0;
    const H: usize = 1;
    const V: usize = 2;
    const J: usize = 3;
    [
        [(F, 0, 0), (F, 0, 0)],
        [(F, 0, 0), (H, 0, 0)],
        [(H, 0, 0), (H, 0, 0)],
        [(F, 1, 0), (H, 0, 0)],
        [(F, 0, 0), (V, 0, 0)],
        [(H, 0, 0), (V, 0, 0)],
        [(H, 0, 0), (J, 0, 0)],
        [(H, 0, 0), (V, 1, 0)],
        [(V, 0, 0), (V, 0, 0)],
        [(V, 0, 0), (J, 0, 0)],
        [(J, 0, 0), (J, 0, 0)],
        [(V, 1, 0), (J, 0, 0)],
        [(F, 0, 1), (V, 0, 0)],
        [(H, 0, 1), (V, 0, 0)],
        [(H, 0, 1), (J, 0, 0)],
        [(H, 0, 1), (V, 1, 0)],
    ]
};

/// A block of a reference at a vector: one plane, or the average of two.
#[derive(Clone, Copy)]
pub enum Block<'a> {
    /// Samples of a plane.
    Plane(&'a [u8]),
    /// Samples of two planes to be averaged.
    Average(&'a [u8], &'a [u8]),
}

impl<'a> View<'a> {
    /// The block whose place in the picture is `x`, `y`, at a vector.
    #[inline]
    pub fn block(&self, geometry: &Geometry, (x, y): (i32, i32), mv: Mv) -> Block<'a> {
        let at = geometry.luma(x + i32::from(mv.x >> 2), y + i32::from(mv.y >> 2));
        let position = (usize::from(mv.y as u16 & 3) << 2) | usize::from(mv.x as u16 & 3);
        let [first, second] = BETWEEN[position];
        let from = |(plane, right, down): (usize, usize, usize)| {
            &self.luma[plane][at + down * self.stride + right..]
        };
        match first == second {
            true => Block::Plane(from(first)),
            false => Block::Average(from(first), from(second)),
        }
    }

    /// Distortion of a block of the source at a vector: the sum of absolute transformed differences.
    #[inline]
    pub fn satd(
        &self,
        kernels: Kernels,
        size: BlockSize,
        source: (&[u8], usize),
        block: Block<'_>,
    ) -> u32 {
        let i = size as usize;
        match block {
            Block::Plane(a) => (kernels.samples.satd[i])(source.0, source.1, a, self.stride),
            Block::Average(a, b) => (kernels.samples.satd_average[i])(
                source.0,
                source.1,
                a,
                self.stride,
                b,
                self.stride,
            ),
        }
    }

    /// Writes the prediction of luma.
    #[inline]
    pub fn predict_luma(
        &self,
        kernels: Kernels,
        size: BlockSize,
        block: Block<'_>,
        to: &mut [u8],
        stride: usize,
    ) {
        match block {
            Block::Plane(a) => (kernels.samples.copy)(to, stride, a, self.stride, size),
            Block::Average(a, b) => {
                (kernels.samples.average)(to, stride, a, self.stride, b, self.stride, size);
            }
        }
    }

    /// Writes the prediction of both chroma planes for the block of luma at `x`, `y`.
    #[inline]
    pub fn predict_chroma(
        &self,
        kernels: Kernels,
        geometry: &Geometry,
        (x, y): (i32, i32),
        size: BlockSize,
        mv: Mv,
        (to, stride): (&mut [u8], usize),
    ) {
        let at = geometry.chroma(x / 2 + i32::from(mv.x >> 3), y / 2 + i32::from(mv.y >> 3));
        (kernels.samples.chroma)(
            to,
            stride,
            &self.chroma[at..],
            self.stride,
            (mv.x & 7) as u32,
            (mv.y & 7) as u32,
            size.width() / 2,
            size.height() / 2,
        );
    }
}
