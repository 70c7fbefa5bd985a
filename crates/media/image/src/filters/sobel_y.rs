//! `sobel_y`: cross-correlation with \[-1 -2 -1; 0 0 0; 1 2 1\], the vertical gradient.

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
    name: "sobel_y",
    aliases: &[],
    about: "vertical gradient, 3x3 Sobel",
    args: &[],
    role: Role::Luma,
    build: |_| Ok(Box::new(SobelY)),
};

#[derive(Clone, Copy, Debug)]
pub(super) struct SobelY;

impl Filter for SobelY {
    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        graph.push(SobelY::stage(plane.size), &[input], size)
    }
}

impl SobelY {
    pub fn stage(size: Size) -> Arc<dyn Stage> {
        Arc::new(StencilStage {
            name: "sobel_y",
            kernel: SobelY,
            size,
            weight: 4.0,
            device: Some(Kernel::new("filters_sobel_y", Vec::new())),
        })
    }
}

impl FuseAfter for SobelY {}

impl Stencil3x3 for SobelY {
    #[inline(always)]
    fn horizontal<S: Lanes>(self, s: S, left: S::V, middle: S::V, right: S::V) -> [S::V; 2] {
        [s.smooth(left, middle, right), middle]
    }

    #[inline(always)]
    fn vertical<S: Lanes>(
        self,
        s: S,
        upper: [S::V; 2],
        _middle: [S::V; 2],
        lower: [S::V; 2],
    ) -> S::V {
        s.sub(lower[0], upper[0])
    }
}
