//! `negate`: the largest code less the code, on chosen planes, as in FFmpeg.

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::format::Size;
use crate::graph::kinds::Chosen;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "negate",
    aliases: &["invert"],
    about: "the negative: code c of 8 bits becomes 255 - c",
    args: &[Arg::optional(
        "components",
        "y+u+v+r+g+b",
        "the planes, joined by `+`: y, u, v",
    )],
    role: Role::EveryPlane,
    build: |args| {
        let chosen = args.components("components")?;
        Ok(Box::new(Negate { chosen }))
    },
};

struct Negate {
    chosen: Chosen,
}

impl Filter for Negate {
    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.chosen.has(plane).map(|_| plane.size)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        if self.chosen.has(plane) != Ok(true) {
            return input;
        }
        let codes = plane.codes;
        let ends = match codes.depth.maximum() {
            Some(maximum) => (maximum as f32 - 2.0 * codes.zero()) / codes.span(),
            None => 1.0,
        };
        graph.push(Arc::new(NegateStage { ends }), &[input], size)
    }
}

#[derive(Debug)]
struct NegateStage {
    /// The sum of the values of the first and the last code.
    ends: f32,
}

point_stage!(NegateStage, "negate", 1.0, |this, v| this.ends - v);
