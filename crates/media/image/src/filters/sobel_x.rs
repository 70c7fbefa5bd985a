//! `sobel_x`: cross-correlation with \[-1 0 1; -2 0 2; -1 0 1\], the horizontal gradient.

use std::sync::Arc;

use super::stencil::{FuseAfter, StencilStage};
use super::{Entry, Filter, Role};
use crate::device::Kernel;
use crate::format::Size;
use crate::graph::plane::{PlaneGraph, Port};
use crate::kernels::lanes::Lanes;
use crate::kernels::stencil::Stencil3x3;
use crate::stage::{Plane, Stage};

pub const ENTRY: Entry = Entry {
    name: "sobel_x",
    aliases: &[],
    about: "horizontal gradient, 3x3 Sobel",
    args: &[],
    role: Role::Luma,
    build: |_| Ok(Box::new(SobelX)),
};

#[derive(Clone, Copy, Debug)]
pub(super) struct SobelX;

impl Filter for SobelX {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(SobelX::stage(plane.size), &[input], size)
    }
}

impl SobelX {
    pub fn stage(size: Size) -> Arc<dyn Stage> {
        Arc::new(StencilStage {
            name: "sobel_x",
            kernel: SobelX,
            size,
            weight: 4.0,
            device: Some(Kernel::new("filters_sobel_x", Vec::new())),
        })
    }
}

impl FuseAfter for SobelX {}

impl Stencil3x3 for SobelX {
    #[inline(always)]
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2] {
        [s.sub(right, left), middle]
    }

    #[inline(always)]
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V {
        s.smooth(upper[0], middle[0], lower[0])
    }
}
