//! The stage of a filter that reads a square around each output, all of it at once.

use std::fmt::Debug;
use std::sync::Arc;

use evener_runtime::Simd;

use crate::format::Size;
use crate::geometry::Rect;
use crate::row_view::RowView;
use crate::stage::{RowContext, Stage};

/// The largest radius.
const MOST: usize = 2;
/// Rows of the largest square.
pub(super) const ROWS: usize = 2 * MOST + 1;

/// A function of a square of samples.
pub(super) trait Window: Debug + Send + Sync + 'static {
    /// For reports.
    const NAME: &'static str;
    /// Samples on each side of the middle, [`MOST`] at most.
    const RADIUS: usize;
    /// Operations for an output.
    const WEIGHT: f64;

    /// The definition, for the samples row after row.
    fn value(&self, samples: &[f32]) -> f32;

    /// Outputs side by side. Each of the rows begins `RADIUS` samples on the left of the first output, and ends as many
    /// on the right of the last.
    fn row(&self, simd: Simd, rows: &[&[f32]], out: &mut [f32]);
}

/// A window on a plane of `size`; beyond its edges samples repeat.
#[derive(Debug)]
pub(super) struct WindowStage<W> {
    window: W,
    size: Size,
}

impl<W: Window> WindowStage<W> {
    pub(super) fn shared(window: W, size: Size) -> Arc<dyn Stage> {
        const { assert!(W::RADIUS <= MOST) };
        Arc::new(WindowStage { window, size })
    }
}

impl<W: Window> Stage for WindowStage<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let r = W::RADIUS as i32;
        taps.extend((y - r..=y + r).flat_map(|y| (x - r..=x + r).map(move |x| (x, y))));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        let mut offsets = Vec::new();
        self.taps(0, 0, &mut offsets);
        Some(offsets)
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        self.window.value(samples)
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(W::RADIUS as i32, W::RADIUS as i32)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let (r, height, simd) = (W::RADIUS as i32, self.size.h as i32, cx.simd);
        let length = out.len() + 2 * W::RADIUS;
        let temp = cx.row((2 * W::RADIUS + 1) * length);
        for (row, y) in temp.chunks_exact_mut(length).zip(y - r..) {
            let origin = input[0].rect().x0;
            let from = input[0].row(y.clamp(0, height - 1));
            repeat_edges(from, origin, self.size.w as i32, x0 - r, row);
        }
        let mut rows = [&[] as &[f32]; ROWS];
        for (row, from) in rows.iter_mut().zip(temp.chunks_exact(length)) {
            *row = from;
        }
        self.window.row(simd, &rows[..2 * W::RADIUS + 1], out);
    }

    fn weight(&self) -> f64 {
        W::WEIGHT
    }
}

/// Samples `x0..` of a row of `width`, of which `from` has those from `origin` on, with the edge samples beyond it.
fn repeat_edges(from: &[f32], origin: i32, width: i32, x0: i32, to: &mut [f32]) {
    let end = x0 + to.len() as i32;
    let (first, last) = (x0.max(0), end.min(width));
    let inside = &from[(first - origin) as usize..(last - origin) as usize];
    let (before, rest) = to.split_at_mut((first - x0) as usize);
    let (copied, after) = rest.split_at_mut(inside.len());
    before.fill(inside[0]);
    copied.copy_from_slice(inside);
    after.fill(inside[inside.len() - 1]);
}
