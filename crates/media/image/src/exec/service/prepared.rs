//! A bound graph that is ready to compute frames: the executors of its planes.

use std::ops::Range;

use evener_runtime::{Flow, Part, Shape, Simd};

use super::Scratch;
use super::executor::{self, EXECUTORS, FrameExecutor, Frames};
use super::plane::{Plane, share};
use crate::exec::access::{Source, Target};
use crate::exec::cost::{self, Predicted};
use crate::exec::integer;
use crate::format::Format;
use crate::frame::{Frame, Samples};
use crate::graph::bind::Bound;
use crate::kernels::BATCH;
use crate::kernels::convert::Scale;
use crate::structures::{FARM, TILED};

/// The planes of a bound graph, each with its executors.
pub(crate) struct Prepared {
    pub(super) simd: Simd,
    pub(super) planes: Vec<Plane>,
    input: Format,
}

impl Prepared {
    /// Tiles are sized to `private_cache` bytes.
    pub fn new(bound: &Bound, private_cache: usize, simd: Simd) -> Prepared {
        let planes = bound.planes.iter().enumerate().map(|(p, graph)| {
            let own = p.min(bound.input.planes() - 1);
            let others = graph.others.iter().map(|other| {
                let format = match other.frame.checked_sub(1) {
                    None => &bound.input,
                    Some(at) => &bound.others[at],
                };
                format.codes(other.plane)
            });
            let read = std::iter::once(bound.input.codes(own)).chain(others);
            let scales = (
                read.map(Scale::new).collect(),
                Scale::new(bound.output.codes(p)),
            );
            Plane::new(graph, scales, bound.input.depth, private_cache, simd)
        });
        Prepared {
            simd,
            planes: planes.collect(),
            input: bound.input,
        }
    }

    /// Whether each plane is computed from the same plane of one frame, as every structure can.
    pub fn is_of_one_plane(&self) -> bool {
        self.planes
            .iter()
            .all(|plane| plane.graph.is_of_one_plane())
    }

    /// What each plane is predicted to cost.
    pub fn predicted(&self) -> Vec<Predicted> {
        let planes = self.computed();
        planes
            .map(|(_, plane)| plane.predicted(self.input.depth))
            .collect()
    }

    /// The planes whose result is not known beforehand, with their indices.
    pub fn computed(&self) -> impl Iterator<Item = (usize, &Plane)> {
        let planes = self.planes.iter().enumerate();
        planes.filter(|(_, plane)| plane.constant().is_none())
    }

    /// Items of a unit under every structure with one computing pass.
    pub fn items(&self) -> u32 {
        let heights = self.computed().map(|(_, plane)| plane.graph.size.h);
        heights.min().unwrap_or(1)
    }

    /// The structures in which the graph can run.
    pub fn shapes(&self) -> Vec<Shape> {
        match self.is_of_one_plane() {
            true => self.shapes_of(EXECUTORS.iter()),
            false => self.tiled_shapes(),
        }
    }

    /// The structures that all graphs can run in, of any number of frames.
    pub fn tiled_shapes(&self) -> Vec<Shape> {
        self.shapes_of(EXECUTORS.iter().filter(|executor| {
            let structure = executor.structure();
            structure == &TILED || structure == &FARM
        }))
    }

    fn shapes_of<'a>(
        &self,
        executors: impl Iterator<Item = &'a &'static dyn FrameExecutor>,
    ) -> Vec<Shape> {
        let (items, predicted) = (self.items(), self.predicted());
        let shape = |executor: &&dyn FrameExecutor| {
            let structure = executor.structure();
            let grains = match structure.flow {
                Flow::Farm => (1, 1),
                // A row of a batch has eight frames.
                Flow::Grouped => (items.div_ceil(8).max(1), (items / 256).max(1)),
                _ => (items.div_ceil(16).max(1), (items / 256).max(1)),
            };
            Some(Shape {
                structure,
                default_grain: grains.0,
                min_grain: grains.1,
                passes: executor.passes(self)?,
                steps: Vec::new(),
                lines: Vec::new(),
                pass_names: Vec::new(),
                device_pass: None,
                units: match structure.flow {
                    Flow::Grouped => BATCH as u32,
                    _ => 1,
                },
                work: cost::total(predicted.iter().map(|plane| executor.work(plane))),
            })
        };
        executors.filter_map(shape).collect()
    }

    /// Runs a part.
    ///
    /// # Errors
    /// The graph cannot run so.
    pub fn run(
        &self,
        part: &Part,
        frames: Frames<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let structure = part.structure;
        let executor = executor::of(structure)
            .ok_or_else(|| format!("filters have no structure {structure}"))?;
        executor.run(self, part, frames, scratch)
    }

    /// Computes one plane, whose result is not known beforehand, as `tiled` does.
    pub fn compute_plane(
        &self,
        index: usize,
        input: &Samples,
        output: &Samples,
        scratch: &mut Scratch,
    ) {
        let plane = &self.planes[index];
        let rows = 0..plane.graph.size.h as usize;
        let mut target = plane.target(output, rows.clone());
        let source = plane.source(input);
        let Scratch { integer, tiled, .. } = scratch;
        if !plane.integer_rows(self.simd, &source, &rows, &mut target, integer) {
            plane.rows(self.simd, &[source], rows, &mut target, tiled);
        }
    }

    /// Writes the planes of an output whose result is known beforehand.
    pub fn fill_constant(&self, frame: &Frame) {
        for (p, plane) in self.planes.iter().enumerate() {
            if let Some(value) = plane.constant() {
                let rows = 0..plane.graph.size.h as usize;
                plane.target(frame.plane(p), rows).fill(value);
            }
        }
    }

    /// Writes the rows of a part of planes whose result is known beforehand.
    pub fn fill_part(&self, part: &Part, frames: Frames<'_>) {
        let (_, output) = frames.first();
        for (p, plane) in self.planes.iter().enumerate() {
            let rows = share(&part.items, frames.items, plane.graph.size.h);
            if let (Some(value), false) = (plane.constant(), rows.is_empty()) {
                plane.target(output.plane(p), rows).fill(value);
            }
        }
    }

    /// Calls `body` with each plane's rows of a part of the last pass, held for writing, where they are not computed in
    /// integers.
    pub(super) fn each(
        &self,
        part: &Part,
        frames: Frames<'_>,
        integer: &mut integer::Scratch,
        mut body: impl FnMut(&Plane, &[Source<'_>], Range<usize>, &mut Target<'_>),
    ) {
        let (inputs, output) = frames.first();
        for (p, plane) in self.computed() {
            let rows = share(&part.items, frames.items, plane.graph.size.h);
            if rows.is_empty() {
                continue;
            }
            let mut target = plane.target(output.plane(p), rows.clone());
            let sources = plane.sources(inputs, p);
            if !plane.integer_rows(self.simd, &sources[0], &rows, &mut target, integer) {
                body(plane, &sources, rows, &mut target);
            }
        }
    }

    /// The planes of a frame that are read, from the first one on. The content of later planes changes nothing.
    pub fn planes_read(&self) -> usize {
        let read = self.computed().flat_map(|(p, plane)| {
            let others = plane.graph.others.iter().map(|other| other.plane + 1);
            others.chain([p + 1])
        });
        read.max().unwrap_or(0).min(self.input.planes())
    }
}
