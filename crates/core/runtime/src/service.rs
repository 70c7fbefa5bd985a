//! The interface of a service: how its units are divided, dispatched and tuned.

use crate::device::OnDevice;
use crate::structure::{Flow, Structure};
use std::ops::Range;

/// The predicted work of one unit under a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Arithmetic operations per unit, in the service's own weight (1.0 is one vectorised operation on an element).
    pub ops: f64,
    /// Bytes per unit that move between workers and memory beyond the private cache.
    pub bytes: f64,
    /// Bytes of memory that [`Service::prepare`] allocates, once, before the first unit.
    pub fresh: f64,
}

/// One way of running a unit: a structure, its passes and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The structure.
    pub structure: &'static Structure,
    /// The number of items in each pass. Passes run in order, with a barrier between them. A farm has one pass; one
    /// worker runs all its items, in several calls if the unit may be abandoned. A pipeline has one pass whose items
    /// are *steps*, which run in order. Passes of a wavefront have no barriers; their items are the steps of all
    /// [`lines`](Shape::lines).
    pub passes: Vec<u32>,
    /// For a [wavefront](crate::structure::Flow::Wavefront), the number of lines in each pass. All lines have the
    /// same number of steps: step `s` of line `l` is item `l * (items / lines) + s`. Empty otherwise.
    pub lines: Vec<u32>,
    /// The name of each pass in traces. If empty, traces use the structure's name.
    pub pass_names: Vec<&'static str>,
    /// Relative costs of the steps of a pipeline, one figure each, or empty if unknown. They determine only the
    /// boundaries of stages, and the stream corrects them by measuring.
    pub steps: Vec<f64>,
    /// The grain of a plan if it is neither named nor tuned.
    pub default_grain: u32,
    /// The smallest grain worth trying.
    pub min_grain: u32,
    /// For [grouped](crate::structure::Flow::Grouped) units, the maximum number of units in a part. For a
    /// [wavefront](crate::structure::Flow::Wavefront), the maximum number of units in progress: unit `n + units` does
    /// not start before unit `n` is done, so it must be larger than the service's look-ahead. 1 otherwise.
    pub units: u32,
    /// For a [wavefront](crate::structure::Flow::Wavefront), the pass that [devices](Service::device) compute, all
    /// lines of a unit at once. Dependencies must have no cycle if these lines are treated as one. Such a service has
    /// no farms. `None` if devices compute whole units, or if there are none.
    pub device_pass: Option<usize>,
    /// The predicted work of a unit.
    pub work: Work,
}

impl Shape {
    /// A shape whose jobs may have any size, and whose steps, if any, all cost the same.
    pub fn new(
        structure: &'static Structure,
        passes: Vec<u32>,
        default_grain: u32,
        work: Work,
    ) -> Shape {
        Shape {
            structure,
            passes,
            steps: Vec::new(),
            lines: Vec::new(),
            pass_names: Vec::new(),
            default_grain,
            min_grain: 1,
            units: 1,
            device_pass: None,
            work,
        }
    }

    /// Whether devices can take part, if the service has commands for them.
    pub(crate) fn takes_devices(&self) -> bool {
        match self.structure.flow {
            Flow::Farm => true,
            Flow::Wavefront => self.device_pass.is_some(),
            _ => false,
        }
    }

    /// Whether units need not wait for one another, so that none is dropped in a live stream because of others.
    pub(crate) fn suits_live(&self) -> bool {
        let one = self.structure.flow == Flow::Wavefront && self.units == 1;
        one || !self.structure.overlaps()
    }
}

/// A dependency of a part of a wavefront: the first `steps` steps of a line must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The number of the unit.
    pub unit: u64,
    /// The pass.
    pub pass: usize,
    /// The line within the pass.
    pub line: u32,
    /// The number of steps that must be done. With 0 there is no dependency.
    pub steps: u32,
}

/// A part of a unit: the work of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The current structure.
    pub structure: &'static Structure,
    /// The index of the pass in the structure.
    pub pass: usize,
    /// The items of that pass.
    pub items: Range<u32>,
}

impl Part {
    /// The range of a unit's `count` elements that the job covers, if an item is an element. If a unit has fewer
    /// elements than the pass has items, some jobs cover none.
    pub fn of(&self, count: usize) -> Range<usize> {
        let end = count.min(self.items.end as usize);
        end.min(self.items.start as usize)..end
    }
}

/// The units and kernels of a domain, and the division of its work.
///
/// The runtime calls a service in this order: [`shapes`](Service::shapes) first; [`input`](Service::input),
/// [`output`](Service::output) and [`scratch`](Service::scratch) for each buffer and worker;
/// [`prepare`](Service::prepare) before the first unit under a structure; then [`run`](Service::run) for each part. A
/// service starts and pins no threads, and does not depend on the number of cores.
pub trait Service: Send + Sync + 'static {
    /// A unit of input. It is recycled: `Source::read` overwrites the parts that the service reads.
    type Input: Send + Sync;
    /// A unit of output. It is recycled: a complete run over all passes overwrites everything except the parts that
    /// are the same in every unit, which a service may write when it creates the buffer.
    type Output: Send + Sync;
    /// Private memory of one worker, kept between jobs.
    type Scratch: Send;

    /// Identifies the graph, sizes and formats, for remembered plans and reports.
    fn key(&self) -> String;
    /// Creates a buffer for one unit of input.
    fn input(&self) -> Self::Input;
    /// Creates a buffer for one unit of output, with the parts that are the same in every unit already written.
    fn output(&self) -> Self::Output;
    /// Creates the private memory of one worker.
    fn scratch(&self) -> Self::Scratch;
    /// Allocates and touches the memory that `structure` needs beside a unit's buffers, so that the first unit does
    /// not wait for memory while it is timed. Called before the first unit under a structure; no unit is charged for
    /// it. By default it does nothing, and the first unit may allocate the memory.
    ///
    /// [`Service::input`] and [`Service::output`] should touch their buffers too, as [`buffer`](crate::buffer) does.
    fn prepare(&self, structure: &'static Structure) {
        let _ = structure;
    }
    /// The structures that this service can run, simplest first (`sequential` if it has it). `private_cache` is the
    /// private cache of a worker, in bytes.
    fn shapes(&self, private_cache: usize) -> Vec<Shape>;
    /// Computes a part of a unit. A failure (`Err`, or a panic) fails the unit.
    ///
    /// Parts of one pass run on several workers at once and never overlap. In a pipeline the parts of a unit are
    /// contiguous ranges of steps, which run one after the other, in order, on any workers. So the part that starts
    /// at 0 reads the input, and each later part continues from the output of the part before.
    ///
    /// In a wavefront a part lies within one line. Parts of a line run in order, one at a time, on any workers. Parts
    /// of other lines, of this unit and of others, run at the same time, within the limits of [`Service::needs`]. A
    /// part that depends on the number of its unit reads it from its input, where the source stored it: units are
    /// numbered from 0 in the order in which they are read.
    fn run(
        &self,
        part: &Part,
        input: &Self::Input,
        output: &Self::Output,
        scratch: &mut Self::Scratch,
    ) -> Result<(), String>;
    /// Computes a part of each of several units: equally many inputs and outputs, at least one and at most
    /// [`Shape::units`]. Called for [grouped](crate::structure::Flow::Grouped) units, which a service may offer only
    /// if it has this function.
    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Self::Input],
        outputs: &[&Self::Output],
        scratch: &mut Self::Scratch,
    ) -> Result<(), String> {
        let _ = (inputs, outputs, scratch);
        Err(format!("the service has no structure {}", part.structure))
    }

    /// Puts the dependencies of a part of unit number `unit` into `needs`, which is empty. By default there are none.
    /// Called for units that flow as a [wavefront](crate::structure::Flow::Wavefront). The earlier steps of the
    /// part's own line are implied.
    ///
    /// The result must be the same on every call. A part must depend on everything that a part with the same start
    /// and fewer steps depends on. Units before those in progress are done. Units after the end of the stream count
    /// as done, so a service may look ahead, to fewer units than [`Shape::units`].
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        let _ = (unit, part, needs);
    }

    /// How devices compute units, if they can. By default they cannot.
    fn device(&self) -> Option<&dyn OnDevice<Self::Input, Self::Output>> {
        None
    }
}
