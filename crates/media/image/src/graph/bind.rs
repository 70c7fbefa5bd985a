//! Binding a graph to a format: the stages of each plane, and the format of the output.

use super::error::GraphError;
use super::parse::{Call, Graph};
use super::plane::{PlaneGraph, Port};
use crate::filters::Role;
use crate::format::{Chroma, Format, Size};
use crate::stage::{Component, Plane};

/// The most samples of a plane after any filter: 4 GiB of floats.
pub const MAX_SAMPLES: usize = 1 << 30;

/// Grey on a chroma plane.
const GREY: f32 = 0.5;

/// The planes that a graph is applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planes {
    /// Luma gets every filter. Chroma gets geometry and smoothing with fill 0.5, and is 0.5 from the first filter of edges
    /// or brightness on.
    #[default]
    Auto,
    /// Every filter on every plane, fill 0.5 on chroma.
    Each,
    /// Luma alone; the output has no chroma.
    Luma,
}

/// A graph bound to a format.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Format of the input.
    pub input: Format,
    /// Format of the output.
    pub output: Format,
    /// One for each plane of the output.
    pub planes: Vec<PlaneGraph>,
}

impl Graph {
    /// Binds the filters to the planes of `input`.
    ///
    /// # Errors
    /// A filter does not fit the size of its input, such as a crop that reaches outside. [`GraphError::NoLuma`]
    pub fn bind(&self, input: &Format, planes: Planes) -> Result<Bound, GraphError> {
        if input.width == 0 || input.height == 0 {
            return Err(GraphError::NoSamples {
                width: input.width,
                height: input.height,
            });
        }
        if planes == Planes::Luma && input.chroma == Chroma::Rgb {
            return Err(GraphError::NoLuma);
        }
        let count = if planes == Planes::Luma {
            1
        } else {
            input.planes()
        };
        let luma = self.plane(input, 0, planes, &[])?;
        let sizes = &luma.sizes;
        let size = sizes.last().copied().unwrap_or(input.plane_size(0));
        let chroma: Result<Vec<_>, _> = (1..count)
            .map(|p| Ok(self.plane(input, p, planes, sizes)?.graph))
            .collect();
        let chroma = chroma?;
        let output = Format {
            width: size.w,
            height: size.h,
            chroma: if planes == Planes::Luma {
                Chroma::Mono
            } else {
                input.chroma
            },
            depth: input.depth,
            range: input.range,
        };
        let planes = std::iter::once(luma.graph).chain(chroma).collect();
        Ok(Bound {
            input: *input,
            output,
            planes,
        })
    }

    /// The graph of plane `index`. For a chroma plane, `luma` has the size of the luma plane after each filter.
    fn plane(
        &self,
        input: &Format,
        index: usize,
        planes: Planes,
        luma: &[Size],
    ) -> Result<OnePlane, GraphError> {
        let chroma_subsampling = input.chroma.subsampling();
        let is_luma = !input.is_chroma(index);
        let grey = !is_luma && planes == Planes::Auto;
        let mut plane = Plane {
            size: input.plane_size(index),
            luma: input.plane_size(0),
            subsampling: if is_luma { (1, 1) } else { chroma_subsampling },
            chroma_subsampling,
            component: match (input.chroma, index) {
                (Chroma::Rgb, _) => Component::Rgb,
                (_, 0) => Component::Luma,
                (_, 1) => Component::Cb,
                _ => Component::Cr,
            },
            fill: if is_luma { 0.0 } else { GREY },
            codes: input.codes(index),
        };
        let mut graph = PlaneGraph::new(plane.size);
        let mut port = Port::Source;
        let mut sizes = Vec::with_capacity(self.filters.len());
        for (i, call) in self.filters.iter().enumerate() {
            let size = call.output_size(&plane)?;
            if grey && call.entry.role == Role::Luma {
                port = Port::Constant(GREY);
                graph.set_constant(GREY);
            }
            if !matches!(port, Port::Constant(_)) {
                graph.filter = call.name;
                port = call.filter.expand(&plane, size, port, &mut graph);
            }
            graph.size = size;
            plane.size = size;
            plane.luma = luma.get(i).copied().unwrap_or(size);
            sizes.push(size);
        }
        Ok(OnePlane { graph, sizes })
    }
}

struct OnePlane {
    graph: PlaneGraph,
    /// Size after each filter.
    sizes: Vec<Size>,
}

impl Call {
    fn output_size(&self, plane: &Plane) -> Result<Size, GraphError> {
        let refuse = |why| GraphError::Impossible {
            filter: self.name,
            column: self.column,
            why,
        };
        let size = self.filter.output_size(plane).map_err(refuse)?;
        if size.area() > MAX_SAMPLES {
            return Err(refuse(format!(
                "{size} is more than {MAX_SAMPLES} samples a plane; make it smaller"
            )));
        }
        Ok(size)
    }
}
