//! `resize`: another size, bilinear, pixel centres aligned: output x reads at (x + ½)·scale − ½. A side that shrinks is
//! filtered: see [`shrink`].

use super::shrink::{self, Direction};
use super::warp::{Affine, Warp};
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::Edge;
use crate::stage::Plane;

/// The longest side a frame may have.
const MOST: u32 = 65536;

pub const ENTRY: Entry = Entry {
    name: "resize",
    aliases: &[],
    about: "change the size to w:h luma samples, bilinear, smoothed where it shrinks",
    args: &[
        Arg::required("w", "the new width"),
        Arg::required("h", "the new height"),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let size = Size {
            w: args.integer("w", 1..=MOST)?,
            h: args.integer("h", 1..=MOST)?,
        };
        Ok(Box::new(Resize { size }))
    },
};

struct Resize {
    /// In luma samples.
    size: Size,
}

impl Filter for Resize {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        let (sx, sy) = plane.subsampling;
        Ok(Size {
            w: self.size.w.div_ceil(sx),
            h: self.size.h.div_ceil(sy),
        })
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let from = plane.size;
        let shrinks = (size.w < from.w, size.h < from.h);
        if shrinks != (false, false) {
            let columns = (Direction::Horizontal, (from.w, size.w));
            let rows = (Direction::Vertical, (from.h, size.h));
            // A side that shrinks comes first, so that the other stage has less to do; rows, which cost less, before columns.
            let order = if shrinks.1 {
                [rows, columns]
            } else {
                [columns, rows]
            };
            return order.into_iter().fold(input, |input, (direction, sides)| {
                shrink::push(direction, sides, input, graph)
            });
        }
        let scale = |from: u32, to: u32| (f64::from(from) / f64::from(to)) as f32;
        // (x + ½)·scale − ½ is scale·(x − centre of the output) + centre of the input.
        let centre = |size: Size| ((size.w - 1) as f32 / 2.0, (size.h - 1) as f32 / 2.0);
        let map = Affine {
            centre: centre(size),
            target: centre(plane.size),
            x: (scale(plane.size.w, size.w), 0.0),
            y: (0.0, scale(plane.size.h, size.h)),
        };
        let warp = Warp {
            name: "resize",
            map,
            size: plane.size,
            edge: Edge::Repeat,
            weight: 36.0,
            before: None,
            after: None,
        };
        graph.push(warp.stage(), &[input], size)
    }
}
