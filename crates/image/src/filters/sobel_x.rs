//! `sobel_x`: cross-correlation with \[-1 0 1; -2 0 2; -1 0 1\], the horizontal gradient.

use std::sync::Arc;

use evener_runtime::Simd;

use super::blur::square;
use super::{Entry, Filter, Role};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::stencil::{self, smooth};
use crate::lines::Lines;
use crate::stage::{Plane, RowContext, Stage};

pub const ENTRY: Entry = Entry {
    name: "sobel_x",
    aliases: &[],
    about: "horizontal gradient, 3x3 Sobel",
    args: &[],
    role: Role::Luma,
    build: |_| Ok(Box::new(SobelX)),
};

struct SobelX;

impl Filter for SobelX {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(Arc::new(SobelXStage { size: plane.size }), &[input], size)
    }
}

/// The horizontal gradient on a plane of `size`.
#[derive(Debug)]
pub(super) struct SobelXStage {
    pub(super) size: Size,
}

/// The gradient from a 3x3 neighbourhood, row after row.
pub(super) fn gradient(s: &[f32]) -> f32 {
    smooth(s[2], s[5], s[8]) - smooth(s[0], s[3], s[6])
}

impl Stage for SobelXStage {
    fn name(&self) -> &'static str {
        "sobel_x"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.extend(square().iter().map(|(dx, dy)| (x + dx, y + dy)));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(square())
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        gradient(samples)
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        stencil::sobel_x_taps(simd, samples, out);
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(1, 1)
    }

    fn row(&self, cx: &mut RowContext<'_>, input: &[Lines<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let [a, b, c] = stencil::three(&input[0], self.size.h as i32, y);
        let (n, width, simd) = (out.len(), self.size.w as i32, cx.simd);
        let [temp] = cx.rows(n + 2);
        let [columns] = stencil::padded(&input[0], width, x0, n, 1, [temp], |r, [t]| {
            stencil::smooth_rows(simd, &a[r.clone()], &b[r.clone()], &c[r], t)
        });
        stencil::difference_columns(simd, columns, out);
    }

    fn weight(&self) -> f64 {
        6.0
    }
}
