//! Runs single units: all passes of a plan's shape, each as a batch of jobs.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::error::{StreamError, panic_text};
use super::wavefront::{self, Layout};
use crate::buffer::per_worker::{Held, HoldError, PerWorker};
use crate::device::MOST_LANES;
use crate::dispatch::{Batch, Caller, Outcome, Pool, WorkerId};
use crate::plan::Plan;
use crate::runtime::Runtime;
use crate::service::{Need, Part, Service, Shape};
use crate::stages;
use crate::structure::{Flow, Structure};
use crate::sync::lock;
use crate::trace::{Trace, Track};

/// Runs units of one service, and keeps the private memory of workers between them.
///
/// Created by [`Runtime::executor`](crate::Runtime::executor), for benchmarks and tests that run one unit under one
/// plan.
pub struct Executor<'a, S: Service> {
    pool: &'a Pool,
    service: &'a S,
    shapes: Vec<Shape>,
    trace: Trace,
    /// A worker makes its own when it first needs it, so that it lies in memory near that worker.
    scratch: PerWorker<Option<S::Scratch>>,
    failed: AtomicBool,
    message: Mutex<Option<String>>,
}

impl Runtime {
    /// Runs one unit under one plan; see [`Executor::run`]. It allocates the private memory of workers each time, so
    /// use [`Runtime::executor`] to measure times.
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    pub fn execute<S: Service>(
        &self,
        service: &S,
        plan: &Plan,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), StreamError> {
        self.executor(service).run(plan, input, output)
    }

    /// Creates an executor, which runs single units of a service, each under its own plan.
    pub fn executor<'a, S: Service>(&'a self, service: &'a S) -> Executor<'a, S> {
        Executor::new(
            self.pool(),
            service,
            self.topology().private_cache(),
            self.trace().clone(),
        )
    }
}

/// What a part is computed on.
enum Units<'u, S: Service> {
    One(&'u S::Input, &'u S::Output),
    Group(&'u [&'u S::Input], &'u [&'u S::Output]),
}

/// A worker's private memory, while it runs parts.
type Hold<'e, S> = Result<Held<'e, Option<<S as Service>::Scratch>>, HoldError>;

impl<S: Service> Clone for Units<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Service> Copy for Units<'_, S> {}

impl<'a, S: Service> Executor<'a, S> {
    pub(crate) fn new(
        pool: &'a Pool,
        service: &'a S,
        private_cache: usize,
        trace: Trace,
    ) -> Executor<'a, S> {
        Executor {
            pool,
            service,
            shapes: service.shapes(private_cache),
            trace,
            // Lanes of devices have memory too, to compute units again, and so has who tries devices.
            scratch: PerWorker::new(pool.workers() + MOST_LANES + 1, |_| None),
            failed: AtomicBool::new(false),
            message: Mutex::new(None),
        }
    }

    /// The shapes of the service.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Runs all passes of `plan` on one unit, and returns when the output is complete.
    ///
    /// The grain is that of the plan's longest pass; shorter passes are divided into equally many jobs. A wavefront's
    /// unit has number 0 and is the only one of its stream.
    ///
    /// # Errors
    /// [`StreamError::NoStructure`], [`StreamError::Unsupported`], [`StreamError::EmptyPlan`] or
    /// [`StreamError::Workers`] if the plan cannot be run; [`StreamError::Unit`], with unit 0, if a kernel fails.
    pub fn run(
        &mut self,
        plan: &Plan,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), StreamError> {
        self.check(plan)?;
        match self.run_units(plan, 0, &[input], &[output], None) {
            Ok(_) => Ok(()),
            Err(message) => {
                self.drop_scratch();
                Err(StreamError::Unit {
                    unit: 0,
                    written: 0,
                    message,
                })
            }
        }
    }

    /// Whether `plan` can be run.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), StreamError> {
        if plan.workers == 0 || plan.grain == 0 {
            return Err(StreamError::EmptyPlan { plan: *plan });
        }
        let have = self.pool.workers() as u32;
        if plan.workers > have {
            return Err(StreamError::Workers {
                asked: plan.workers,
                have,
            });
        }
        if self.shape(plan.structure).is_none() {
            let known = self.shapes.iter().map(|s| s.structure).collect();
            return Err(StreamError::NoStructure {
                structure: plan.structure,
                known,
            });
        }
        if plan.structure.flow == Flow::Wavefront && self.layout(plan.structure).is_none() {
            return Err(StreamError::Unsupported {
                structure: plan.structure,
                why: "with lines that do not divide the items of its passes",
            });
        }
        Ok(())
    }

    pub(super) fn shape(&self, structure: &Structure) -> Option<&Shape> {
        self.shapes.iter().find(|s| s.structure == structure)
    }

    /// The lines of a wavefront.
    pub(super) fn layout(&self, structure: &Structure) -> Option<Layout> {
        self.shape(structure).and_then(Layout::new)
    }

    pub(super) fn service(&self) -> &'a S {
        self.service
    }

    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    /// The number of the one thread that computes a unit beside the stream.
    pub(super) fn beside(&self) -> WorkerId {
        WorkerId(self.pool.workers() + MOST_LANES)
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What a part of a wavefront needs. A panic is an error.
    pub(super) fn needs(
        &self,
        unit: u64,
        part: &Part,
        needs: &mut Vec<Need>,
    ) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.service.needs(unit, part, needs)))
            .map_err(|payload| format!("panicked: {}", panic_text(&*payload)))
    }

    /// Drops the private memory of a worker, which runs no part.
    pub(super) fn drop_scratch_of(&self, worker: WorkerId) {
        if let Ok(mut scratch) = self.scratch.hold(worker) {
            *scratch = None;
        }
    }

    /// Drops the private memory of all workers, so that what a failed kernel left in it is not used again.
    pub(super) fn drop_scratch(&self) {
        (0..self.scratch.len()).for_each(|worker| self.drop_scratch_of(WorkerId(worker)));
    }

    /// Workers that have made their private memory.
    pub(super) fn scratches(&mut self) -> usize {
        self.scratch.iter_mut().filter(|s| s.is_some()).count()
    }

    /// Has the service make what a structure needs. A panic is an error.
    pub(super) fn prepare(&self, structure: &'static Structure) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.service.prepare(structure)))
            .map_err(|payload| format!("panicked: {}", panic_text(&*payload)))
    }

    /// Runs all passes of a plan that was checked on units from number `unit` on: on one, or, side by side, on as many
    /// as the plan's shape has. `Err` says what a kernel said.
    pub(super) fn run_units(
        &self,
        plan: &Plan,
        unit: u64,
        inputs: &[&S::Input],
        outputs: &[&S::Output],
        deadline: Option<Instant>,
    ) -> Result<Outcome, String> {
        match plan.structure.flow {
            Flow::Pipeline => return self.run_stages(plan, unit, inputs[0], outputs[0]),
            Flow::Farm => {
                let whole =
                    self.run_alone(WorkerId(0), unit, plan.structure, inputs[0], outputs[0]);
                return whole.map(|()| Outcome::Finished);
            }
            Flow::Wavefront => {
                let whole = wavefront::run(self, plan, unit, inputs[0], outputs[0]);
                return whole.map(|()| Outcome::Finished);
            }
            Flow::Divided | Flow::Grouped => {}
        }
        let passes = self.shape(plan.structure).map_or(&[][..], |s| &s.passes);
        let longest = passes.iter().copied().max().unwrap_or(0);
        let structure = plan.structure;
        // Other workers fetch all that the closure holds from the caller's cache, so it holds what they need and no
        // pointers to it.
        let units = match structure.flow {
            Flow::Grouped => Units::Group(inputs, outputs),
            _ => Units::One(inputs[0], outputs[0]),
        };
        for (pass, &items) in passes.iter().enumerate() {
            let grain = scaled(plan.grain, items, longest);
            let batch = Batch {
                dispatch: plan.dispatch,
                items,
                grain,
                workers: plan.workers,
                deadline,
                caller: Caller::Works,
            };
            let init = move |worker| (worker, self.scratch.hold(worker));
            let job = move |(worker, scratch): &mut (WorkerId, Hold<'_, S>), items: Range<u32>| {
                if self.failed.load(Ordering::Relaxed) {
                    return;
                }
                let part = Part {
                    structure,
                    pass,
                    items,
                };
                if let Err(message) = self.run_part(*worker, unit, &part, units, scratch) {
                    self.fail(message);
                }
            };
            let outcome = match self.pool.run_with(&batch, init, job) {
                Ok(outcome) => outcome,
                Err(panic) => {
                    // A message of another job must not be taken for that of a later failure.
                    self.failure();
                    return Err(format!("panicked: {}", panic.message));
                }
            };
            if self.failed.load(Ordering::Relaxed) {
                return Err(self.failure());
            }
            if outcome == Outcome::CutOff {
                return Ok(Outcome::CutOff);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Runs one part on the worker that calls this and holds its private memory.
    #[inline]
    fn run_part(
        &self,
        worker: WorkerId,
        unit: u64,
        part: &Part,
        units: Units<'_, S>,
        scratch: &mut Hold<'_, S>,
    ) -> Result<(), String> {
        let scratch = scratch.as_deref_mut().map_err(|e| e.to_string())?;
        let scratch = scratch.get_or_insert_with(|| self.service.scratch());
        // Parts of small units are so short that a copy of the result would show in their time.
        let Some(start) = self.trace.start() else {
            return self.run_kernel(part, units, scratch);
        };
        let result = self.run_kernel(part, units, scratch);
        let name = self.name(part);
        self.trace
            .end(Track::Worker(worker.0), name, unit, Some(start));
        result
    }

    /// What traces call a part.
    pub(super) fn name(&self, part: &Part) -> &'static str {
        let shape = self.shape(part.structure);
        let name = shape.and_then(|shape| shape.pass_names.get(part.pass));
        name.copied().unwrap_or(part.structure.name)
    }

    #[inline]
    fn run_kernel(
        &self,
        part: &Part,
        units: Units<'_, S>,
        scratch: &mut S::Scratch,
    ) -> Result<(), String> {
        match units {
            Units::One(input, output) => self.service.run(part, input, output, scratch),
            Units::Group(inputs, outputs) => self.service.run_group(part, inputs, outputs, scratch),
        }
    }

    /// Runs items of a structure's only pass on the worker that calls this: those of a farm's unit, or steps of a
    /// pipeline. A panic is an error like any other.
    pub(super) fn run_items(
        &self,
        worker: WorkerId,
        unit: u64,
        (structure, items): (&'static Structure, Range<u32>),
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), String> {
        let part = Part {
            structure,
            pass: 0,
            items,
        };
        self.run_caught(worker, unit, part, input, output)
    }

    /// Runs all passes of a structure on a unit, on the worker that calls this.
    pub(super) fn run_alone(
        &self,
        worker: WorkerId,
        unit: u64,
        structure: &'static Structure,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), String> {
        let passes = self.shape(structure).map_or(&[][..], |s| &s.passes);
        for (pass, &items) in passes.iter().enumerate() {
            let part = Part {
                structure,
                pass,
                items: 0..items,
            };
            self.run_caught(worker, unit, part, input, output)?;
        }
        Ok(())
    }

    /// Items of the longest pass of a structure.
    pub(super) fn items(&self, structure: &Structure) -> u32 {
        let passes = self.shape(structure).map(|s| &s.passes);
        passes
            .and_then(|passes| passes.iter().copied().max())
            .unwrap_or(1)
    }

    /// Runs a part on the worker that calls this. A panic is an error like any other.
    pub(super) fn run_caught(
        &self,
        worker: WorkerId,
        unit: u64,
        part: Part,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), String> {
        let units = match part.structure.flow {
            Flow::Grouped => Units::Group(&[input], &[output]),
            _ => Units::One(input, output),
        };
        catch_unwind(AssertUnwindSafe(|| {
            self.run_part(worker, unit, &part, units, &mut self.scratch.hold(worker))
        }))
        .unwrap_or_else(|payload| Err(format!("panicked: {}", panic_text(&*payload))))
    }

    /// Steps of a unit in the pipeline of that structure, and what they cost beside one another.
    pub(super) fn step_costs(&self, structure: &Structure) -> Vec<f64> {
        let shape = self.shape(structure);
        shape.map_or(Vec::new(), |shape| {
            let steps = shape.passes.first().copied().unwrap_or(0);
            stages::costs(&shape.steps, steps)
        })
    }

    /// Runs the stages of a pipeline one after the other on the calling thread: a single unit has nothing to overlap
    /// with.
    fn run_stages(
        &self,
        plan: &Plan,
        unit: u64,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<Outcome, String> {
        let costs = self.step_costs(plan.structure);
        let stages = stages::pipelines(plan, costs.len() as u32)[0];
        let mut begin = 0;
        for end in stages::divide(&costs, stages as usize) {
            if end > begin {
                let steps = (plan.structure, begin..end);
                self.run_items(WorkerId(0), unit, steps, input, output)?;
            }
            begin = end;
        }
        Ok(Outcome::Finished)
    }

    /// Keeps the first message; jobs that have not begun are skipped.
    fn fail(&self, message: String) {
        let mut first = lock(&self.message);
        first.get_or_insert(message);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn failure(&self) -> String {
        self.failed.store(false, Ordering::Relaxed);
        let mut first = lock(&self.message);
        first.take().unwrap_or_default()
    }
}

/// The grain of a pass of `items` in a unit whose longest pass has `longest`. With it all passes have about as many
/// jobs.
fn scaled(grain: u32, items: u32, longest: u32) -> u32 {
    if items == longest {
        return grain;
    }
    let scaled = u64::from(grain) * u64::from(items) / u64::from(longest.max(1));
    (scaled as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn passes_of_a_unit_have_as_many_jobs() {
        assert_eq!(scaled(34, 1080, 1080), 34);
        assert_eq!(scaled(34, 540, 1080), 17);
        assert_eq!(scaled(34, 3, 1080), 1);
        assert_eq!(scaled(u32::MAX, u32::MAX - 1, u32::MAX), u32::MAX - 1);
        assert_eq!(scaled(5, 0, 0), 5);
    }
}
