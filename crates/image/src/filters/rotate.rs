//! `rotate`: counter-clockwise about the centre, size kept, bilinear, fill outside.

use super::warp::{Affine, Warp};
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::Edge;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "rotate",
    aliases: &[],
    about: "rotate counter-clockwise about the centre, size kept",
    args: &[Arg::required("degrees", "the angle in degrees")],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Rotate {
            degrees: args.number("degrees")?,
        }))
    },
};

struct Rotate {
    degrees: f64,
}

impl Filter for Rotate {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let (s, c) = sin_cos(self.degrees);
        let centre = (
            (plane.size.w - 1) as f32 / 2.0,
            (plane.size.h - 1) as f32 / 2.0,
        );
        let ratio = plane.row_spacing();
        let map = Affine {
            centre,
            target: centre,
            x: (c, -s * ratio),
            y: (s / ratio, c),
        };
        let edge = Edge::Fill(plane.fill);
        let warp = Warp {
            name: "rotate",
            map,
            size: plane.size,
            edge,
            weight: 36.0,
            before: None,
            after: None,
        };
        graph.push(warp.stage(), &[input], size)
    }
}

/// Sine and cosine, exact at multiples of 90 degrees, so that those rotations move samples and blend none.
fn sin_cos(degrees: f64) -> (f32, f32) {
    let turn = degrees.rem_euclid(360.0);
    match turn {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        _ => {
            let (s, c) = turn.to_radians().sin_cos();
            (s as f32, c as f32)
        }
    }
}
