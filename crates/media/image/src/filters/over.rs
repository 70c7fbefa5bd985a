//! `overlay` of a second stream.

use super::mosaic::{Piece, place};
use super::overlay::NAMES;
use super::{Arg, Entry, Filter, Role};
use crate::format::{Size, Video};
use crate::graph::bind::Inputs;
use crate::graph::length::{Length, Range};
use crate::graph::plane::Port;
use crate::stage::Plane;

/// The filter of the same name puts a picture over frames.
pub const ENTRY: Entry = Entry {
    name: "overlay",
    aliases: &[],
    about: "put a second stream over the first",
    args: &[
        Arg::length("x", Some("0"), "the column of its left side"),
        Arg::length("y", Some("0"), "the row of its upper side"),
        Arg::optional(
            "eof_action",
            "repeat",
            "repeat: the last frame of the second stream stays",
        ),
        Arg::optional(
            "format",
            "auto",
            "has no effect: the format of the first stream is kept",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        args.choice("eof_action", &["repeat"])?;
        args.parsed("format", |_| Ok(()))?;
        Ok(Box::new(Over {
            x: args.length("x", NAMES, Range::Anywhere)?,
            y: args.length("y", NAMES, Range::Anywhere)?,
        }))
    },
};

struct Over {
    x: Length,
    y: Length,
}

impl Over {
    /// The position in luma samples, at a whole chroma sample.
    fn placed(&self, plane: &Plane, over: Size) -> Result<(i32, i32), String> {
        let under = plane.luma;
        let values = [under.w, under.h, over.w, over.h].map(f64::from);
        let (cx, cy) = plane.chroma_subsampling;
        let at =
            |v: i64, multiple: u32| (v.div_euclid(multiple.into()) * i64::from(multiple)) as i32;
        Ok((
            at(self.x.samples(&values)?, cx),
            at(self.y.samples(&values)?, cy),
        ))
    }
}

impl Filter for Over {
    fn inputs(&self) -> usize {
        2
    }

    fn is_led(&self) -> bool {
        true
    }

    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let (under, over) = (inputs[0].format, inputs[1].format);
        if under.chroma != over.chroma {
            return Err(format!(
                "one stream is {under} and the other {over}; give both one format"
            ));
        }
        self.placed(&Plane::of(&under, 0), over.plane_size(0))?;
        Ok(inputs[0])
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        let (index, over) = (inputs.plane(), inputs.format(1));
        // `video` has refused what has no place.
        let (x, y) = self.placed(plane, over.plane_size(0)).unwrap_or((0, 0));
        let (sx, sy) = plane.subsampling;
        let pieces = [
            Piece {
                port: inputs.port(0, index),
                size: plane.size,
                at: (0, 0),
            },
            Piece {
                port: inputs.port(1, index),
                size: over.plane_size(index),
                at: (x / sx as i32, y / sy as i32),
            },
        ];
        place(inputs.graph(), &pieces, size, plane.fill)
    }
}
