//! `blur`: 3x3 binomial smoothing, \[1 2 1\]ᵀ\[1 2 1\] / 16.

use std::sync::Arc;

use super::stencil::{FuseAfter, StencilStage};
use super::{Entry, Filter, Role};
use crate::device::Kernel;
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::lanes::Lanes;
use crate::kernels::stencil::Stencil3x3;
use crate::stage::Plane;

pub const ENTRY: Entry = Entry {
    name: "blur",
    aliases: &[],
    about: "3x3 smoothing, [1 2 1] in both directions",
    args: &[],
    role: Role::EveryPlane,
    build: |_| Ok(Box::new(Blur)),
};

#[derive(Clone, Copy, Debug)]
struct Blur;

impl Filter for Blur {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        let stage = StencilStage {
            name: "blur",
            kernel: Blur,
            size: plane.size,
            weight: 5.0,
            device: Some(Kernel::new("filters_blur", Vec::new())),
        };
        graph.push(Arc::new(stage), &[input], size)
    }
}

impl FuseAfter for Blur {}

impl Stencil3x3 for Blur {
    #[inline(always)]
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2] {
        [s.smooth(left, middle, right), middle]
    }

    #[inline(always)]
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V {
        s.mul(s.smooth(upper[0], middle[0], lower[0]), s.splat(1.0 / 16.0))
    }
}
