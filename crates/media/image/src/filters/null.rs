//! `null`: the frame as it is.

use super::{Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "null",
    aliases: &[],
    about: "pass frames through unchanged",
    args: &[],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Null)),
};

struct Null;

impl Filter for Null {
    fn expand(&self, _: &Plane, _: Size, input: Port, _: &mut PlaneGraph) -> Port {
        input
    }
}
