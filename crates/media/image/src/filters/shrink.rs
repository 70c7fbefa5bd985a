//! Resampling of a plane in one direction: each output is a weighted sum of the samples around its position. The methods
//! are those of [`Method`].

use std::sync::Arc;

use crate::device::DeviceStage;
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::weighted_sum::{
    VerticalTaps, Windows, weighted_sum, weighted_sums, window_sums,
};
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};
use crate::weights::{Method, Separable, Weights};

/// The side of a plane that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The width: outputs read samples of one row.
    Horizontal,
    /// The height: outputs read samples of one column.
    Vertical,
}

/// Adds the stage that changes a side from `from` to `to` samples, if they differ.
pub(super) fn push(
    method: Method,
    direction: Direction,
    (from, to): (u32, u32),
    input: Port,
    graph: &mut PlaneGraph,
) -> Port {
    if from == to {
        return input;
    }
    let before = graph.size_of(input);
    let size = match direction {
        Direction::Horizontal => Size { w: to, ..before },
        Direction::Vertical => Size { h: to, ..before },
    };
    let weights = Arc::new(Weights::resampling(method, from, to));
    graph.push(Arc::new(Shrink { direction, weights }), &[input], size)
}

/// Sums are added from left to right or from the upper to the lower sample.
#[derive(Debug)]
struct Shrink {
    direction: Direction,
    weights: Arc<Weights>,
}

impl Stage for Shrink {
    fn name(&self) -> &'static str {
        "resize"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        match self.direction {
            Direction::Horizontal => taps.extend(self.weights.reads(x..x + 1).map(|x| (x, y))),
            Direction::Vertical => taps.extend(self.weights.reads(y..y + 1).map(|y| (x, y))),
        }
    }

    fn reads(&self) -> usize {
        self.weights.taps()
    }

    /// Rows are read in order, each from its beginning to its end.
    fn scattered(&self) -> bool {
        false
    }

    fn combine(&self, x: i32, y: i32, samples: &[f32]) -> f32 {
        let at = match self.direction {
            Direction::Horizontal => x,
            Direction::Vertical => y,
        };
        weighted_sum(self.weights.weights(at), samples.iter().copied())
    }

    fn source(&self, out: Rect) -> Rect {
        if out.is_empty() {
            return Rect::default();
        }
        match self.direction {
            Direction::Horizontal => {
                let columns = self.weights.reads(out.x0..out.x1);
                Rect {
                    x0: columns.start,
                    x1: columns.end,
                    ..out
                }
            }
            Direction::Vertical => {
                let rows = self.weights.reads(out.y0..out.y1);
                Rect {
                    y0: rows.start,
                    y1: rows.end,
                    ..out
                }
            }
        }
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let lines = input[0];
        let left = lines.rect().x0;
        match self.direction {
            Direction::Horizontal => {
                let windows: Windows<'_> = self.weights.windows(x0 as usize);
                window_sums(cx.simd, &windows, lines.row(y), left as usize, out);
            }
            Direction::Vertical => {
                let rows = self.weights.reads(y..y + 1);
                let down = VerticalTaps {
                    lines,
                    top: rows.start,
                    bottom: rows.end - 1,
                    first: (x0 - left) as usize,
                };
                weighted_sums(cx.simd, self.weights.weights(y), &down, out);
            }
        }
    }

    fn separable(&self) -> Option<Separable> {
        let weights = Some(Arc::clone(&self.weights));
        Some(match self.direction {
            Direction::Horizontal => Separable::Windows(weights, None),
            Direction::Vertical => Separable::Windows(None, weights),
        })
    }

    fn device(&self) -> Option<DeviceStage> {
        let column = u32::from(self.direction == Direction::Vertical);
        let Windows {
            first,
            weights,
            taps,
        } = self.weights.windows(0);
        let head = [column, taps as u32, first.len() as u32];
        let weights = weights.iter().map(|weight| weight.to_bits());
        let parameters = head.into_iter().chain(first.iter().copied()).chain(weights);
        Some(DeviceStage::kernel("filters_shrink", parameters.collect()))
    }

    fn weight(&self) -> f64 {
        // Horizontal outputs are computed one by one, not in the lanes of a register.
        let each = match self.direction {
            Direction::Horizontal => 4.0,
            Direction::Vertical => 1.0,
        };
        each * self.weights.taps() as f64
    }
}
