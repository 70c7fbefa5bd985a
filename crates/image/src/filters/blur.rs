//! `blur`: 3x3 binomial smoothing, \[1 2 1\]ᵀ\[1 2 1\] / 16.

use std::sync::Arc;

use evener_runtime::Simd;

use super::{Entry, Filter, Role};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::stencil::{self, smooth};
use crate::lines::Lines;
use crate::stage::{Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "blur",
    aliases: &[],
    about: "3x3 smoothing, [1 2 1] in both directions",
    args: &[],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Blur)),
};

struct Blur;

impl Filter for Blur {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(Arc::new(BlurStage { size: plane.size }), &[input], size)
    }
}

#[derive(Debug)]
struct BlurStage {
    size: Size,
}

/// Offsets of a 3x3 neighbourhood, row after row.
pub(super) fn square() -> Vec<(i32, i32)> {
    (-1..=1)
        .flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)))
        .collect()
}

impl Stage for BlurStage {
    fn name(&self) -> &'static str {
        "blur"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.extend(square().iter().map(|(dx, dy)| (x + dx, y + dy)));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(square())
    }

    fn combine(&self, _x: i32, _y: i32, s: &[f32]) -> f32 {
        let column = |c: usize| smooth(s[c], s[c + 3], s[c + 6]);
        smooth(column(0), column(1), column(2)) * (1.0 / 16.0)
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        stencil::blur_taps(simd, samples, out);
    }

    fn source(&self, out: Rect) -> Rect {
        stencil::around(out, 1, 1)
    }

    fn row(&self, cx: &mut RowContext<'_>, input: &[Lines<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let [a, b, c] = stencil::three(&input[0], self.size.h as i32, y);
        let (n, width, simd) = (out.len(), self.size.w as i32, cx.simd);
        let [temp] = cx.rows(n + 2);
        let [columns] = stencil::padded(&input[0], width, x0, n, 1, [temp], |r, [t]| {
            stencil::smooth_rows(simd, &a[r.clone()], &b[r.clone()], &c[r], t)
        });
        stencil::blur_columns(simd, columns, out);
    }

    fn weight(&self) -> f64 {
        9.0
    }
}
