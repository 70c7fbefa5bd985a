//! `posterize`: fewer levels, floor(v·levels) / levels.

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::{Plane, Tone};

pub const ENTRY: Entry = Entry {
    name: "posterize",
    aliases: &["discrete"],
    about: "fewer levels of brightness",
    args: &[Arg::optional("levels", "8", "the number of levels")],
    role: Role::Luma,
    build: |args| {
        Ok(Box::new(Posterize {
            levels: args.integer("levels", 1..=65536)? as f32,
        }))
    },
};

struct Posterize {
    levels: f32,
}

impl Filter for Posterize {
    fn expand(&self, _plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(
            Arc::new(PosterizeStage {
                levels: self.levels,
            }),
            &[input],
            size,
        )
    }
}

#[derive(Debug)]
struct PosterizeStage {
    levels: f32,
}

point_stage!(
    PosterizeStage,
    "posterize",
    4.0,
    |this, v| (v * this.levels).floor() / this.levels,
    |_this| Tone::Rising
);
