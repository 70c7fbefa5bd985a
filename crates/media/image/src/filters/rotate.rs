//! `rotate`: counter-clockwise about the centre, bilinear, a colour outside; the size is kept, or such that nothing is cut.

use super::warp::{Affine, Warp};
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::colour::Colour;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::bilinear::Border;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "rotate",
    aliases: &[],
    about: "rotate counter-clockwise about the centre",
    args: &[
        Arg::required("degrees", "the angle in degrees"),
        Arg::optional(
            "fill",
            "black",
            "the fill colour: a name, #RRGGBB, or a grey level from 0 to 1",
        )
        .also(&["fillcolor", "c"]),
        Arg::optional(
            "grow",
            "0",
            "0 keeps the size; 1 grows it so that nothing is cut off",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        Ok(Box::new(Rotate {
            degrees: args.degrees("degrees")?,
            fill: args.colour("fill")?,
            grow: args.choice("grow", &["0", "1"])? == 1,
        }))
    },
};

struct Rotate {
    degrees: f64,
    fill: Colour,
    grow: bool,
}

impl Rotate {
    /// The size in luma samples that holds the whole of `luma`, of whole chroma samples where it has to be rounded.
    fn grown(&self, luma: Size, (cx, cy): (u32, u32)) -> Size {
        let (s, c) = sin_cos(self.degrees);
        let (s, c) = (f64::from(s).abs(), f64::from(c).abs());
        let (w, h) = (f64::from(luma.w), f64::from(luma.h));
        let exact = s == 0.0 || c == 0.0;
        let side = |length: f64, multiple: u32| {
            // Sines are floats, so a length may be a little too large.
            let whole = (length - 1e-3).ceil() as u32;
            if exact {
                whole
            } else {
                whole.div_ceil(multiple) * multiple
            }
        };
        Size {
            w: side(w * c + h * s, cx),
            h: side(w * s + h * c, cy),
        }
    }
}

impl Filter for Rotate {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.fill.on(plane)?;
        if !self.grow {
            return Ok(plane.size);
        }
        let size = self.grown(plane.luma, plane.chroma_subsampling);
        let (sx, sy) = plane.subsampling;
        Ok(Size {
            w: size.w.div_ceil(sx),
            h: size.h.div_ceil(sy),
        })
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let (s, c) = sin_cos(self.degrees);
        let centre = |size: Size| ((size.w - 1) as f32 / 2.0, (size.h - 1) as f32 / 2.0);
        let ratio = plane.row_spacing();
        let map = Affine {
            centre: centre(size),
            target: centre(plane.size),
            x: (c, -s * ratio),
            y: (s / ratio, c),
        };
        let border = Border::Constant(self.fill.on(plane).unwrap_or(plane.fill));
        let warp = Warp {
            name: "rotate",
            map,
            size: plane.size,
            border,
            weight: 36.0,
            windows: None,
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
