//! `posterize`: as many levels as are asked for, from black to white: min(floor(v·levels), levels − 1) / (levels − 1).

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::device::Operation;
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::pointwise::PointOp;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "posterize",
    aliases: &["discrete"],
    about: "fewer levels of brightness",
    args: &[Arg::optional(
        "levels",
        "8",
        "the number of levels, black and white included",
    )],
    role: Role::Luma,
    build: |args| {
        Ok(Box::new(Posterize {
            levels: args.integer("levels", 2..=65536)? as f32,
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

impl PosterizeStage {
    /// From 0 to the number of levels less 1; a NaN stays one.
    #[inline(always)]
    fn level(&self, v: f32) -> f32 {
        let level = (v.clamp(0.0, 1.0) * self.levels).floor();
        let last = self.levels - 1.0;
        if level > last { last } else { level }
    }
}

point_stage!(
    PosterizeStage,
    "posterize",
    4.0,
    |this, v| this.level(v) / (this.levels - 1.0),
    |_this| PointOp::Rising,
    |this| Some(Operation::Posterize(this.levels))
);
