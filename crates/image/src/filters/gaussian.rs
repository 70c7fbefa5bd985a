//! `gaussian`: separable Gaussian smoothing, radius ceil(3 sigma), weights normalised.

use std::sync::Arc;

use evener_runtime::Simd;

use super::{Arg, Entry, Filter, Role};
use crate::device::{DeviceStage, Kernel};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::weighted_sum::{
    GatheredTaps, HorizontalTaps, RUN, VerticalTaps, add, weighted_sum, weighted_sums,
};
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

/// The widest: 301 samples from end to end.
const MOST: f64 = 50.0;

pub const ENTRY: Entry = Entry {
    name: "gaussian",
    aliases: &[],
    about: "Gaussian smoothing",
    args: &[Arg::optional(
        "sigma",
        "1",
        "the standard deviation in samples",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let usable = |sigma| sigma > 0.0 && sigma <= MOST;
        let sigma = args.number_where("sigma", usable, "more than 0 and at most 50")?;
        Ok(Box::new(Gaussian { sigma }))
    },
};

struct Gaussian {
    sigma: f64,
}

impl Gaussian {
    /// Weights from -radius to radius, normalised before they are rounded.
    fn weights(&self) -> Vec<f32> {
        let radius = (3.0 * self.sigma).ceil() as i32;
        let bell = |d: i32| (-0.5 * (f64::from(d) / self.sigma).powi(2)).exp();
        let sum: f64 = (-radius..=radius).map(bell).sum();
        (-radius..=radius).map(|d| (bell(d) / sum) as f32).collect()
    }
}

impl Filter for Gaussian {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let stage = GaussianStage {
            size: plane.size,
            weights: self.weights(),
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

/// Rows are added from the upper to the lower, then columns from left to right.
#[derive(Debug)]
struct GaussianStage {
    size: Size,
    weights: Vec<f32>,
}

impl GaussianStage {
    fn radius(&self) -> usize {
        self.weights.len() / 2
    }
}

/// Runs `vertical` over the columns that outputs `x0..x0 + n` with `radius` need, into the row `temp`, and repeats the edge
/// samples beyond the plane, which is `plane_width` wide. Returns `n + 2 * radius` samples from column x0 - radius on.
fn padded<'t>(
    lines: &RowView<'_>,
    plane_width: i32,
    x0: i32,
    n: usize,
    radius: usize,
    temp: &'t mut [f32],
    vertical: impl FnOnce(std::ops::Range<usize>, &mut [f32]),
) -> &'t mut [f32] {
    let (r, last) = (radius as i32, plane_width - 1);
    let (from, to) = ((x0 - r).max(0), (x0 + n as i32 - 1 + r).min(last));
    let origin = lines.rect().x0;
    let left = (from - (x0 - r)) as usize;
    let count = (to - from + 1) as usize;
    let temp = &mut temp[..n + 2 * radius];
    let columns = (from - origin) as usize..(to - origin + 1) as usize;
    vertical(columns, &mut temp[left..left + count]);
    let (first, end) = (temp[left], temp[left + count - 1]);
    temp[..left].fill(first);
    temp[left + count..].fill(end);
    temp
}

impl Stage for GaussianStage {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let r = self.radius() as i32;
        taps.extend((y - r..=y + r).flat_map(|y| (x - r..=x + r).map(move |x| (x, y))));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        let mut offsets = Vec::new();
        self.taps(0, 0, &mut offsets);
        Some(offsets)
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        let taps = self.weights.len();
        let column =
            |c: usize| weighted_sum(&self.weights, samples[c..].iter().step_by(taps).copied());
        weighted_sum(&self.weights, (0..taps).map(column))
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (n, taps) = (out.len(), self.weights.len());
        let mut column = [0.0; RUN];
        for (run, at) in out.chunks_mut(RUN).zip((0..).step_by(RUN)) {
            let column = &mut column[..run.len()];
            run.fill(0.0);
            for (c, &weight) in self.weights.iter().enumerate() {
                let down = GatheredTaps {
                    samples: &samples[c * n + at..],
                    stride: taps * n,
                };
                weighted_sums(simd, &self.weights, &down, column);
                add(simd, weight, column, run);
            }
        }
    }

    fn source(&self, out: Rect) -> Rect {
        let r = self.radius() as i32;
        out.grow(r, r)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let (radius, n, simd) = (self.radius(), out.len(), cx.simd);
        let (width, bottom) = (self.size.w as i32, self.size.h as i32 - 1);
        let temp = cx.row(n + 2 * radius);
        let columns = padded(&input[0], width, x0, n, radius, temp, |columns, t| {
            let (lines, top) = (input[0], y - radius as i32);
            weighted_sums(
                simd,
                &self.weights,
                &VerticalTaps {
                    lines,
                    top,
                    bottom,
                    first: columns.start,
                },
                t,
            );
        });
        weighted_sums(simd, &self.weights, &HorizontalTaps(columns), out);
    }

    fn device(&self) -> Option<DeviceStage> {
        let pass = |column: u32| {
            let head = [column, self.weights.len() as u32];
            let weights = self.weights.iter().map(|weight| weight.to_bits());
            Kernel::new("filters_smooth", head.into_iter().chain(weights).collect())
        };
        Some(DeviceStage::Kernels(vec![pass(1), pass(0)]))
    }

    fn weight(&self) -> f64 {
        2.0 * self.weights.len() as f64
    }
}
