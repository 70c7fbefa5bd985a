//! `sobel`: the length of the gradient, three stages joined in a diamond.

use std::sync::Arc;

use super::magnitude::Magnitude;
use super::sobel_x::SobelX;
use super::sobel_y::SobelY;
use super::{Entry, Filter, Role};
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "sobel",
    aliases: &[],
    about: "edges: magnitude of the Sobel gradient",
    args: &[],
    role: Role::Luma,
    build: |_| Ok(Box::new(Sobel)),
};

struct Sobel;

impl Filter for Sobel {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let x = graph.push(SobelX::stage(plane.size), &[input], size);
        let y = graph.push(SobelY::stage(plane.size), &[input], size);
        graph.push(Arc::new(Magnitude { size }), &[x, y], size)
    }
}
