//! `median`: the fifth of the nine samples around each output, in order of value.

use evener_runtime::Simd;

use super::window::{Window, WindowStage};
use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::graph::kinds::Chosen;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "median",
    aliases: &[],
    about: "the median of 3x3 samples, which removes single outliers",
    args: &[
        Arg::optional("radius", "1", "samples on each side; only 1"),
        Arg::optional(
            "planes",
            "15",
            "the planes as a sum: 1 for luma, 2 and 4 for chroma",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        args.number_where("radius", |v| v == 1.0, "1, the only radius here")?;
        let chosen = args.planes("planes")?;
        Ok(Box::new(OfPlanes { chosen }))
    },
};

struct OfPlanes {
    chosen: Chosen,
}

#[derive(Debug)]
struct Median;

impl Filter for OfPlanes {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.chosen.has(plane).map(|_| plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        match self.chosen.has(plane) {
            Ok(true) => graph.push(WindowStage::shared(Median, plane.size), &[input], size),
            _ => input,
        }
    }
}

#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn middle(a: f32, b: f32, c: f32) -> f32 {
    most(least(a, b), least(most(a, b), c))
}

/// The median of three columns: the middle of the largest least, the middle middle and the least largest.
#[inline(always)]
fn median(a: [f32; 3], b: [f32; 3], c: [f32; 3]) -> f32 {
    let low = |c: [f32; 3]| least(least(c[0], c[1]), c[2]);
    let high = |c: [f32; 3]| most(most(c[0], c[1]), c[2]);
    let mid = |c: [f32; 3]| middle(c[0], c[1], c[2]);
    middle(
        most(most(low(a), low(b)), low(c)),
        middle(mid(a), mid(b), mid(c)),
        least(least(high(a), high(b)), high(c)),
    )
}

#[inline(always)]
fn medians_body(rows: &[&[f32]; 3], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c] = rows;
    let (a, b, c) = (&a[..n + 2], &b[..n + 2], &c[..n + 2]);
    for i in 0..n {
        let column = |at: usize| [a[i + at], b[i + at], c[i + at]];
        out[i] = median(column(0), column(1), column(2));
    }
}

for_each_level! {
    fn medians(rows: &[&[f32]; 3], out: &mut [f32]) = medians_body;
}

impl Window for Median {
    const NAME: &'static str = "median";
    const RADIUS: usize = 1;
    const WEIGHT: f64 = 24.0;

    fn value(&self, s: &[f32]) -> f32 {
        let column = |at: usize| [s[at], s[at + 3], s[at + 6]];
        median(column(0), column(1), column(2))
    }

    fn row(&self, simd: Simd, rows: &[&[f32]], out: &mut [f32]) {
        medians(simd, &[rows[0], rows[1], rows[2]], out);
    }
}
