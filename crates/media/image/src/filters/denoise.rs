//! `denoise`: a bilateral filter. Each output is the mean of 5x5 samples, weighted by their distance and by how like the
//! middle one they are (Tomasi and Manduchi, Bilateral Filtering for Gray and Color Images, 1998). Samples that differ by
//! `strength` or more count for nothing, so edges stay.
//!
//! The weight of a difference d is (1 - (d / strength)²)², Tukey's biweight, which needs no exponential.

use evener_runtime::Simd;

use super::window::{ROWS, Window, WindowStage};
use super::{Arg, Entry, Filter, Role};
use crate::for_each_level;
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "denoise",
    aliases: &[],
    about: "remove noise and keep edges: bilateral, 5x5",
    args: &[Arg::optional(
        "strength",
        "0.1",
        "the difference that counts as an edge; 1 is white",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let usable = |v| (0.001..=10.0).contains(&v);
        let strength = args.number_where("strength", usable, "from 0.001 to 10")?;
        Ok(Box::new(Denoise {
            sharpness: (strength * strength).recip() as f32,
        }))
    },
};

/// Weights by distance along one side: a Gaussian of sigma 1.5 with 1 in the middle.
const NEAR: [f32; ROWS] = [0.411_112_3, 0.800_737_4, 1.0, 0.800_737_4, 0.411_112_3];
/// Outputs whose sums lie in registers or nearby.
const RUN: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Denoise {
    /// 1 / strength².
    sharpness: f32,
}

impl Filter for Denoise {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(WindowStage::shared(*self, plane.size), &[input], size)
    }
}

/// The weight of a sample at a place of weight `near`, beside one in the middle.
#[inline(always)]
fn weight(near: f32, sharpness: f32, middle: f32, sample: f32) -> f32 {
    let d = sample - middle;
    let like = 1.0 - d * d * sharpness;
    let like = if like > 0.0 { like } else { 0.0 };
    near * (like * like)
}

#[inline(always)]
fn means_body(denoise: Denoise, rows: &[&[f32]; ROWS], out: &mut [f32]) {
    let n = out.len();
    let [a, b, c, d, e] = rows;
    let length = n + ROWS - 1;
    let rows = [
        &a[..length],
        &b[..length],
        &c[..length],
        &d[..length],
        &e[..length],
    ];
    for (number, run) in out.chunks_mut(RUN).enumerate() {
        let (at, n) = (number * RUN, run.len());
        let (mut sums, mut weights) = ([0.0; RUN], [0.0; RUN]);
        let (sums, weights) = (&mut sums[..n], &mut weights[..n]);
        let middle = &rows[ROWS / 2][at + ROWS / 2..][..n];
        for (y, row) in rows.iter().enumerate() {
            for (x, across) in NEAR.iter().enumerate() {
                let near = NEAR[y] * across;
                let samples = &row[at + x..][..n];
                for i in 0..n {
                    let w = weight(near, denoise.sharpness, middle[i], samples[i]);
                    sums[i] += w * samples[i];
                    weights[i] += w;
                }
            }
        }
        for i in 0..n {
            run[i] = sums[i] / weights[i];
        }
    }
}

for_each_level! {
    fn means(denoise: Denoise, rows: &[&[f32]; ROWS], out: &mut [f32]) = means_body;
}

impl Window for Denoise {
    const NAME: &'static str = "denoise";
    const RADIUS: usize = ROWS / 2;
    const WEIGHT: f64 = 220.0;

    fn value(&self, samples: &[f32]) -> f32 {
        let middle = samples[samples.len() / 2];
        let (mut sum, mut total) = (0.0, 0.0);
        for (row, down) in samples.chunks_exact(ROWS).zip(NEAR) {
            for (&s, across) in row.iter().zip(NEAR) {
                let w = weight(down * across, self.sharpness, middle, s);
                sum += w * s;
                total += w;
            }
        }
        sum / total
    }

    fn row(&self, simd: Simd, rows: &[&[f32]], out: &mut [f32]) {
        let [a, b, c, d, e] = *rows else {
            unreachable!("five rows, by the radius")
        };
        means(simd, *self, &[a, b, c, d, e], out);
    }
}
