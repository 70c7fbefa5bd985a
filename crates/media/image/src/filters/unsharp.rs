//! `unsharp`: what a smoothed picture lacks is added to the picture: v + amount·(v - smoothed). The smoothing is binomial,
//! as in FFmpeg.

use std::sync::Arc;

use evener_runtime::Simd;

use super::gaussian::{Edges, GaussianStage};
use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::args::{ArgError, Args};
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{Component, Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "unsharp",
    aliases: &[],
    about: "sharpen, or smooth by a negative amount",
    args: &[
        Arg::optional(
            "lx",
            "5",
            "luma: columns that are smoothed over, odd, 3 to 23",
        )
        .also(&["luma_msize_x"]),
        Arg::optional("ly", "5", "luma: rows").also(&["luma_msize_y"]),
        Arg::optional("la", "1", "luma: the amount").also(&["luma_amount"]),
        Arg::optional("cx", "5", "chroma: columns").also(&["chroma_msize_x"]),
        Arg::optional("cy", "5", "chroma: rows").also(&["chroma_msize_y"]),
        Arg::optional("ca", "0", "chroma: the amount").also(&["chroma_amount"]),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Unsharp {
            luma: Sharpening::of(args, ["lx", "ly", "la"])?,
            chroma: Sharpening::of(args, ["cx", "cy", "ca"])?,
        }))
    },
};

struct Unsharp {
    luma: Sharpening,
    chroma: Sharpening,
}

struct Sharpening {
    columns: u32,
    rows: u32,
    amount: f32,
}

impl Sharpening {
    fn of(args: &Args<'_>, [columns, rows, amount]: [&str; 3]) -> Result<Sharpening, ArgError> {
        let odd = |name| {
            let usable = |v: f64| v % 2.0 == 1.0 && (3.0..=23.0).contains(&v);
            let count = args.number_where(name, usable, "an odd number from 3 to 23");
            count.map(|count| count as u32)
        };
        let usable = |v| (-2.0..=5.0).contains(&v);
        Ok(Sharpening {
            columns: odd(columns)?,
            rows: odd(rows)?,
            amount: args.number_where(amount, usable, "from -2 to 5")? as f32,
        })
    }
}

/// The binomial coefficients of `taps` samples, divided by their sum.
fn binomial(taps: u32) -> Vec<f32> {
    let mut weights = vec![1.0_f64];
    for _ in 1..taps {
        let before = weights.iter().copied().chain([0.0]);
        let after = [0.0].into_iter().chain(weights.iter().copied());
        weights = before.zip(after).map(|(a, b)| (a + b) / 2.0).collect();
    }
    weights.into_iter().map(|w| w as f32).collect()
}

impl Filter for Unsharp {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let of = match plane.component {
            Component::Cb | Component::Cr => &self.chroma,
            Component::Luma | Component::Rgb => &self.luma,
        };
        if of.amount == 0.0 {
            return input;
        }
        let smooth = GaussianStage {
            sigma: None,
            size: plane.size,
            down: binomial(of.rows),
            across: binomial(of.columns),
            edges: Edges::Repeat,
        };
        let smoothed = graph.push(Arc::new(smooth), &[input], size);
        let amount = of.amount;
        graph.push(Arc::new(Sharpen { amount }), &[input, smoothed], size)
    }
}

/// From a sample and the same one smoothed.
#[derive(Debug)]
struct Sharpen {
    amount: f32,
}

#[inline(always)]
fn sharper(amount: f32, v: f32, smoothed: f32) -> f32 {
    v + amount * (v - smoothed)
}

#[inline(always)]
fn sharpen_body(amount: f32, from: &[f32], smoothed: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (from, smoothed) = (&from[..n], &smoothed[..n]);
    for i in 0..n {
        out[i] = sharper(amount, from[i], smoothed[i]);
    }
}

for_each_level! {
    fn sharpen(amount: f32, from: &[f32], smoothed: &[f32], out: &mut [f32]) = sharpen_body;
}

impl Stage for Sharpen {
    fn name(&self) -> &'static str {
        "sharpen"
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
        sharper(self.amount, samples[0], samples[1])
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (from, smoothed) = samples.split_at(out.len());
        sharpen(simd, self.amount, from, smoothed, out);
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
        let [from, smoothed] = [0, 1].map(|i| {
            let from = (x0 - input[i].rect().x0) as usize;
            &input[i].row(y)[from..from + out.len()]
        });
        sharpen(cx.simd, self.amount, from, smoothed, out);
    }

    fn weight(&self) -> f64 {
        3.0
    }
}
