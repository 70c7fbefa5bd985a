//! `binary`: 1 where v > 0, else 0.

use std::sync::Arc;

use super::point::point_stage;
use super::{Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::pointwise::PointOp;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "binary",
    aliases: &[],
    about: "make samples above 0 white and the others black",
    args: &[],
    role: Role::Luma,
    build: |_| Ok(Box::new(Binary)),
};

struct Binary;

impl Filter for Binary {
    fn expand(&self, _plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(Arc::new(BinaryStage), &[input], size)
    }
}

#[derive(Debug)]
struct BinaryStage;

point_stage!(
    BinaryStage,
    "binary",
    1.0,
    |_this, v| if v > 0.0 { 1.0 } else { 0.0 },
    |_this| PointOp::Step(0.0)
);
