//! Common parts of farms and pipelines: workers take units, and their results are put back in order.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::cancel::CancelToken;
use super::claims::{EpochState, UnitClaims};
use super::devices::News;
use super::end::{Cut, EpochEnd, Stop};
use super::engine::Engine;
use super::erased::{Exec, Unit};
use super::intake::{InputQueue, Next, SharedIntake};
use super::outlet::OutputQueue;
use super::queue::{Empty, Numbered};
use super::reorder::{Held, ReorderBuffer};
use super::schedule::Schedule;
use crate::dispatch::{Batch, Caller, JobPanic, WorkerId};
use crate::plan::Plan;
use crate::sync::{into_inner, lock};
use crate::tuner::{Epoch, Purpose};

/// Units that overlap, from the intake to the reorder buffer, while the plan stays.
///
/// Where an epoch ends and the next one has the same plan, workers do not wait for the units in work, which count in
/// the next. They wait only for another plan.
pub(super) struct Overlap<'e, 'a, 'p> {
    pub(super) plan: Plan,
    /// The plan for a unit that is given up.
    pub(super) fallback: Plan,
    pub(super) exec: &'a Exec<'a>,
    pub(super) claims: UnitClaims<'e>,
    pub(super) reorder: Mutex<ReorderBuffer<'e, 'a, 'p>>,
    pub(super) inputs: Arc<InputQueue>,
    pub(super) outputs: &'a OutputQueue,
    pub(super) intake: SharedIntake<'e>,
    cancel: &'e CancelToken,
}

/// A unit to compute.
pub(super) struct Job {
    pub(super) unit: Numbered<Unit>,
    pub(super) output: Unit,
    /// How long its output was waited for because of an earlier unit that is still in work.
    pub(super) stalled: Duration,
}

impl<'e, 'a, 'p> Overlap<'e, 'a, 'p> {
    pub(super) fn new(
        engine: &'e mut Engine<'a, 'p>,
        epoch: &Epoch,
        schedule: &'e mut dyn Schedule,
        lanes: usize,
        news: News,
    ) -> Self {
        let workers = engine.exec.pool().workers();
        let next = engine.intake.taken();
        let of_stream = engine.total.and_then(|total| total.checked_sub(next));
        let of_stream = of_stream.filter(|&units| units > 0);
        let left = match epoch.purpose {
            // A device must not keep the stream waiting when the experiment is over.
            Purpose::Trial => Some(of_stream.unwrap_or(u64::MAX).min(epoch.units.into())),
            _ => of_stream,
        };
        let window = engine.capacity() as u64;
        Overlap {
            plan: epoch.plan,
            fallback: epoch.fallback,
            exec: engine.exec,
            claims: UnitClaims::new(
                epoch,
                schedule,
                engine.may_grow(),
                (workers, lanes),
                (left, window),
                news,
            ),
            inputs: Arc::clone(engine.intake.queue()),
            outputs: engine.outlet.queue(),
            reorder: Mutex::new(ReorderBuffer::new(
                &mut engine.outlet,
                &mut *engine.tally,
                next,
            )),
            intake: SharedIntake::new(&mut engine.intake),
            cancel: engine.cancel,
        }
    }

    /// A batch of `jobs` jobs that wait for one another.
    pub(super) fn batch(&self, jobs: u32) -> Batch {
        Batch {
            dispatch: self.plan.dispatch,
            items: jobs,
            grain: 1,
            workers: jobs,
            deadline: None,
            caller: Caller::Works,
        }
    }

    /// Whether there is a unit for `worker`. `costs` says what the units of an epoch cost that ends now.
    pub(super) fn claim(
        &self,
        worker: WorkerId,
        costs: impl FnOnce(&mut ReorderBuffer<'e, 'a, 'p>) -> Vec<Duration>,
    ) -> bool {
        if self.cancel.is_cancelled() {
            self.stop(Stop::Stopped);
        }
        if self.claims.has_quit() {
            return false;
        }
        if let Some(longest) = self.claims.overdue() {
            self.cut(&mut lock(&self.reorder), longest, Duration::ZERO);
            return false;
        }
        self.claims.claim(worker, || {
            let mut reorder = lock(&self.reorder);
            if reorder.stop.is_some() || reorder.cut.is_some() {
                EpochState::Broken
            } else if reorder.has_done() {
                EpochState::Costs(costs(&mut reorder))
            } else {
                EpochState::NoneDone
            }
        })
    }

    /// The next unit and an output for it. `None`, and stopped, where there is none.
    ///
    /// The output is taken first. So the worker with the oldest unit in work can finish it, and no worker waits for an
    /// output for ever.
    pub(super) fn take(&self) -> Option<Job> {
        let Empty { buffer, stalled } = self.outputs.take_empty_timed();
        let Some(output) = buffer else {
            self.stop(Stop::Stopped);
            return None;
        };
        // A worker that has the lock reports progress itself, unless it waits for an output.
        let waiting = |dropped| {
            if let Ok(mut reorder) = self.reorder.try_lock() {
                reorder.waiting(&self.plan, dropped);
            }
        };
        let next = self.intake.take(|| self.outputs.flush(), waiting);
        let why = match next {
            Next::Unit(unit) => {
                return Some(Job {
                    unit,
                    output,
                    stalled,
                });
            }
            Next::Failed((unit, cause)) => Stop::Source { unit, cause },
            Next::Stopped => Stop::Stopped,
            Next::End => Stop::End,
        };
        self.outputs.recycle(output);
        self.stop(why);
        None
    }

    /// The next unit and an output for it, if they are there.
    pub(super) fn take_now(&self) -> Option<Job> {
        let output = self.outputs.try_take_empty()?;
        match self.intake.take_now() {
            Some(Next::Unit(unit)) => Some(Job {
                unit,
                output,
                stalled: Duration::ZERO,
            }),
            next => {
                self.outputs.recycle(output);
                match next {
                    Some(Next::Failed((unit, cause))) => self.stop(Stop::Source { unit, cause }),
                    Some(Next::Stopped) => self.stop(Stop::Stopped),
                    Some(Next::End) => self.stop(Stop::End),
                    Some(Next::Unit(_)) | None => {}
                }
                None
            }
        }
    }

    /// Takes a result, with the time of its unit on workers. If one cannot be written, no worker waits for more.
    pub(super) fn finish(
        &self,
        reorder: &mut ReorderBuffer<'e, 'a, 'p>,
        result: (u64, Held),
        times: (Duration, Instant),
    ) {
        if !reorder.finish(&self.plan, result, times, || self.inputs.dropped()) {
            self.claims.quit();
            self.inputs.stop_consumer();
        }
        reorder
            .spent
            .drain(..)
            .for_each(|input| self.inputs.recycle(input));
    }

    /// Ends the epoch for a unit that took too long, and then so much under the fallback; of several the longest
    /// counts.
    pub(super) fn cut(
        &self,
        reorder: &mut ReorderBuffer<'e, 'a, 'p>,
        after: Duration,
        redo: Duration,
    ) {
        reorder.cut = reorder.cut.max(Some((after, redo)));
        self.claims.quit();
    }

    /// No more units are begun.
    fn stop(&self, why: Stop) {
        lock(&self.reorder).stop(why);
        self.claims.quit();
    }

    /// No more units are begun, and workers that wait for a unit or an output return.
    pub(super) fn fail(&self, why: Stop) {
        self.stop(why);
        self.inputs.stop_consumer();
        self.outputs.stop_producers();
    }

    /// How it ended. `costs` gets what the units of the last epoch cost. A `panic` is that of a callback, since those
    /// of kernels, sources and sinks are caught where they are called.
    pub(super) fn end(
        self,
        panic: Option<JobPanic>,
        last: Vec<Duration>,
        costs: &mut Vec<Duration>,
    ) -> EpochEnd {
        let reorder = into_inner(self.reorder);
        if reorder.cut.is_none() {
            costs.extend(last);
        }
        let of_callback = panic.map(|panic| Stop::Unit {
            unit: reorder.next,
            message: panic.to_string(),
        });
        EpochEnd {
            cut: reorder.cut.map(|(after, redo)| Cut {
                after,
                redo: redo / self.plan.workers,
            }),
            stop: of_callback.or(reorder.stop),
            drained: Duration::ZERO,
            next: self.claims.next(),
        }
    }
}
