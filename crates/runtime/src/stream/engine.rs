//! The compute side of a stream: epochs, units, and what ends them.

use std::time::{Duration, Instant};

use super::balance::Balance;
use super::cancel::CancelToken;
use super::error::{BoxError, StreamError};
use super::exchange::Numbered;
use super::exec::Executor;
use super::farm;
use super::intake::{Intake, Next};
use super::outlet::Outlet;
use super::pipeline;
use super::ports::{Sink, Source};
use super::schedule::Schedule;
use super::tally::Tally;
use crate::affinity::StreamAffinity;
use crate::dispatch::Outcome;
use crate::plan::Plan;
use crate::service::Service;
use crate::structure::{Flow, Structure};
use crate::trace::Track;
use crate::tuner::{Epoch, Measured};

/// Units that take less are handed over several at a time, in so many buffers.
const TINY: Duration = Duration::from_micros(50);
pub(super) const MANY: usize = 32;
/// How long a unit that has come waits at least for one that is to stand beside it.
const PATIENCE: Duration = Duration::from_millis(2);

/// Why no further unit is computed.
pub(super) enum Stop {
    /// The source has ended.
    End,
    /// Somebody cancelled the stream, or the sink failed: whoever knows tells.
    Stopped,
    /// Reading a unit failed.
    Source { unit: u64, cause: BoxError },
    /// A kernel failed on a unit.
    Unit { unit: u64, message: String },
    /// The schedule gave a plan that cannot be run.
    Plan(StreamError),
}

/// A unit that took longer than its epoch allows.
pub(super) struct Cut {
    pub(super) after: Duration,
    /// A unit's share of what the fallback took.
    pub(super) redo: Duration,
}

/// How an epoch ended; neither if all its units were computed.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) cut: Option<Cut>,
    pub(super) stop: Option<Stop>,
    /// The epoch after it, where the schedule was asked already and told what most units cost.
    pub(super) next: Option<Epoch>,
}

impl From<(u64, String)> for Stop {
    fn from((unit, message): (u64, String)) -> Stop {
        Stop::Unit { unit, message }
    }
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Ended {
        Ended {
            stop: Some(stop),
            ..Ended::default()
        }
    }
}

/// How many buffers there may be.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

/// A unit and the buffer for its result.
struct Work<S: Service> {
    unit: Numbered<Box<S::Input>>,
    output: Box<S::Output>,
}

/// Everything the compute side works with.
pub(super) struct Engine<'a, 'p, S: Service, Src, K> {
    pub(super) service: &'a S,
    pub(super) exec: &'a Executor<'a, S>,
    pub(super) affinity: &'a StreamAffinity<'a>,
    pub(super) intake: Intake<S, Src>,
    pub(super) outlet: Outlet<'a, S, K>,
    pub(super) tally: &'a mut Tally<'p>,
    pub(super) cancel: &'a CancelToken,
    pub(super) limits: Limits,
    pub(super) live: bool,
    /// Structures that the service has been told of.
    pub(super) prepared: Vec<&'static Structure>,
    /// What is known of the steps of a pipeline.
    pub(super) balance: Option<(&'static Structure, Balance)>,
}

impl<S: Service, Src: Source<S>, K: Sink<S>> Engine<'_, '_, S, Src, K> {
    /// Computes units until something ends the stream.
    pub(super) fn drive(&mut self, schedule: &mut dyn Schedule) -> Stop {
        let mut costs = Vec::new();
        let (mut last, mut next) = (None, None);
        loop {
            let epoch = next.take().unwrap_or_else(|| schedule.next());
            if let Err(error) = self.check(&epoch) {
                return Stop::Plan(error);
            }
            if last != Some(epoch.plan) && self.exec.trace().is_on() {
                self.exec
                    .trace()
                    .instant(Track::Tuner, "plan", &epoch.plan.to_string());
            }
            last = Some(epoch.plan);
            self.affinity.pin_workers(epoch.spread);
            match self.prepare(&epoch.plan) {
                Ok(Some(time)) => schedule.prepared(time),
                Ok(None) => {}
                Err(message) => {
                    let unit = self.intake.taken();
                    return Stop::Unit { unit, message };
                }
            }
            costs.clear();
            let ended = match epoch.plan.structure.flow {
                Flow::Farm => farm::epochs(self, &epoch, schedule, &mut costs),
                Flow::Pipeline => pipeline::epochs(self, &epoch, schedule, &mut costs),
                Flow::Divided | Flow::Grouped => self.in_turn(&epoch, &mut costs),
            };
            match ended.cut {
                Some(Cut { after, redo }) => {
                    schedule.record(Measured::CutOff {
                        done: &costs,
                        after,
                        redo,
                    });
                }
                None if costs.is_empty() => {}
                None if ended.next.is_some() => schedule.late(&costs),
                None => schedule.record(Measured::Units { costs: &costs }),
            }
            if let Some(stop) = ended.stop {
                return stop;
            }
            next = ended.next;
            // Waking a thread costs some µs. With more buffers, one wake-up stands for many units; a stream that has
            // but few is over before they are made.
            let many = self.tally.units() >= MANY as u64;
            if !self.live && many && tiny(&costs) {
                self.grow(MANY);
            }
        }
    }

    /// Has the service make what a structure needs, once, and makes the buffers that the plan does. How long that took,
    /// if anything was made.
    fn prepare(&mut self, plan: &Plan) -> Result<Option<Duration>, String> {
        let begin = Instant::now();
        let structure = plan.structure;
        let new = !self.prepared.contains(&structure);
        if new {
            self.prepared.push(structure);
            self.exec.prepare(structure)?;
        }
        let inside = match structure.flow {
            Flow::Farm => plan.workers as usize,
            Flow::Pipeline => pipeline::inside(plan, self.exec.step_costs(structure).len() as u32),
            Flow::Grouped => self.exec.shape(structure).map_or(1, |s| s.units) as usize,
            Flow::Divided => return Ok(new.then(|| begin.elapsed())),
        };
        let made = self.ensure_around(inside);
        Ok((new || made).then(|| begin.elapsed()))
    }

    fn check(&self, epoch: &Epoch) -> Result<(), StreamError> {
        for plan in [&epoch.plan, &epoch.fallback] {
            self.exec.check(plan)?;
            if self.live && plan.structure.overlaps() {
                return Err(not_live(plan.structure));
            }
        }
        Ok(())
    }

    /// Computes the units of an epoch in turn, each divided over workers: one by one, or in groups.
    fn in_turn(&mut self, epoch: &Epoch, costs: &mut Vec<Duration>) -> Ended {
        let ended = self.one_after_the_other(epoch, costs);
        self.outlet.settle();
        ended
    }

    fn one_after_the_other(&mut self, epoch: &Epoch, costs: &mut Vec<Duration>) -> Ended {
        let mut group = Vec::with_capacity(self.at_a_time(&epoch.plan));
        let mut patience = PATIENCE;
        let mut left = epoch.units.max(1);
        // What the tuner is told has taking and bringing in it, which other structures do beside computing, but not
        // what was slept for want of input or output. What is reported is computing alone.
        let (mut since, mut slept) = (Instant::now(), self.slept());
        while left > 0 {
            if self.cancel.is_cancelled() {
                return Stop::Stopped.into();
            }
            let stop = self.gather(&epoch.plan, patience, &mut group);
            if group.is_empty() {
                return stop.unwrap_or(Stop::End).into();
            }
            left = left.saturating_sub(group.len() as u32);

            let begin = Instant::now();
            let deadline = epoch.cutoff.map(|cutoff| begin + cutoff);
            let computed = self.compute(&epoch.plan, &group, deadline);
            let mut end = Instant::now();
            let took = end - begin;
            patience = took.max(PATIENCE);
            let mut plan = &epoch.plan;
            let mut cut = None;
            match computed {
                Ok(Outcome::Finished) => {}
                Ok(Outcome::CutOff) => {
                    plan = &epoch.fallback;
                    let ready = self.prepare(plan);
                    let again = Instant::now();
                    if let Err(message) = ready {
                        return Stop::from((group[0].unit.number, message)).into();
                    }
                    if let Err(message) = self.redo(plan, &group) {
                        return self.failed(plan, group, message);
                    }
                    end = Instant::now();
                    let runs = group.len().div_ceil(self.at_a_time(plan)) as u32;
                    cut = Some(Cut {
                        after: took,
                        redo: (end - again) / (runs * self.at_once(plan)),
                    });
                }
                Err(message) => return self.failed(&epoch.plan, group, message),
            }
            let cost = match &cut {
                Some(cut) => cut.redo,
                None => each(took, group.len()),
            };
            if cut.is_none() {
                let before = std::mem::replace(&mut slept, self.slept());
                let told = (end - since).saturating_sub(slept - before);
                let told = each(told, group.len());
                costs.extend(group.iter().map(|_| told.max(cost)));
                since = end;
            }
            self.exec
                .trace()
                .span(Track::Worker(0), "unit", group[0].unit.number, begin, end);
            if !self.deliver(plan, &mut group, cost, end) {
                return Ended {
                    cut,
                    ..Stop::Stopped.into()
                };
            }
            if cut.is_some() || stop.is_some() {
                return Ended {
                    cut,
                    stop,
                    ..Ended::default()
                };
            }
        }
        Ended::default()
    }

    /// How long computing has slept for want of input and output.
    fn slept(&self) -> Duration {
        self.intake.link().consumers_slept() + self.outlet.link().producers_slept()
    }

    /// Takes the next unit, and those of its group that come soon enough, with a buffer for the result of each. What ends the stream behind them.
    fn gather(
        &mut self,
        plan: &Plan,
        patience: Duration,
        group: &mut Vec<Work<S>>,
    ) -> Option<Stop> {
        let out_link = self.outlet.link();
        let most = self.at_a_time(plan);
        let mut until = None;
        while group.len() < most {
            if let Some(until) = until
                && !self.intake.is_ready_by(until, || out_link.flush())
            {
                return None;
            }
            let tally = &mut self.tally;
            let waiting = |dropped| tally.waiting(plan, tally.units(), dropped);
            let unit = match self.intake.take(|| out_link.flush(), waiting) {
                Next::Unit(unit) => unit,
                Next::End => return Some(Stop::End),
                Next::Failed((unit, cause)) => return Some(Stop::Source { unit, cause }),
                Next::Stopped => return Some(Stop::Stopped),
            };
            let Some(output) = self.outlet.empty() else {
                group.clear();
                return Some(Stop::Stopped);
            };
            group.push(Work { unit, output });
            if most > 1 {
                until.get_or_insert_with(|| Instant::now() + patience);
            }
        }
        None
    }

    /// Units that a plan computes at a time.
    fn at_a_time(&self, plan: &Plan) -> usize {
        if plan.structure.flow != Flow::Grouped {
            return 1;
        }
        let units = self.exec.shape(plan.structure).map_or(1, |s| s.units);
        (units as usize).clamp(1, self.in_work().max(1))
    }

    /// Hands over what was computed under `plan`, `cost` each; `false` if it could not be written.
    fn deliver(
        &mut self,
        plan: &Plan,
        group: &mut Vec<Work<S>>,
        cost: Duration,
        end: Instant,
    ) -> bool {
        let many = group.len();
        let hurry = cost * many as u32 > TINY;
        for (i, Work { unit, output }) in group.drain(..).enumerate() {
            self.intake.give_back_alone(unit.value);
            self.tally.count(plan, cost);
            let hurry = hurry && i + 1 == many;
            if !self.outlet.bring(unit.number, output, hurry) {
                return false;
            }
        }
        let units = self.tally.units();
        self.tally
            .progress(plan, units, end, || self.intake.link().dropped());
        true
    }

    /// Computes units, side by side if there are several.
    fn compute(
        &self,
        plan: &Plan,
        group: &[Work<S>],
        deadline: Option<Instant>,
    ) -> Result<Outcome, String> {
        let unit = group[0].unit.number;
        if let [Work { unit: one, output }] = group {
            return self
                .exec
                .units(plan, unit, &[&one.value], &[output], deadline);
        }
        let inputs: Vec<_> = group.iter().map(|work| &*work.unit.value).collect();
        let outputs: Vec<_> = group.iter().map(|work| &*work.output).collect();
        self.exec.units(plan, unit, &inputs, &outputs, deadline)
    }

    /// Computes units that were given up again, as many at a time as the plan does.
    fn redo(&self, plan: &Plan, group: &[Work<S>]) -> Result<(), String> {
        for part in group.chunks(self.at_a_time(plan)) {
            self.compute(plan, part, None)?;
        }
        Ok(())
    }

    /// Units that a plan computes in the time of one.
    fn at_once(&self, plan: &Plan) -> u32 {
        match plan.structure.flows() {
            true => plan.workers.max(1),
            false => self.at_a_time(plan) as u32,
        }
    }

    /// Ends the stream after a kernel failed. Of several units side by side it is not known which one it was, so they
    /// are computed again, each by itself: what comes before the one that fails is handed over.
    fn failed(&mut self, plan: &Plan, mut group: Vec<Work<S>>, message: String) -> Ended {
        self.exec.forget();
        while group.len() > 1 {
            let rest = group.split_off(1);
            let begin = Instant::now();
            if let Err(message) = self.compute(plan, &group, None) {
                return Stop::from((group[0].unit.number, message)).into();
            }
            let end = Instant::now();
            if !self.deliver(plan, &mut group, end - begin, end) {
                return Stop::Stopped.into();
            }
            group = rest;
        }
        Stop::from((group[0].unit.number, message)).into()
    }

    /// Whether more buffers can be made where a thread reads or writes, for units that prove to be short.
    pub(super) fn may_grow(&self) -> bool {
        let short = |inline: bool, have: usize, most: usize| !inline && have < MANY.min(most);
        let (intake, outlet) = (&self.intake, &self.outlet);
        let (inputs, outputs) = (intake.link().buffers(), outlet.link().buffers());
        short(intake.is_inline(), inputs, self.limits.inputs)
            || short(outlet.is_inline(), outputs, self.limits.outputs)
    }

    /// Makes more buffers where a thread reads or writes.
    fn grow(&self, buffers: usize) {
        let wanted = |inline: bool| if inline { 0 } else { buffers };
        self.ensure(
            wanted(self.intake.is_inline()),
            wanted(self.outlet.is_inline()),
        );
    }

    /// Units that can be in work with the buffers there are.
    pub(super) fn in_work(&self) -> usize {
        let inputs = self.intake.link().buffers();
        let inputs = inputs.saturating_sub(beside(self.intake.is_inline()));
        let outputs = self.outlet.link().buffers();
        inputs.min(outputs.saturating_sub(beside(self.outlet.is_inline())))
    }

    /// Makes the buffers that `inside` units at once need: for each an input and an output, and on a thread's side one
    /// that is read or written and one that is ready.
    fn ensure_around(&self, inside: usize) -> bool {
        self.ensure(
            inside + beside(self.intake.is_inline()),
            inside + beside(self.outlet.is_inline()).max(1),
        )
    }

    /// Makes buffers until there are `inputs` and `outputs` of them, as far as the limits allow. Whether any were made.
    pub(super) fn ensure(&self, inputs: usize, outputs: usize) -> bool {
        let mut made = false;
        while self.intake.link().buffers() < inputs.min(self.limits.inputs) {
            self.intake.link().add(Box::new(self.service.input()));
            made = true;
        }
        while self.outlet.link().buffers() < outputs.min(self.limits.outputs) {
            self.outlet.link().add(Box::new(self.service.output()));
            made = true;
        }
        made
    }
}

/// A unit's share of what several took. Dividing takes longer than some units' bookkeeping.
fn each(time: Duration, units: usize) -> Duration {
    match units {
        1 => time,
        _ => time / units as u32,
    }
}

/// Buffers beside those of units in work: on a thread's side one is read or written, and one is ready.
fn beside(inline: bool) -> usize {
    if inline { 0 } else { 2 }
}

/// Whether units that cost so much are short, on average.
pub(super) fn tiny(costs: &[Duration]) -> bool {
    costs.iter().sum::<Duration>() < TINY * costs.len() as u32
}

pub(super) fn not_live(structure: &'static Structure) -> StreamError {
    StreamError::Unsupported {
        structure,
        why: "in a live stream, where units cannot wait for one another; name another structure",
    }
}
