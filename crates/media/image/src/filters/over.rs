//! `overlay` of a second stream.

use std::sync::Arc;

use super::mosaic::{Piece, place};
use super::overlay::{N, NAMES, Overlay, T};
use super::{Arg, Entry, Filter, Joined, Role};
use crate::format::{Size, Video};
use crate::graph::bind::Inputs;
use crate::graph::length::{Length, Range};
use crate::graph::plane::Port;
use crate::io::ffmpeg::Picture;
use crate::sequence::{Moment, Still};
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
            "what is done when the second stream ends: repeat its last frame, endall or pass",
        ),
        Arg::optional("shortest", "0", "1: it ends with the shorter stream"),
        Arg::optional(
            "repeatlast",
            "1",
            "1: the last frame of the second stream stays",
        ),
        Arg::optional("eval", "frame", "has no effect: positions may use t and n"),
        Arg::optional(
            "format",
            "auto",
            "has no effect: the format of the first stream is kept",
        ),
    ],
    role: Role::EveryPlane,
    build: |args| {
        let ends = args.choice("eof_action", &["repeat", "endall", "pass"])?;
        args.choice("eval", &["frame", "init"])?;
        let shortest = args.integer("shortest", 0..=1)? == 1 || ends == 1;
        let repeats = args.integer("repeatlast", 0..=1)? == 1;
        args.parsed("format", |_| Ok(()))?;
        Ok(Box::new(Over {
            shortest,
            passes: ends == 2 || !repeats,
            x: args.length("x", NAMES, Range::Anywhere)?,
            y: args.length("y", NAMES, Range::Anywhere)?,
        }))
    },
};

#[derive(Clone)]
struct Over {
    shortest: bool,
    passes: bool,
    x: Length,
    y: Length,
}

impl Over {
    /// The position in luma samples, at a whole chroma sample.
    fn placed(&self, plane: &Plane, over: Size) -> Result<(i32, i32), String> {
        let under = plane.luma;
        let values = [under.w, under.h, over.w, over.h, 0, 0].map(f64::from);
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
    fn at(&self, moment: &Moment) -> Option<Still> {
        if !self.x.moves(N, T) && !self.y.moves(N, T) {
            return None;
        }
        Some(Still {
            key: vec![moment.n],
            filter: Arc::new(Over {
                x: self.x.at((N, T), moment),
                y: self.y.at((N, T), moment),
                ..self.clone()
            }),
        })
    }

    fn inputs(&self) -> usize {
        2
    }

    fn takes_picture(&self) -> bool {
        true
    }

    fn with_picture(&self, picture: Arc<Picture>) -> Option<Arc<dyn Filter>> {
        let (x, y) = (self.x.clone(), self.y.clone());
        Some(Arc::new(Overlay { picture, x, y }))
    }

    fn joined(&self) -> Joined {
        Joined {
            led: true,
            shortest: self.shortest,
            passes: self.passes,
        }
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
