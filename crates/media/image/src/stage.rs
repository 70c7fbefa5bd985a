//! A stage: one kernel in its place in a graph, bound to the plane it works on.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use evener_runtime::Simd;

use crate::device::DeviceStage;
use crate::format::{Chroma, Codes, Format, Ratio, Size, Video};
use crate::geometry::Rect;
use crate::kernels::bilinear::batched::{Block, Out};
use crate::kernels::pointwise::PointOp;
use crate::kernels::taps::TapRun;
use crate::moves::Moves;
use crate::row_view::RowView;
use crate::weights::Separable;

/// What a row kernel may use: the SIMD level and memory for intermediate rows.
pub struct RowContext<'a> {
    /// Highest instruction set to use.
    pub simd: Simd,
    /// Memory of undefined content. Kernels grow it, so that nothing is allocated per row.
    pub temp: &'a mut Vec<f32>,
}

impl RowContext<'_> {
    /// A temporary row of `n` samples, contents undefined.
    pub fn row(&mut self, n: usize) -> &mut [f32] {
        grown(self.temp, n)
    }
}

/// The first `n` samples of `memory`, contents undefined.
#[inline]
pub fn grown(memory: &mut Vec<f32>, n: usize) -> &mut [f32] {
    if memory.len() < n {
        memory.resize(n, 0.0);
    }
    &mut memory[..n]
}

/// One kernel bound to a plane. The *definition* of a stage is [`Stage::taps`] and [`Stage::combine`]: output (x, y)
/// is `combine` of the input samples at `taps`. Everything else computes the same bits faster.
pub trait Stage: Debug + Send + Sync {
    /// Short name for reports.
    fn name(&self) -> &'static str;

    /// Number of inputs; all have the size of the first, unless the stage has [pieces](Stage::piece).
    fn inputs(&self) -> usize {
        1
    }

    /// The positions that output (x, y) reads, the same in each input. Positions beyond the plane mean the nearest edge
    /// sample. Without positions the output is a constant, such as fill.
    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>);

    /// The part of input `input` that the outputs in `out` read, for a stage that puts its inputs side by side: inside that
    /// input, which may have another size than the first.
    fn piece(&self, input: usize, out: Rect) -> Option<Rect> {
        let _ = (input, out);
        None
    }

    /// [`Stage::taps`] in input `input`, for a stage with [`Stage::piece`].
    fn taps_of(&self, input: usize, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let _ = input;
        self.taps(x, y, taps);
    }

    /// The taps as offsets, if they are the same for every output.
    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        None
    }

    /// About how many samples of an input an output reads.
    fn reads(&self) -> usize {
        self.offsets().map_or(4, |offsets| offsets.len())
    }

    /// Whether neighbouring outputs read scattered positions, for which contiguous rows are better.
    fn scattered(&self) -> bool {
        self.offsets().is_none()
    }

    /// Output (x, y) from the samples at its taps: those of input 0 in order, then those of input 1.
    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32;

    /// `combine` for a run of n outputs at any positions. Samples `k * n..(k + 1) * n` are tap k of each output, the taps of
    /// input 0 first. Only called for stages with [`Stage::offsets`], whose `combine` does not depend on the position.
    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let _ = simd;
        let n = out.len();
        let mut of_one = Vec::new();
        for (i, o) in out.iter_mut().enumerate() {
            of_one.clear();
            of_one.extend(samples.iter().skip(i).step_by(n));
            *o = self.combine(0, 0, &of_one);
        }
    }

    /// Region inference: the input samples that the outputs in `out` read, or more. May reach outside the plane.
    fn source(&self, out: Rect) -> Rect;

    /// The columns of input rows `rows`, inside [`Stage::source`] of `out`, that the outputs in `out` read, or more.
    fn source_columns(&self, out: Rect, rows: Range<i32>) -> Range<i32> {
        let _ = rows;
        let all = self.source(out);
        all.x0..all.x1
    }

    /// Outputs (x0, y) to (x0 + out.len(), y). Each of `input` covers `source` of them, clipped to the plane. Its samples
    /// beyond [`Stage::source_columns`] are undefined. A stage implements this or [`Stage::rows`].
    fn row(
        &self,
        context: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        self.rows(context, input, y, x0, &mut [out]);
    }

    /// Rows y, y + 1 and on, at most [`STRIP`](crate::kernels::STRIP) of them, all from column x0 and of one length, for
    /// stages that compute several together in less time.
    fn rows(
        &self,
        context: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [&mut [f32]],
    ) {
        for (out, y) in out.iter_mut().zip(y..) {
            self.row(context, input, y, x0, out);
        }
    }

    /// The stage as a pointwise one, if it is one.
    fn point(&self) -> Option<&dyn Point> {
        None
    }

    /// The operation of a pointwise stage, as far as fusion knows it.
    fn point_op(&self) -> PointOp {
        PointOp::Other
    }

    /// One stage that gives the same as this one followed by `op`, if the kernel of this one can do that as it stores.
    fn fuse_after(&self, op: PointOp) -> Option<Arc<dyn Stage>> {
        let _ = op;
        None
    }

    /// One stage that gives the same as `op` followed by this one, if the kernel of this one can do that as it loads.
    fn fuse_before(&self, op: PointOp) -> Option<Arc<dyn Stage>> {
        let _ = op;
        None
    }

    /// The offset (dx, dy), if output (x, y) is input (x + dx, y + dy).
    fn translation(&self) -> Option<(i32, i32)> {
        None
    }

    /// Where outputs come from, if the stage moves samples and computes none.
    fn moves(&self) -> Option<Moves> {
        match self.device() {
            Some(DeviceStage::View(view)) => Some(Moves {
                column: view.x,
                row: view.y,
                ..Moves::SAME
            }),
            _ => None,
        }
    }

    /// The windows of a stage that only sums weighted samples of rows and of columns. A plane of codes with one such filter
    /// is computed in [integers](crate::integer).
    fn separable(&self) -> Option<Separable> {
        None
    }

    /// The stage as one that blends four neighbouring samples at computed positions, if it is one.
    fn resample(&self) -> Option<&dyn Resample> {
        None
    }

    /// The stage as one that can run batched, if it can.
    fn batched(&self) -> Option<&dyn Batched> {
        None
    }

    /// One stage that computes this one together with the stages it reads, from their common input.
    fn fuse_inputs(&self) -> Option<Arc<dyn Stage>> {
        None
    }

    /// What a device does for this stage. A graph with a stage that has nothing here stays on cores.
    fn device(&self) -> Option<DeviceStage> {
        None
    }

    /// Arithmetic per output, in vectorisable operations: the weight in the cost model.
    fn weight(&self) -> f64;
}

/// A stage that maps each sample by itself.
pub trait Point: Send + Sync {
    /// Maps `from` into `to`, of equal length.
    fn map(&self, simd: Simd, from: &[f32], to: &mut [f32]);

    /// Maps samples in place, through a copy. Compilers turn a loop that keeps or replaces a value in place into masked
    /// stores, which are slow on many processors.
    fn apply(&self, simd: Simd, samples: &mut [f32]) {
        let mut from = [0.0; 256];
        for run in samples.chunks_mut(from.len()) {
            let from = &mut from[..run.len()];
            from.copy_from_slice(run);
            self.map(simd, from, run);
        }
    }
}

/// A stage that blends four neighbouring samples at computed positions. Taps and combination are those of the stage,
/// for a run of outputs at once.
pub trait Resample: Send + Sync {
    /// The taps of the outputs (`xs[i]`, `ys[i]`); both slices have one length, which `taps` takes.
    fn taps_run(&self, simd: Simd, xs: &[i32], ys: &[i32], taps: &mut TapRun);

    /// The value of outputs without taps.
    fn fill(&self) -> f32;
}

/// A stage that can run batched.
pub trait Batched: Send + Sync {
    /// Outputs (x0, y) and on of every frame. `block` holds [`Stage::source`] of them, clipped to the plane, which has
    /// at least 2 x 2 samples; beyond [`Stage::source_columns`] its samples are undefined.
    fn row(&self, simd: Simd, block: &Block<'_>, at: (i32, i32), out: Out<'_, '_>);

    /// Whether a step at the value of `op` may replace `op` before this stage: outputs in `out` have the same bits for
    /// samples from 0 to 1.25.
    fn accepts_step(&self, simd: Simd, op: PointOp, out: Rect) -> bool;
}

/// Grey on a chroma plane.
pub const GREY: f32 = 0.5;

/// What the samples of a plane are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Brightness.
    Luma,
    /// Blue less brightness.
    Cb,
    /// Red less brightness.
    Cr,
    /// Red, green or blue.
    Rgb,
}

/// The plane a filter is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    /// Size of the filter's input on this plane.
    pub size: Size,
    /// Size of the filter's input on the luma plane.
    pub luma: Size,
    /// Luma samples per sample of this plane, horizontally and vertically.
    pub subsampling: (u32, u32),
    /// Luma samples per chroma sample of the format, the same on every plane.
    pub chroma_subsampling: (u32, u32),
    /// What its samples are.
    pub component: Component,
    /// Value outside a warped source.
    pub fill: f32,
    /// What its codes mean in the frame, for filters that are defined by codes.
    pub codes: Codes,
    /// Width of a sample of the picture, by its height.
    pub aspect: f64,
}

impl Plane {
    /// Plane `index` of frames of a stream.
    pub fn of_video(video: &Video, index: usize) -> Plane {
        let aspect = |ratio: Ratio| f64::from(ratio.num) / f64::from(ratio.den.max(1));
        Plane {
            aspect: video.timing.aspect.map_or(1.0, aspect),
            ..Plane::of(&video.format, index)
        }
    }

    /// Plane `index` of frames of `format`, whose samples are square.
    pub fn of(format: &Format, index: usize) -> Plane {
        let is_chroma = format.is_chroma(index);
        let chroma_subsampling = format.chroma.subsampling();
        Plane {
            size: format.plane_size(index),
            luma: format.plane_size(0),
            subsampling: if is_chroma {
                chroma_subsampling
            } else {
                (1, 1)
            },
            chroma_subsampling,
            component: match (format.chroma, index) {
                (Chroma::Rgb, _) => Component::Rgb,
                (_, 0) => Component::Luma,
                (_, 1) => Component::Cb,
                _ => Component::Cr,
            },
            fill: if is_chroma { GREY } else { 0.0 },
            codes: format.codes(index),
            aspect: 1.0,
        }
    }

    /// The distance of rows in the picture relative to that of columns: 1 unless chroma is halved in one direction only.
    pub fn row_spacing(&self) -> f32 {
        let (sx, sy) = self.subsampling;
        sy as f32 / sx as f32
    }
}
