//! `gaussian`: separable Gaussian smoothing, radius ceil(3 sigma), weights normalised.

use std::sync::Arc;

use evener_runtime::Simd;

use super::{Arg, Entry, Filter, Role};
use crate::device::{DeviceStage, Kernel};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::weighted_sum::{
    GatheredTaps, HorizontalTaps, MirroredTaps, RUN, VerticalTaps, add, mirrored, weighted_sum,
    weighted_sums,
};
use crate::row_view::RowView;
use crate::stage::{Plane, RowContext, Stage};
use crate::weights::{Separable, bell};

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

/// FFmpeg's name.
pub const GBLUR: Entry = Entry {
    name: "gblur",
    args: &[Arg::optional(
        "sigma",
        "0.5",
        "the standard deviation in samples",
    )],
    ..ENTRY
};

struct Gaussian {
    sigma: f64,
}

impl Filter for Gaussian {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let stage = GaussianStage {
            size: plane.size,
            sigma: Some(self.sigma),
            down: bell(self.sigma),
            across: bell(self.sigma),
            edges: Edges::Repeat,
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

/// What lies beyond the edges of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edges {
    /// The sample at the edge, again and again.
    Repeat,
    /// The plane in a mirror, the sample at the edge twice.
    Mirror,
}

/// A separable weighted sum. Rows are added from the upper to the lower, then columns from left to right.
#[derive(Debug)]
pub(super) struct GaussianStage {
    pub(super) size: Size,
    /// The standard deviation, where weights are those of a bell.
    pub(super) sigma: Option<f64>,
    /// The weights of rows, an odd number.
    pub(super) down: Vec<f32>,
    /// The weights of columns, an odd number.
    pub(super) across: Vec<f32>,
    pub(super) edges: Edges,
}

impl GaussianStage {
    /// Columns and rows on each side of an output.
    fn radius(&self) -> (usize, usize) {
        (self.across.len() / 2, self.down.len() / 2)
    }
}

/// Runs `vertical` over the columns that outputs `x0..x0 + n` with `radius` need, into the row `temp`, and continues it
/// beyond the plane, which is `plane_width` wide. Returns `n + 2 * radius` samples from column x0 - radius on.
fn padded<'t>(
    lines: &RowView<'_>,
    (plane_width, edges): (i32, Edges),
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
    match edges {
        Edges::Repeat => {
            let (first, end) = (temp[left], temp[left + count - 1]);
            temp[..left].fill(first);
            temp[left + count..].fill(end);
        }
        Edges::Mirror => {
            // What is as far inside as this is outside has been computed, since a radius of samples has.
            for i in (0..left).chain(left + count..temp.len()) {
                let x = mirrored(x0 - r + i as i32, plane_width);
                temp[i] = temp[left + (x - from) as usize];
            }
        }
    }
    temp
}

impl Stage for GaussianStage {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn taps(&self, x: i32, y: i32, taps: &mut Vec<(i32, i32)>) {
        let (rx, ry) = self.radius();
        let (rx, ry) = (rx as i32, ry as i32);
        let from = taps.len();
        taps.extend((y - ry..=y + ry).flat_map(|y| (x - rx..=x + rx).map(move |x| (x, y))));
        if self.edges == Edges::Mirror {
            let (w, h) = (self.size.w as i32, self.size.h as i32);
            for (x, y) in &mut taps[from..] {
                (*x, *y) = (mirrored(*x, w), mirrored(*y, h));
            }
        }
    }

    fn reads(&self) -> usize {
        self.across.len() * self.down.len()
    }

    fn scattered(&self) -> bool {
        false
    }

    fn offsets(&self) -> Option<Vec<(i32, i32)>> {
        if self.edges == Edges::Mirror {
            return None;
        }
        let mut offsets = Vec::new();
        self.taps(0, 0, &mut offsets);
        Some(offsets)
    }

    fn combine(&self, _x: i32, _y: i32, samples: &[f32]) -> f32 {
        let taps = self.across.len();
        let column =
            |c: usize| weighted_sum(&self.down, samples[c..].iter().step_by(taps).copied());
        weighted_sum(&self.across, (0..taps).map(column))
    }

    fn combine_run(&self, simd: Simd, samples: &[f32], out: &mut [f32]) {
        let (n, taps) = (out.len(), self.across.len());
        let mut column = [0.0; RUN];
        for (run, at) in out.chunks_mut(RUN).zip((0..).step_by(RUN)) {
            let column = &mut column[..run.len()];
            run.fill(0.0);
            for (c, &weight) in self.across.iter().enumerate() {
                let down = GatheredTaps {
                    samples: &samples[c * n + at..],
                    stride: taps * n,
                };
                weighted_sums(simd, &self.down, &down, column);
                add(simd, weight, column, run);
            }
        }
    }

    fn source(&self, out: Rect) -> Rect {
        let (rx, ry) = self.radius();
        out.grow(rx as i32, ry as i32)
    }

    fn row(
        &self,
        cx: &mut RowContext<'_>,
        input: &[RowView<'_>],
        y: i32,
        x0: i32,
        out: &mut [f32],
    ) {
        let ((radius, above), n, simd) = (self.radius(), out.len(), cx.simd);
        let (width, bottom) = (self.size.w as i32, self.size.h as i32 - 1);
        let temp = cx.row(n + 2 * radius);
        let plane = (width, self.edges);
        let columns = padded(&input[0], plane, x0, n, radius, temp, |columns, t| {
            let taps = VerticalTaps {
                lines: input[0],
                top: y - above as i32,
                bottom,
                first: columns.start,
            };
            match self.edges {
                Edges::Repeat => weighted_sums(simd, &self.down, &taps, t),
                Edges::Mirror => weighted_sums(simd, &self.down, &MirroredTaps(taps), t),
            }
        });
        weighted_sums(simd, &self.across, &HorizontalTaps(columns), out);
    }

    fn separable(&self) -> Option<Separable> {
        self.sigma.map(Separable::Bell)
    }

    fn device(&self) -> Option<DeviceStage> {
        if self.edges == Edges::Mirror {
            return None;
        }
        let pass = |column: u32, weights: &[f32]| {
            let head = [column, weights.len() as u32];
            let weights = weights.iter().map(|weight| weight.to_bits());
            Kernel::new("filters_smooth", head.into_iter().chain(weights).collect())
        };
        let passes = vec![pass(1, &self.down), pass(0, &self.across)];
        Some(DeviceStage::Kernels(passes))
    }

    fn weight(&self) -> f64 {
        (self.down.len() + self.across.len()) as f64
    }
}
