//! The length of a gradient, sqrt(gx² + gy²), and the whole of `sobel` in one pass.

use std::sync::Arc;

use evener_runtime::Simd;

use super::blur::square;
use super::{sobel_x, sobel_y};
use crate::format::Size;
use crate::geometry::Rect;
use crate::kernels::stencil;
use crate::lines::Lines;
use crate::stage::{RowContext, Stage, Tone};

/// The length of a gradient from its two components.
#[derive(Debug)]
pub(super) struct Magnitude {
    pub(super) size: Size,
}

impl Stage for Magnitude {
    fn name(&self) -> &'static str {
        "magnitude"
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
        stencil::magnitude(samples[0], samples[1])
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (gx, gy) = samples.split_at(out.len());
        stencil::magnitudes(simd, gx, gy, out);
    }

    fn source(&self, out: Rect) -> Rect {
        out
    }

    fn row(&self, cx: &mut RowContext<'_>, input: &[Lines<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let [gx, gy] = [0, 1].map(|i| {
            let from = (x0 - input[i].rect().x0) as usize;
            &input[i].row(y)[from..from + out.len()]
        });
        stencil::magnitudes(cx.simd, gx, gy, out);
    }

    fn fused(&self) -> Option<Arc<dyn Stage>> {
        Some(Arc::new(SobelMagnitude {
            size: self.size,
            above: None,
        }))
    }

    fn weight(&self) -> f64 {
        6.0
    }
}

/// Both gradients and their length from one reading of the source: column sums are shared, gradients stay in registers.
#[derive(Debug)]
struct SobelMagnitude {
    size: Size,
    /// Lengths that are not above this become 0.
    above: Option<f32>,
}

impl Stage for SobelMagnitude {
    fn name(&self) -> &'static str {
        "sobel"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        taps.extend(square().iter().map(|(dx, dy)| (x + dx, y + dy)));
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        Some(square())
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        let length = stencil::magnitude(sobel_x::gradient(samples), sobel_y::gradient(samples));
        match self.above {
            Some(t) if length > t => length,
            Some(_) => 0.0,
            None => length,
        }
    }

    fn source(&self, out: Rect) -> Rect {
        out.grow(1, 1)
    }

    fn row(&self, cx: &mut RowContext<'_>, input: &[Lines<'_>], y: i32, x0: i32, out: &mut [f32]) {
        let [a, b, c] = stencil::three(&input[0], self.size.h as i32, y);
        let (n, width, simd) = (out.len(), self.size.w as i32, cx.simd);
        let temps = cx.rows(n + 2);
        let [sums, differences] = stencil::padded(
            &input[0],
            width,
            x0,
            n,
            1,
            temps,
            |r, [sums, differences]| {
                let [a, b, c] = [a, b, c].map(|row| &row[r.clone()]);
                stencil::sobel_rows(simd, a, b, c, sums, differences);
            },
        );
        match self.above {
            Some(t) => stencil::sobel_above_columns(simd, sums, differences, t, out),
            None => stencil::sobel_columns(simd, sums, differences, out),
        }
    }

    fn toned(&self, tone: Tone) -> Option<Arc<dyn Stage>> {
        match (self.above, tone) {
            (None, Tone::Above(t)) => Some(Arc::new(SobelMagnitude {
                size: self.size,
                above: Some(t),
            })),
            _ => None,
        }
    }

    fn weight(&self) -> f64 {
        14.0
    }
}
