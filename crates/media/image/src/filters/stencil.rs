//! The stage of every filter that reads a 3x3 neighbourhood.

use std::sync::Arc;

use evener_runtime::Simd;

use crate::device::{DeviceStage, Kernel};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::pointwise::PointOp;
use crate::kernels::stencil::{self, Stencil3x3};
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};

/// A 3x3 kernel on a plane of `size`.
#[derive(Debug)]
pub(super) struct StencilStage<K> {
    pub name: &'static str,
    pub kernel: K,
    pub size: Size,
    pub weight: f64,
    pub device: Option<Kernel>,
}

/// A 3x3 kernel that may fuse the pointwise operation after it.
pub(super) trait FuseAfter: Stencil3x3 {
    /// The stage that gives the same as this one followed by `op`.
    fn fuse_after(stage: &StencilStage<Self>, op: PointOp) -> Option<Arc<dyn Stage>> {
        let _ = (stage, op);
        None
    }
}

/// Offsets of a 3x3 neighbourhood, row after row.
fn offsets() -> impl Iterator<Item = (i32, i32)> {
    (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)))
}

impl<K: FuseAfter> Stage for StencilStage<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.extend(offsets().map(|(dx, dy)| (x + dx, y + dy)));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(offsets().collect())
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        stencil::eval(self.kernel, samples)
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        stencil::eval_runs(simd, self.kernel, samples, out);
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(1, 1)
    }

    fn rows(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [&mut [f32]],
    ) {
        let size = (self.size.w as i32, self.size.h as i32);
        stencil::rows(cx.simd, self.kernel, &input[0], size, (x0, y), out);
    }

    fn fuse_after(&self, op: PointOp) -> Option<Arc<dyn Stage>> {
        K::fuse_after(self, op)
    }

    fn device(&self) -> Option<DeviceStage> {
        let kernel = self.device.clone()?;
        Some(DeviceStage::Kernels(vec![kernel]))
    }

    fn weight(&self) -> f64 {
        self.weight
    }
}
