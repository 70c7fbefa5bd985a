//! The stage of every filter that reads its source at computed positions.

use std::ops::Range;
use std::sync::Arc;

use evener_runtime::Simd;

use super::point_op;
use crate::device::DeviceStage;
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::bilinear::batched::{Block, Out};
use crate::kernels::bilinear::{self, Border, Map, Sampling, positive};
use crate::kernels::lanes::{Lanes, Scalar};
use crate::kernels::pointwise::{self, PointOp, Pointwise, Same, with_point_op};
use crate::kernels::taps::{self, TapRun};
use crate::row_view::RowView;
use crate::stage::{Batched, Resample, RowContext, Stage};
use crate::weights::Separable;

/// A map that can bound the positions it gives.
pub trait Bounded: Map {
    /// Intervals (x0, x1), (y0, y1) that hold the source positions of all outputs in `out`, which is not empty.
    fn bounds(&self, out: Rect) -> ((f64, f64), (f64, f64));

    /// The interval of x among the source positions of outputs in `out` whose y is in the interval `y`. `None` if nothing
    /// narrower than `bounds` is known.
    fn columns(&self, out: Rect, y: (f64, f64)) -> Option<(f64, f64)> {
        let _ = (out, y);
        None
    }

    /// The kernel of `filters.c` that samples at these positions, and the parameters of the map.
    fn device(&self) -> Option<(&'static str, Vec<f32>)> {
        None
    }
}

/// Bilinear sampling of a plane of `size` at the positions of `map`.
#[derive(Clone, Debug)]
pub struct Warp<M> {
    pub name: &'static str,
    pub map: M,
    pub size: Size,
    pub border: Border,
    pub weight: f64,
    /// The windows of the same positions, where columns and rows change by themselves.
    pub windows: Option<Separable>,
    /// The operation on every sample.
    pub before: Option<PointOp>,
    /// The operation on every output.
    pub after: Option<PointOp>,
}

impl<M: Bounded + Clone + 'static> Warp<M> {
    pub fn stage(self) -> Arc<dyn Stage> {
        Arc::new(self)
    }

    /// Whether the rows before `end` may have taps that were moved there from the plane's edge.
    fn at_edge(&self, end: i32) -> bool {
        end + 2 > self.size.h as i32
    }

    fn tap(&self, x: i32, y: i32) -> Option<bilinear::Tap> {
        let (sx, sy) = self.map.at(Scalar, x as f32, y as f32);
        bilinear::tap(sx, sy, self.size, self.border)
    }
}

impl<M: Bounded + Clone + 'static> Stage for Warp<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        if let Some(t) = self.tap(x, y) {
            taps.extend([
                (t.x, t.y),
                (t.x + 1, t.y),
                (t.x, t.y + 1),
                (t.x + 1, t.y + 1),
            ]);
        }
    }

    fn combine(&self, x: i32, y: i32, s: &[f32]) -> f32 {
        let of = |op, v| with_point_op!(op, |f| f.of(Scalar, v));
        let v = match (self.tap(x, y), s, self.border) {
            (Some(t), &[a, b, c, d], _) => {
                let [a, b, c, d] = [a, b, c, d].map(|v| of(self.before, v));
                bilinear::blend([a, b], [c, d], t.fx, t.fy)
            }
            (_, _, Border::Constant(fill)) => fill,
            (_, _, Border::Replicate) => 0.0,
        };
        of(self.after, v)
    }

    fn source(&self, out: Rect) -> Rect {
        if out.is_empty() {
            return Rect::default();
        }
        let ((x0, x1), (y0, y1)) = self.map.bounds(out);
        // One sample more on either side than exact arithmetic needs, for the rounding of coordinates to f32.
        let low = |v: f64| (v.clamp(-1e9, 1e9)).floor() as i32 - 1;
        let high = |v: f64| (v.clamp(-1e9, 1e9)).floor() as i32 + 3;
        let rect = Rect {
            x0: low(x0),
            y0: low(y0),
            x1: high(x1),
            y1: high(y1),
        };
        let plane = Rect::of(self.size);
        let read = match self.border {
            Border::Replicate => rect.clamp_to(self.size),
            // Positions outside the plane are fill and read nothing.
            Border::Constant(_) => Rect {
                x0: rect.x0.max(plane.x0),
                y0: rect.y0.max(plane.y0),
                x1: rect.x1.min(plane.x1),
                y1: rect.y1.min(plane.y1),
            },
        };
        if read.is_empty() {
            return Rect::default();
        }
        // At the last column and row the tap moves one sample back.
        Rect {
            x0: read.x0.min(plane.x1 - 2).max(0),
            y0: read.y0.min(plane.y1 - 2).max(0),
            ..read
        }
    }

    fn source_columns(&self, out: Rect, rows: Range<i32>) -> Range<i32> {
        let all = self.source(out);
        let all = all.x0..all.x1;
        // A position reads the row above and below it, and repeated edges bring in positions from outside.
        let around = (f64::from(rows.start) - 1.5, f64::from(rows.end) + 0.5);
        match self.map.columns(out, around) {
            Some((low, high)) if self.border != Border::Replicate && !self.at_edge(rows.end) => {
                let start = all.start.max((low.clamp(-1e9, 1e9)).floor() as i32 - 1);
                let end = all.end.min((high.clamp(-1e9, 1e9)).floor() as i32 + 3);
                // The last column's tap moves one sample back.
                start.min(self.size.w as i32 - 2).max(all.start)..end.max(start)
            }
            _ => all,
        }
    }

    fn rows(
        &self,
        context: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [&mut [f32]],
    ) {
        with_point_op!(self.before, |before| with_point_op!(self.after, |after| {
            let sampling = Sampling {
                map: &self.map,
                border: self.border,
                plane: self.size,
                before,
                after,
            };
            bilinear::rows(context.simd, &sampling, &input[0], (x0, y), out)
        }))
    }

    fn resample(&self) -> Option<&dyn Resample> {
        (self.before.is_none() && self.after.is_none()).then_some(self)
    }

    fn separable(&self) -> Option<Separable> {
        let plain = self.before.is_none() && self.after.is_none();
        self.windows.clone().filter(|_| plain)
    }

    fn batched(&self) -> Option<&dyn Batched> {
        self.before.is_none().then_some(self)
    }

    fn fuse_after(&self, op: PointOp) -> Option<Arc<dyn Stage>> {
        let after = match self.after {
            None => Some(op),
            Some(first) => point_op::joined(first, op),
        };
        after.filter(|&op| pointwise::has_kernel(op)).map(|op| {
            Warp {
                after: Some(op),
                ..self.clone()
            }
            .stage()
        })
    }

    fn fuse_before(&self, op: PointOp) -> Option<Arc<dyn Stage>> {
        let free = self.before.is_none() && pointwise::has_kernel(op);
        free.then(|| {
            Warp {
                before: Some(op),
                ..self.clone()
            }
            .stage()
        })
    }

    fn device(&self) -> Option<DeviceStage> {
        if self.before.is_some() || self.after.is_some() {
            return None;
        }
        let (kernel, map) = self.map.device()?;
        let border = [
            u32::from(self.border == Border::Replicate),
            self.border.fill().to_bits(),
        ];
        let map = map.into_iter().map(f32::to_bits);
        Some(DeviceStage::kernel(
            kernel,
            border.into_iter().chain(map).collect(),
        ))
    }

    fn weight(&self) -> f64 {
        self.weight
    }
}

impl<M: Bounded + Clone + 'static> Resample for Warp<M> {
    fn taps_run(&self, simd: Simd, xs: &[i32], ys: &[i32], taps: &mut TapRun) {
        taps::positions(simd, &self.map, self.border, self.size, xs, ys, taps);
    }

    fn fill(&self) -> f32 {
        self.border.fill()
    }
}

impl<M: Bounded + Clone + 'static> Batched for Warp<M> {
    fn row(&self, simd: Simd, block: &Block<'_>, at: (i32, i32), out: Out<'_, '_>) {
        with_point_op!(self.after, |after| {
            let sampling = Sampling {
                map: &self.map,
                border: self.border,
                plane: self.size,
                before: Same,
                after,
            };
            bilinear::batched::row(simd, &sampling, block, at, out)
        })
    }

    /// Only if all that counts afterwards is whether an output is above 0.
    fn accepts_step(&self, simd: Simd, op: PointOp, out: Rect) -> bool {
        let large = matches!(op, PointOp::Above(t) if t >= positive::LEAST);
        let asks = self.after == Some(PointOp::Step(0.0)) && self.before.is_none();
        large && asks && positive::keeps_positive(simd, (&self.map, self.border, self.size), out)
    }
}

/// x and y are affine in the output position: (a·x + b·y + c, d·x + e·y + f), each row's constant part rounded first.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    /// Offset of the output's centre, subtracted from the output position.
    pub centre: (f32, f32),
    /// Position the output's centre reads.
    pub target: (f32, f32),
    /// a, b.
    pub x: (f32, f32),
    /// d, e.
    pub y: (f32, f32),
}

impl Map for Affine {
    #[inline(always)]
    fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
        let dx = s.sub(x, s.splat(self.centre.0));
        let dy = s.sub(y, s.splat(self.centre.1));
        let row = (
            s.mul_add(s.splat(self.x.1), dy, s.splat(self.target.0)),
            s.mul_add(s.splat(self.y.1), dy, s.splat(self.target.1)),
        );
        (
            s.mul_add(s.splat(self.x.0), dx, row.0),
            s.mul_add(s.splat(self.y.0), dx, row.1),
        )
    }

    /// Affine maps are monotonic, and rounding keeps the order of numbers.
    fn monotonic(&self) -> Option<(bool, bool)> {
        Some((self.x.0 >= 0.0, self.y.0 >= 0.0))
    }
}

impl Bounded for Affine {
    fn bounds(&self, out: Rect) -> ((f64, f64), (f64, f64)) {
        let axis = |(cx, cy): (f32, f32), target: f32| {
            let term = |c: f32, low: i32, end: i32, centre: f32| {
                let c = f64::from(c);
                let ends = [low, end - 1].map(|v| c * (f64::from(v) - f64::from(centre)));
                (ends[0].min(ends[1]), ends[0].max(ends[1]))
            };
            let h = term(cx, out.x0, out.x1, self.centre.0);
            let v = term(cy, out.y0, out.y1, self.centre.1);
            (f64::from(target) + h.0 + v.0, f64::from(target) + h.1 + v.1)
        };
        (axis(self.x, self.target.0), axis(self.y, self.target.1))
    }

    fn device(&self) -> Option<(&'static str, Vec<f32>)> {
        let Affine {
            centre,
            target,
            x,
            y,
        } = *self;
        let map = [centre, target, x, y];
        Some((
            "filters_affine",
            map.into_iter().flat_map(|(a, b)| [a, b]).collect(),
        ))
    }

    /// The positions of a rectangle form a parallelogram. This is the extent of its intersection with a strip.
    fn columns(&self, out: Rect, (top, bottom): (f64, f64)) -> Option<(f64, f64)> {
        let corner = |x: i32, y: i32| {
            let (dx, dy) = (
                f64::from(x) - f64::from(self.centre.0),
                f64::from(y) - f64::from(self.centre.1),
            );
            let axis = |(cx, cy): (f32, f32), target: f32| {
                f64::from(target) + f64::from(cx) * dx + f64::from(cy) * dy
            };
            (axis(self.x, self.target.0), axis(self.y, self.target.1))
        };
        let corners = [
            corner(out.x0, out.y0),
            corner(out.x1 - 1, out.y0),
            corner(out.x1 - 1, out.y1 - 1),
            corner(out.x0, out.y1 - 1),
        ];
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for i in 0..4 {
            let (a, b) = (corners[i], corners[(i + 1) % 4]);
            let (from, to) = (a.1.min(b.1).max(top), a.1.max(b.1).min(bottom));
            if from > to {
                continue;
            }
            for y in [from, to] {
                let x = if a.1 == b.1 {
                    a.0
                } else {
                    a.0 + (b.0 - a.0) * (y - a.1) / (b.1 - a.1)
                };
                low = low.min(x);
                high = high.max(x);
            }
            if a.1 == b.1 {
                low = low.min(b.0);
                high = high.max(b.0);
            }
        }
        (low <= high).then_some((low, high))
    }
}
