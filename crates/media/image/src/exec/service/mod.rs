//! A bound graph as a service of the runtime: what an item is, how a unit is divided, what it costs.

mod backward;
mod batched;
pub(crate) mod executor;
mod plane;
pub(crate) mod prepared;
mod sequential;
mod tiled;

use evener_runtime::device::OnDevice;
use evener_runtime::{Part, Service, Shape, Simd, Structure};

use crate::device::Plan;
use crate::format::{Format, Timing};
use crate::frame::{Frame, Samples};
use crate::graph::bind::Bound;

use executor::Frames;
use prepared::Prepared;

/// Private memory of one worker.
#[derive(Default)]
pub struct Scratch {
    sequential: super::sequential::Scratch,
    tiled: super::tiled::Scratch,
    batched: super::batched::Scratch,
    backward: super::backward::Scratch,
    integer: super::integer::Scratch,
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
    prepared: Prepared,
    device: Option<Plan>,
}

impl FilterService {
    /// Prepares `bound`; `key` names graph and format for remembered plans. Tiles are sized to `private_cache` bytes.
    pub fn new(bound: &Bound, key: String, private_cache: usize, simd: Simd) -> Self {
        FilterService {
            key,
            input: bound.input,
            output: bound.output,
            timing: None,
            prepared: Prepared::new(bound, private_cache, simd),
            device: Plan::new(bound),
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
        self.prepared.compute_plane(index, input, output, scratch);
    }

    /// Writes the planes of an output whose result is known beforehand.
    pub(crate) fn fill_constant(&self, frame: &Frame) {
        self.prepared.fill_constant(frame);
    }

    /// The number of planes of a frame that are read, from the first one on. The content of later planes changes nothing.
    pub fn planes_read(&self) -> usize {
        self.prepared.planes_read()
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
            let planes = self.prepared.computed();
            planes.for_each(|(_, plane)| executor.prepare(plane));
        }
    }

    fn shapes(&self, _private_cache: usize) -> Vec<Shape> {
        self.prepared.shapes()
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
        let inputs: Vec<&[&Frame]> = inputs.iter().map(std::slice::from_ref).collect();
        let inputs = &inputs[..];
        let items = self.prepared.items();
        let frames = Frames {
            inputs,
            outputs,
            items,
        };
        self.prepared.run(part, frames, scratch)
    }

    fn device(&self) -> Option<&dyn OnDevice<Frame, Frame>> {
        self.device.as_ref().map(|_| self as _)
    }
}
