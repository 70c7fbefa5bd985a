//! The length of a gradient, sqrt(gx² + gy²), and the whole of `sobel` in one pass.

use std::sync::Arc;

use evener_runtime::Simd;

use super::point_op;
use super::sobel_x::SobelX;
use super::sobel_y::SobelY;
use super::stencil::{FuseAfter, StencilStage};
use crate::device::Kernel;
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::lanes::Lanes;
use crate::kernels::pointwise::PointOp;
use crate::kernels::stencil::Stencil3x3;
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};

/// The length of a gradient from its two components.
#[derive(Debug)]
pub(super) struct Magnitude {
    pub(super) size: Size,
}

#[inline(always)]
fn length(gx: f32, gy: f32) -> f32 {
    gx.mul_add(gx, gy * gy).sqrt()
}

#[inline(always)]
fn lengths_body(gx: &[f32], gy: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (gx, gy) = (&gx[..n], &gy[..n]);
    for i in 0..n {
        out[i] = length(gx[i], gy[i]);
    }
}

for_each_level! {
    /// sqrt(gx² + gy²) of two rows.
    fn lengths(gx: &[f32], gy: &[f32], out: &mut [f32]) = lengths_body;
}

impl Stage for Magnitude {
    fn name(&self) -> &'static str {
        "magnitude"
    }

    fn inputs(&self) -> usize {
        2
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.push((x, y));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(vec![(0, 0)])
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        length(samples[0], samples[1])
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (gx, gy) = samples.split_at(out.len());
        lengths(simd, gx, gy, out);
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let [gx, gy] = [0, 1].map(|i| {
            let from = (x0 - input[i].rect().x0) as usize;
            &input[i].row(y)[from..from + out.len()]
        });
        lengths(cx.simd, gx, gy, out);
    }

    fn fuse_inputs(&self) -> Option<Arc<dyn Stage>> {
        Some(Arc::new(StencilStage {
            name: "sobel",
            kernel: Sobel,
            size: self.size,
            weight: 9.0,
            device: Some(Kernel {
                sqrt: true,
                ..Kernel::new("filters_sobel", Vec::new())
            }),
        }))
    }

    fn weight(&self) -> f64 {
        6.0
    }
}

/// Both gradients of a neighbourhood and the square of their length.
#[derive(Clone, Copy, Debug)]
struct Sobel;

impl Sobel {
    #[inline(always)]
    fn squared<S: Lanes>(s: S, upper: [S::V; 2], middle: [S::V; 2], lower: [S::V; 2]) -> S::V {
        let gx = s.smooth(upper[0], middle[0], lower[0]);
        let gy = s.sub(lower[1], upper[1]);
        s.mul_add(gx, gx, s.mul(gy, gy))
    }
}

impl Stencil3x3 for Sobel {
    #[inline(always)]
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2] {
        let [x, _] = SobelX.horizontal(s, left, middle, right);
        let [y, _] = SobelY.horizontal(s, left, middle, right);
        [x, y]
    }

    #[inline(always)]
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V {
        s.sqrt(Sobel::squared(s, upper, middle, lower))
    }
}

impl FuseAfter for Sobel {
    fn fuse_after(stage: &StencilStage<Self>, op: PointOp) -> Option<Arc<dyn Stage>> {
        let PointOp::Above(t) = op else { return None };
        Some(Arc::new(StencilStage {
            name: stage.name,
            kernel: SobelAbove {
                square: point_op::last_not_above(|v| v.max(0.0).sqrt() > t),
            },
            size: stage.size,
            weight: stage.weight,
            device: None,
        }))
    }
}

/// The length if it is above a threshold, else 0. Squares are compared. If none of a register is above, as in most of a
/// picture, no root is taken.
#[derive(Clone, Copy, Debug)]
struct SobelAbove {
    /// The largest square whose root is not above the threshold; below 0 if there is none.
    square: f32,
}

impl FuseAfter for SobelAbove {}

impl Stencil3x3 for SobelAbove {
    #[inline(always)]
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2] {
        Sobel.horizontal(s, left, middle, right)
    }

    #[inline(always)]
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V {
        let squared = Sobel::squared(s, upper, middle, lower);
        let most = s.splat(self.square);
        if s.any_above(squared, most) {
            s.keep_above(s.sqrt(squared), squared, most)
        } else {
            s.splat(0.0)
        }
    }
}
