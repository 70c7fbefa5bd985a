//! `threshold`: keep v where v > t (or v < t), else 0.

use std::sync::Arc;

use super::point::point_stage;
use super::{Arg, Entry, Filter, Role};
use crate::device::Operation;
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::pointwise::PointOp;
use crate::stage::{Plane, Stage};

pub const ENTRY: Entry = Entry {
    name: "threshold",
    aliases: &[],
    about: "keep samples above (or below) a value and set the others to 0",
    args: &[
        Arg::optional("t", "0.5", "the value; 1 is white"),
        Arg::optional("keep", "above", "above or below"),
    ],
    role: Role::Luma,
    build: |args| {
        let above = args.choice("keep", &["above", "below"])? == 0;
        Ok(Box::new(Threshold {
            t: args.number("t")? as f32,
            above,
        }))
    },
};

struct Threshold {
    t: f32,
    above: bool,
}

impl Filter for Threshold {
    fn expand(&self, _plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let stage: Arc<dyn Stage> = if self.above {
            Arc::new(Above(self.t))
        } else {
            Arc::new(Below(self.t))
        };
        graph.push(stage, &[input], size)
    }
}

#[derive(Debug)]
struct Above(f32);

#[derive(Debug)]
struct Below(f32);

point_stage!(
    Above,
    "threshold",
    1.0,
    |this, v| if v > this.0 { v } else { 0.0 },
    |this| PointOp::Above(this.0)
);
point_stage!(
    Below,
    "threshold",
    1.0,
    |this, v| if v < this.0 { v } else { 0.0 },
    |_this| PointOp::Other,
    |this| Some(Operation::Below(this.0))
);
