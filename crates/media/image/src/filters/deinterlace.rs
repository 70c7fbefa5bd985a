//! `deinterlace=keep=top`: one field of each frame is kept, and the rows of the other one become the mean of those above and below.

use std::sync::Arc;

use super::Filter;
use crate::for_each_level;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};

/// The name of its stage.
pub const NAME: &str = "deinterlace";

/// It, by one field.
#[derive(Clone, Copy)]
pub struct Deinterlace {
    /// The first row that is kept.
    pub kept: i32,
}

impl Filter for Deinterlace {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let stage = DeinterlaceStage {
            kept: self.kept,
            height: plane.size.h as i32,
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

#[derive(Debug)]
struct DeinterlaceStage {
    kept: i32,
    height: i32,
}

impl DeinterlaceStage {
    /// The rows whose mean row `y` is; at an edge the only one beside it.
    fn rows(&self, y: i32) -> (i32, i32) {
        if y % 2 == self.kept || self.height == 1 {
            return (y, y);
        }
        let (above, below) = (y - 1, y + 1);
        match (above < 0, below == self.height) {
            (true, _) => (below, below),
            (_, true) => (above, above),
            _ => (above, below),
        }
    }
}

#[inline(always)]
fn mean(a: f32, b: f32) -> f32 {
    (a + b) * 0.5
}

#[inline(always)]
fn means_body(above: &[f32], below: &[f32], out: &mut [f32]) {
    let n = out.len();
    let (above, below) = (&above[..n], &below[..n]);
    for i in 0..n {
        out[i] = mean(above[i], below[i]);
    }
}

for_each_level! {
    fn means(above: &[f32], below: &[f32], out: &mut [f32]) = means_body;
}

impl Stage for DeinterlaceStage {
    fn name(&self) -> &'static str {
        NAME
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let (above, below) = self.rows(y);
        taps.extend([(x, above), (x, below)]);
    }

    fn reads(&self) -> usize {
        2
    }

    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        mean(samples[0], samples[1])
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(0, 1)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let (above, below) = self.rows(y);
        let from = (x0 - input[0].rect().x0) as usize;
        let [above, below] = [above, below].map(|y| &input[0].row(y)[from..from + out.len()]);
        means(cx.simd, above, below, out);
    }

    fn weight(&self) -> f64 {
        2.0
    }
}
