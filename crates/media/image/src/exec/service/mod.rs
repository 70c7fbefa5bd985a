//! A bound graph as a service of the runtime: what an item is, how a unit is divided, what it costs.

mod backward;
mod batched;
pub(crate) mod executor;
mod plane;
mod sequential;
mod tiled;

use std::ops::Range;

use evener_runtime::device::OnDevice;
use evener_runtime::{Flow, Part, Service, Shape, Simd, Structure};

use super::access::{Source, Target};
use super::cost::{self, Predicted};
use super::integer;
use crate::device::Plan;
use crate::format::{Format, Timing};
use crate::frame::{Frame, Samples};
use crate::graph::bind::Bound;
use crate::kernels::BATCH;
use crate::kernels::convert::Scale;

use executor::{EXECUTORS, FrameExecutor, Frames};
use plane::{Plane, share};

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    sequential: super::sequential::Scratch,
    tiled: super::tiled::Scratch,
    batched: super::batched::Scratch,
    backward: super::backward::Scratch,
    integer: integer::Scratch,
}

/// A graph bound to a format, ready to run frames.
///
/// An item is an equal share of the rows of every computed plane. There are as many items as the lowest plane has rows. One
/// unit runs at a time, except under `farm`. A plane whose result is known beforehand is written once, into a new output.
pub struct FilterService {
    key: String,
    input: Format,
    output: Format,
    timing: Option<Timing>,
    simd: Simd,
    planes: Vec<Plane>,
    device: Option<Plan>,
}

impl FilterService {
    /// Prepares `bound`; `key` names graph and format for remembered plans. Tiles are sized to `private_cache` bytes.
    pub fn new(bound: &Bound, key: String, private_cache: usize, simd: Simd) -> Self {
        let planes = bound.planes.iter().enumerate();
        let planes = planes.map(|(p, graph)| {
            let scales = (
                Scale::new(bound.input.codes(p)),
                Scale::new(bound.output.codes(p)),
            );
            Plane::new(graph, scales, bound.input.depth, private_cache, simd)
        });
        FilterService {
            key,
            input: bound.input,
            output: bound.output,
            timing: None,
            simd,
            device: Plan::new(bound),
            planes: planes.collect(),
        }
    }

    /// Format of the frames that are read.
    pub fn input_format(&self) -> &Format {
        &self.input
    }

    /// Format of the frames that are written.
    pub fn output_format(&self) -> &Format {
        &self.output
    }

    /// Sets the timing of the stream, for a sink that writes it.
    #[must_use]
    pub fn with_timing(mut self, timing: &Timing) -> Self {
        self.timing = Some(*timing);
        self
    }

    /// The timing of the stream, if it was set.
    pub fn timing(&self) -> Option<&Timing> {
        self.timing.as_ref()
    }

    /// The graph for devices, if they can compute it.
    pub(crate) fn device_plan(&self) -> Option<&Plan> {
        self.device.as_ref()
    }

    /// Computes one plane, whose result is not known beforehand, as `tiled` does.
    pub(crate) fn compute_plane(
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
            plane.rows(self.simd, &source, rows, &mut target, tiled);
        }
    }

    /// Writes the planes of an output whose result is known beforehand.
    pub(crate) fn fill_constant(&self, frame: &Frame) {
        for (p, plane) in self.planes.iter().enumerate() {
            if let Some(value) = plane.constant() {
                let rows = 0..plane.graph.size.h as usize;
                plane.target(frame.plane(p), rows).fill(value);
            }
        }
    }

    /// The number of planes of a frame that are read, from the first one on. The content of later planes changes nothing.
    pub fn planes_read(&self) -> usize {
        self.computed().map(|(p, _)| p + 1).max().unwrap_or(0)
    }

    /// Items of a unit under every structure with one computing pass.
    fn items(&self) -> u32 {
        let heights = self.computed().map(|(_, plane)| plane.graph.size.h);
        heights.min().unwrap_or(1)
    }

    /// The planes whose result is not known beforehand, with their indices.
    fn computed(&self) -> impl Iterator<Item = (usize, &Plane)> {
        let planes = self.planes.iter().enumerate();
        planes.filter(|(_, plane)| plane.constant().is_none())
    }

    /// Calls `body` with each plane's rows of a part of the last pass, held for writing, where they are not computed in
    /// integers.
    fn each(
        &self,
        part: &Part,
        frames: Frames<'_>,
        integer: &mut integer::Scratch,
        mut body: impl FnMut(&Plane, &Source<'_>, Range<usize>, &mut Target<'_>),
    ) {
        let (input, output) = frames.first();
        let count = self.items();
        for (p, plane) in self.computed() {
            let rows = share(&part.items, count, plane.graph.size.h);
            if rows.is_empty() {
                continue;
            }
            let mut target = plane.target(output.plane(p), rows.clone());
            let source = plane.source(input.plane(p));
            if !plane.integer_rows(self.simd, &source, &rows, &mut target, integer) {
                body(plane, &source, rows, &mut target);
            }
        }
    }
}

impl Service for FilterService {
    type Input = Frame;
    type Output = Frame;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.key.clone()
    }

    fn input(&self) -> Frame {
        Frame::new(&self.input)
    }

    fn output(&self) -> Frame {
        let frame = Frame::new(&self.output);
        self.fill_constant(&frame);
        frame
    }

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn prepare(&self, structure: &'static Structure) {
        if let Some(executor) = executor::of(structure) {
            self.computed()
                .for_each(|(_, plane)| executor.prepare(plane));
        }
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        let items = self.items();
        let predicted: Vec<Predicted> = self
            .computed()
            .map(|(_, plane)| plane.predicted(self.input.depth))
            .collect();
        let shape = |executor: &&dyn FrameExecutor| {
            let (structure, passes) = (executor.structure(), executor.passes(self)?);
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
                passes,
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
        EXECUTORS.iter().filter_map(shape).collect()
    }

    fn run(
        &self,
        part: &Part,
        input: &Frame,
        output: &Frame,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        self.run_group(part, &[input], &[output], scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Frame],
        outputs: &[&Frame],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let structure = part.structure;
        let executor = executor::of(structure)
            .ok_or_else(|| format!("filters have no structure {structure}"))?;
        executor.run(self, part, Frames { inputs, outputs }, scratch)
    }

    fn device(&self) -> Option<&dyn OnDevice<Frame, Frame>> {
        self.device.as_ref().map(|_| self as _)
    }
}
