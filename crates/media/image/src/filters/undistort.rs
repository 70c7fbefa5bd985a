//! `undistort`: radial lens correction, bilinear, fill outside.
//!
//! Output at offset d from the centre reads the source at centre + d·(1 + k1 r² + k2 r⁴), r being |d| over half the
//! diagonal between the centres of opposite corners, both as distances in the picture: the radial part of Brown's
//! model (Decentering Distortion of Lenses, 1966).

use super::warp::{Bounded, Warp};
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::geometry::Rect;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::{Border, Map};
use crate::kernels::lanes::Lanes;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "undistort",
    aliases: &[],
    about: "correct barrel (k1 < 0) or pincushion distortion",
    args: &[
        Arg::optional("k1", "-0.1", "the weight of r²"),
        Arg::optional("k2", "0", "the weight of r⁴"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Undistort {
            centre: (0.5, 0.5),
            k1: args.number("k1")?,
            k2: args.number("k2")?,
        }))
    },
};

/// FFmpeg's name.
pub const LENSCORRECTION: Entry = Entry {
    name: "lenscorrection",
    args: &[
        Arg::optional("cx", "0.5", "the centre, as a share of the width"),
        Arg::optional("cy", "0.5", "the centre, as a share of the height"),
        Arg::optional("k1", "0", "the weight of r²"),
        Arg::optional("k2", "0", "the weight of r⁴"),
        Arg::optional("i", "bilinear", "the interpolation; there is one"),
    ],
    build: |args| {
        args.choice("i", &["bilinear"])?;
        let share = |name| args.number_where(name, |v| (0.0..=1.0).contains(&v), "from 0 to 1");
        Ok(Box::new(Undistort {
            centre: (share("cx")?, share("cy")?),
            k1: args.number("k1")?,
            k2: args.number("k2")?,
        }))
    },
    ..ENTRY
};

struct Undistort {
    /// As shares of width and height.
    centre: (f64, f64),
    k1: f64,
    k2: f64,
}

impl Undistort {
    fn map(&self, plane: &Plane) -> Radial {
        let share = |side: u32, share: f64| (f64::from(side - 1) * share) as f32;
        let (size, ratio) = (plane.size, plane.row_spacing());
        Radial {
            centre: (share(size.w, self.centre.0), share(size.h, self.centre.1)),
            ..Radial::new(size, ratio, self.k1, self.k2)
        }
    }
}

impl Filter for Undistort {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let warp = Warp {
            name: "undistort",
            map: self.map(plane),
            size: plane.size,
            border: Border::Constant(plane.fill),
            weight: 38.0,
            windows: None,
            before: None,
            after: None,
        };
        graph.push(warp.stage(), &[input], size)
    }
}

/// Offsets from the centre are multiplied by 1 + a u + b u², u being their squared length in distances of columns.
#[derive(Clone, Copy, Debug)]
struct Radial {
    centre: (f32, f32),
    /// Distance of rows.
    ratio: f32,
    a: f32,
    b: f32,
}

impl Radial {
    fn new(size: Size, ratio: f32, k1: f64, k2: f64) -> Self {
        let centre = (f64::from(size.w - 1) / 2.0, f64::from(size.h - 1) / 2.0);
        // A plane of one sample has only its centre, which stays.
        let half_diagonal = centre.0.hypot(centre.1 * f64::from(ratio));
        let unit = if half_diagonal > 0.0 {
            half_diagonal.powi(-2)
        } else {
            0.0
        };
        // Finite, so that bounds can be computed. A scale that large gives only fill anyway.
        let weight = |v: f64| v.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
        Radial {
            centre: (centre.0 as f32, centre.1 as f32),
            ratio,
            a: weight(k1 * unit),
            b: weight(k2 * unit * unit),
        }
    }
}

impl Map for Radial {
    #[inline(always)]
    fn at<S: Lanes>(&self, s: S, x: S::V, y: S::V) -> (S::V, S::V) {
        let (cx, cy) = (s.splat(self.centre.0), s.splat(self.centre.1));
        let (dx, dy) = (s.sub(x, cx), s.sub(y, cy));
        let down = s.mul(dy, s.splat(self.ratio));
        let u = s.mul_add(dx, dx, s.mul(down, down));
        let slope = s.mul_add(u, s.splat(self.b), s.splat(self.a));
        let scale = s.mul_add(u, slope, s.splat(1.0));
        (s.mul_add(dx, scale, cx), s.mul_add(dy, scale, cy))
    }
}

/// Values from the first to the second.
type Interval = (f64, f64);

fn product(a: Interval, b: Interval) -> Interval {
    hull([a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1])
}

fn sum(a: Interval, b: Interval) -> Interval {
    (a.0 + b.0, a.1 + b.1)
}

fn hull(values: impl IntoIterator<Item = f64>) -> Interval {
    let grow = |(low, high): Interval, v: f64| (low.min(v), high.max(v));
    values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), grow)
}

fn square(a: Interval) -> Interval {
    let (low, high) = hull([a.0 * a.0, a.1 * a.1]);
    (if a.0 <= 0.0 && a.1 >= 0.0 { 0.0 } else { low }, high)
}

/// The values of c0 + c1 u + c2 u² over an interval.
fn quadratic(c: [f64; 3], u: Interval) -> Interval {
    let at = |u: f64| c[0] + u * (c[1] + u * c[2]);
    let vertex = -c[1] / (2.0 * c[2]);
    let turn = if vertex > u.0 && vertex < u.1 {
        vertex
    } else {
        u.0
    };
    hull([at(u.0), at(u.1), at(turn)])
}

impl Radial {
    /// Source offsets along one axis of outputs at offsets `along` it and `across` it, all in distances of columns. Neither
    /// interval has values of both signs. The result is exact if the map is monotonic, as it is unless a lens folds the
    /// image over.
    fn offsets(&self, along: Interval, across: Interval) -> Interval {
        let (a, b) = (f64::from(self.a), f64::from(self.b));
        let u = sum(square(along), square(across));
        let scale = quadratic([1.0, a, b], u);
        // The derivative along the axis is scale + 2·along²·slope, that across it 2·along·across·slope.
        let slope = quadratic([a, 2.0 * b, 0.0], u);
        let rise = sum(scale, product((2.0, 2.0), product(square(along), slope)));
        let one_sign = |i: Interval| i.0 >= 0.0 || i.1 <= 0.0;
        if one_sign(rise) && one_sign(slope) {
            let at = |d: f64, e: f64| d * (1.0 + (d * d + e * e) * (a + (d * d + e * e) * b));
            return hull([
                at(along.0, across.0),
                at(along.0, across.1),
                at(along.1, across.0),
                at(along.1, across.1),
            ]);
        }
        product(along, scale)
    }
}

impl Bounded for Radial {
    fn device(&self) -> Option<(&'static str, Vec<f32>)> {
        let Radial {
            centre: (cx, cy),
            ratio,
            a,
            b,
        } = *self;
        Some(("filters_radial", vec![cx, cy, ratio, a, b]))
    }

    fn bounds(&self, out: Rect) -> (Interval, Interval) {
        let centre = (f64::from(self.centre.0), f64::from(self.centre.1));
        let ratio = f64::from(self.ratio);
        let columns = (
            f64::from(out.x0) - centre.0,
            f64::from(out.x1 - 1) - centre.0,
        );
        let rows = (
            (f64::from(out.y0) - centre.1) * ratio,
            (f64::from(out.y1 - 1) - centre.1) * ratio,
        );
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let join = |a: Interval, b: Interval| (a.0.min(b.0), a.1.max(b.1));
        let (mut x, mut y) = (nothing, nothing);
        for column in halves(columns) {
            for row in halves(rows) {
                x = join(x, self.offsets(column, row));
                y = join(y, self.offsets(row, column));
            }
        }
        let y = (y.0 / ratio, y.1 / ratio);
        // `at` rounds to f32 at each step; the terms of the scale may cancel, so the error is measured by their sizes.
        let longest = |i: Interval| i.0.abs().max(i.1.abs());
        let u = longest(columns).powi(2) + longest(rows).powi(2);
        let (a, b) = (f64::from(self.a).abs(), f64::from(self.b).abs());
        let terms = 1.0 + u * (a + u * b);
        let rounding = |d: f64, centre: f64| 4.0 * f64::from(f32::EPSILON) * (d * terms + centre);
        let widen = |i: Interval, error: f64| (i.0 - error, i.1 + error);
        let place = |i: Interval, centre: f64| (i.0 + centre, i.1 + centre);
        (
            widen(place(x, centre.0), rounding(longest(columns), centre.0)),
            widen(
                place(y, centre.1),
                rounding(longest(rows) / ratio, centre.1),
            ),
        )
    }
}

/// The parts of an interval below and above 0.
fn halves(i: Interval) -> impl Iterator<Item = Interval> + Clone {
    let parts = if i.0 < 0.0 && i.1 > 0.0 {
        [Some((i.0, 0.0)), Some((0.0, i.1))]
    } else {
        [Some(i), None]
    };
    parts.into_iter().flatten()
}
