//! `gaussian`: separable Gaussian smoothing, radius ceil(3 sigma), weights normalised.

use std::sync::Arc;

use evener_runtime::Simd;

use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::lines::Lines;
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
    /// Weights from -radius to radius; each is rounded once, after they were made to add up to 1.
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

/// Runs `vertical` over the columns that outputs `x0..x0 + n` with `radius` need, into the row `temp`, with the edge
/// samples repeated beyond the plane, which is `plane_width` wide. Gives the first `n + 2 * radius` samples of the row,
/// the first at column x0 - radius.
fn padded<'t>(
    lines: &Lines<'_>,
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

/// The samples that neighbouring outputs read, tap by tap.
trait Taps {
    /// Those of tap `k` for the outputs from `at` on.
    fn tap(&self, k: usize, at: usize) -> &[f32];
}

/// Taps one below the other.
struct Down<'a> {
    lines: Lines<'a>,
    /// Row of tap 0; it may lie above the plane.
    top: i32,
    /// The last row of the plane.
    bottom: i32,
    /// Where in a row output 0 lies.
    first: usize,
}

impl Taps for Down<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.lines.row((self.top + k as i32).clamp(0, self.bottom))[self.first + at..]
    }
}

/// Taps side by side, tap 0 of output 0 first.
struct Along<'a>(&'a [f32]);

impl Taps for Along<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.0[k + at..]
    }
}

/// Taps one below the other, gathered: tap k of the outputs begins at `k * stride`.
struct Gathered<'a> {
    samples: &'a [f32],
    stride: usize,
}

impl Taps for Gathered<'_> {
    #[inline(always)]
    fn tap(&self, k: usize, at: usize) -> &[f32] {
        &self.samples[k * self.stride + at..]
    }
}

/// Outputs computed together, few enough that their sums stay in the first cache.
const RUN: usize = 512;

#[inline(always)]
fn weigh_body<T: Taps>(weights: &[f32], from: &T, out: &mut [f32]) {
    // Four taps at a time, so that a sum is loaded and stored once for four of them; the order is that of one by one.
    let (fours, rest) = weights.as_chunks::<4>();
    for (run, at) in out.chunks_mut(RUN).zip((0..).step_by(RUN)) {
        let n = run.len();
        run.fill(0.0);
        for (w, k) in fours.iter().zip((0..).step_by(4)) {
            let (a, b) = (&from.tap(k, at)[..n], &from.tap(k + 1, at)[..n]);
            let (c, d) = (&from.tap(k + 2, at)[..n], &from.tap(k + 3, at)[..n]);
            for ((((sum, a), b), c), d) in run.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let two = w[1].mul_add(*b, w[0].mul_add(*a, *sum));
                *sum = w[3].mul_add(*d, w[2].mul_add(*c, two));
            }
        }
        for (w, k) in rest.iter().zip(4 * fours.len()..) {
            for (sum, s) in run.iter_mut().zip(from.tap(k, at)) {
                *sum = w.mul_add(*s, *sum);
            }
        }
    }
}

for_each_level! {
    /// Sum of weight times sample over the taps, in order.
    fn weigh<T: Taps>(weights: &[f32], from: &T, out: &mut [f32]) = weigh_body;
}

#[inline(always)]
fn add_body(weight: f32, samples: &[f32], sums: &mut [f32]) {
    for (sum, s) in sums.iter_mut().zip(samples) {
        *sum = weight.mul_add(*s, *sum);
    }
}

for_each_level! {
    /// Adds weight times sample to each sum.
    fn add(weight: f32, samples: &[f32], sums: &mut [f32]) = add_body;
}

/// Sum of weight times sample, added in order.
fn weighted(weights: &[f32], samples: impl Iterator<Item = f32>) -> f32 {
    weights
        .iter()
        .zip(samples)
        .fold(0.0, |sum, (w, s)| w.mul_add(s, sum))
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
        let column = |c: usize| weighted(&self.weights, samples[c..].iter().step_by(taps).copied());
        weighted(&self.weights, (0..taps).map(column))
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (n, taps) = (out.len(), self.weights.len());
        let mut column = [0.0; RUN];
        for (run, at) in out.chunks_mut(RUN).zip((0..).step_by(RUN)) {
            let column = &mut column[..run.len()];
            run.fill(0.0);
            for (c, &weight) in self.weights.iter().enumerate() {
                let down = Gathered {
                    samples: &samples[c * n + at..],
                    stride: taps * n,
                };
                weigh(simd, &self.weights, &down, column);
                add(simd, weight, column, run);
            }
        }
    }

    fn source(&self, out: Rect) -> Rect {
        let r = self.radius() as i32;
        out.grow(r, r)
    }

    fn row(&self, cx: &mut RowContext<'_>, input: &[Lines<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let (radius, n, simd) = (self.radius(), out.len(), cx.simd);
        let (width, bottom) = (self.size.w as i32, self.size.h as i32 - 1);
        let temp = cx.row(n + 2 * radius);
        let columns = padded(&input[0], width, x0, n, radius, temp, |columns, t| {
            let (lines, top) = (input[0], y - radius as i32);
            weigh(
                simd,
                &self.weights,
                &Down {
                    lines,
                    top,
                    bottom,
                    first: columns.start,
                },
                t,
            );
        });
        weigh(simd, &self.weights, &Along(columns), out);
    }

    fn weight(&self) -> f64 {
        2.0 * self.weights.len() as f64
    }
}
