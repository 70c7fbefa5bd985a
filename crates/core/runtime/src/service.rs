//! What a service gives the runtime so that its units can be divided, dispatched and tuned.

use crate::device::OnDevice;
use crate::structure::{Flow, Structure};
use std::ops::Range;

/// The work one unit costs under a structure, as the service infers it before anything is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Arithmetic operations per unit, in the service's own weight (1.0 = one vectorised operation on an element).
    pub ops: f64,
    /// Bytes per unit that pass between memory (beyond the private cache) and workers.
    pub bytes: f64,
    /// Bytes of memory that [`Service::prepare`] makes, once, before the first unit.
    pub fresh: f64,
}

/// One way a service can run a unit: a structure, its passes and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The structure this is about.
    pub structure: &'static Structure,
    /// Items of each pass; passes run in order with a barrier between. A farm has one pass; one
    /// worker runs all its items, by and by where the unit may be given up. A pipeline has one pass whose items are
    /// *steps*, which run on a unit in their order. Passes of a wavefront have no barriers between; their items are the
    /// steps of all [`lines`](Shape::lines).
    pub passes: Vec<u32>,
    /// Of a [wavefront](crate::structure::Flow::Wavefront) the lines of each pass, which have equally many steps: step
    /// `s` of line `l` is item `l * (items / lines) + s`. Empty otherwise.
    pub lines: Vec<u32>,
    /// What traces call each pass, or empty: they then name the structure.
    pub pass_names: Vec<&'static str>,
    /// Relative costs of the steps of a pipeline, one figure each, or empty where they are not known. Only the ends of
    /// stages depend on them, and the stream corrects them by measuring.
    pub steps: Vec<f64>,
    /// The grain of a plan where it is neither named nor tuned.
    pub default_grain: u32,
    /// Smallest grain worth trying.
    pub min_grain: u32,
    /// Units that a part is about where they are [grouped](crate::structure::Flow::Grouped), as far as there are so
    /// many. Of a [wavefront](crate::structure::Flow::Wavefront), units that may be in work at once: unit `n + units` is
    /// not begun before unit `n` is done, so it must be more than the service looks ahead. 1 otherwise.
    pub units: u32,
    /// Of a [wavefront](crate::structure::Flow::Wavefront) the pass that [devices](Service::device) compute, all lines of a
    /// unit at once. So needs must not go in a circle where these lines are taken as one. A service that has this has no
    /// farms. `None` where devices compute whole units or there are none.
    pub device_pass: Option<usize>,
    /// Predicted work of a unit.
    pub work: Work,
}

impl Shape {
    /// A way whose jobs may be of any size and whose steps, if it has any, cost the same.
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

/// What must be done before a part of a wavefront may run: the first `steps` steps of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The unit of that line, by its number.
    pub unit: u64,
    /// Its pass.
    pub pass: usize,
    /// The line, counted in its pass.
    pub line: u32,
    /// So many of its steps must be done. At 0 nothing is needed.
    pub steps: u32,
}

/// A part of a unit: what a job is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The structure in force.
    pub structure: &'static Structure,
    /// Which pass of the structure.
    pub pass: usize,
    /// Items of that pass.
    pub items: Range<u32>,
}

impl Part {
    /// Which of a unit's `count` elements the job is about, where an item is an element. A unit with fewer elements than
    /// the pass has items leaves jobs with none.
    pub fn of(&self, count: usize) -> Range<usize> {
        let end = count.min(self.items.end as usize);
        end.min(self.items.start as usize)..end
    }
}

/// Units, kernels and division of a domain. The runtime calls; a service never starts a thread, pins one,
/// or decides by the number of cores.
pub trait Service: Send + Sync + 'static {
    /// A unit as it is read. Recycled: `Source::read` overwrites what the service reads of it.
    type Input: Send + Sync;
    /// A unit as it is written. Recycled: a complete run over all passes overwrites all of it, but what is the same in
    /// every unit, which a service may write when it makes one.
    type Output: Send + Sync;
    /// Private memory of one worker, kept between jobs.
    type Scratch: Send;

    /// Identifies graph, sizes and formats, for remembered plans and reports.
    fn key(&self) -> String;
    /// A buffer for one unit that is read.
    fn input(&self) -> Self::Input;
    /// A buffer for one unit that is written, holding already what is the same in every unit.
    fn output(&self) -> Self::Output;
    /// Private memory for one worker.
    fn scratch(&self) -> Self::Scratch;
    /// Makes what `structure` needs beside a unit's buffers, and touches it, so that the first unit does not wait for
    /// memory while it is timed. Called before the first unit under a structure; the time is no unit's cost. By default
    /// nothing is done, and what is needed may be made by the first unit.
    ///
    /// Buffers that [`Service::input`] and [`Service::output`] make should be touched too, as those of
    /// [`buffer`](crate::buffer) are.
    fn prepare(&self, structure: &'static Structure) {
        let _ = structure;
    }
    /// The structures this service can run, most plain first (`sequential` where there is one).
    /// `private_cache` is the private cache of a worker in bytes.
    fn shapes(&self, private_cache: usize) -> Vec<Shape>;
    /// Computes a part of a unit. A failure (`Err`, or a panic) fails the unit.
    ///
    /// Parts of one pass run on several workers at once and never overlap. In a pipeline the parts of a unit are
    /// contiguous ranges of steps, which run one after the other, in order, on any workers. So the part that begins at 0
    /// reads the input, and the others go on where the one before left the output.
    ///
    /// In a wavefront a part lies within one line. Parts of a line run in order, one at a time, on any workers; parts of
    /// other lines, of this unit and of others, run at the same time as far as [`Service::needs`] allows. A part that
    /// depends on which unit it is about reads the number in its input, where the source put it: units are numbered
    /// from 0 in the order in which they are read.
    fn run(
        &self,
        part: &Part,
        input: &Self::Input,
        output: &Self::Output,
        scratch: &mut Self::Scratch,
    ) -> Result<(), String>;
    /// Computes a part of each of several units: of as many inputs and outputs, at least one and at most
    /// [`Shape::units`]. Called where units are [grouped](crate::structure::Flow::Grouped), which only a service that has
    /// this offers.
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

    /// What must be done before a part of unit number `unit` may run, put into `needs`, which is empty. By default
    /// nothing. Asked where units flow as a [wavefront](crate::structure::Flow::Wavefront). That the steps before the part
    /// in its own line are done is a matter of course.
    ///
    /// It must be the same whenever it is asked, and a part must need all that a part with the same beginning and fewer
    /// steps needs. Units before those in work are done. Units after the end of the stream count as done, so that a
    /// service may look ahead, to fewer units than [`Shape::units`].
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        let _ = (unit, part, needs);
    }

    /// How units are computed by a device, if they can be. By default they cannot.
    fn device(&self) -> Option<&dyn OnDevice<Self::Input, Self::Output>> {
        None
    }
}
