//! Units that run one after the other, or in groups, each divided among workers.

use std::time::{Duration, Instant};

use super::end::{Cut, EpochEnd, Stop};
use super::engine::{Engine, SHORT};
use super::erased::Unit;
use super::intake::Next;
use super::queue::Numbered;
use crate::dispatch::Outcome;
use crate::plan::Plan;
use crate::structure::Flow;
use crate::trace::Track;
use crate::tuner::Epoch;

/// The least time that a unit of a group waits for the next one.
const PATIENCE: Duration = Duration::from_millis(2);

/// A unit and the buffer for its result.
struct Work {
    unit: Numbered<Unit>,
    output: Unit,
}

/// A group that was computed under `plan`, the epoch's or its fallback.
struct Computed<'e> {
    plan: &'e Plan,
    begin: Instant,
    end: Instant,
    /// Until the group was done or given up.
    took: Duration,
    cut: Option<Cut>,
}

/// Computes the units of an epoch.
///
/// `costs` gets what they cost for the tuner: with taking and delivering, which overlap with computing in other
/// structures, but without what was slept for want of input or output. The tally gets the time of computing alone.
pub(super) fn epoch(
    engine: &mut Engine<'_, '_>,
    epoch: &Epoch,
    costs: &mut Vec<Duration>,
) -> EpochEnd {
    let end = groups(engine, epoch, costs);
    engine.outlet.share_spare();
    end
}

fn groups(engine: &mut Engine<'_, '_>, epoch: &Epoch, costs: &mut Vec<Duration>) -> EpochEnd {
    let mut group = Vec::with_capacity(engine.group_size(&epoch.plan));
    let mut patience = PATIENCE;
    let mut left = epoch.units.max(1);
    let (mut since, mut slept) = (Instant::now(), engine.slept());
    while left > 0 {
        if engine.cancel.is_cancelled() {
            return Stop::Stopped.into();
        }
        let stop = engine.gather(&epoch.plan, patience, &mut group);
        if group.is_empty() {
            return stop.unwrap_or(Stop::End).into();
        }
        left = left.saturating_sub(group.len() as u32);

        let computed = match engine.compute_in_time(epoch, &mut group) {
            Ok(computed) => computed,
            Err(stop) => return stop.into(),
        };
        patience = computed.took.max(PATIENCE);
        let cost = match &computed.cut {
            Some(cut) => cut.redo,
            None => share(computed.took, group.len()),
        };
        if computed.cut.is_none() {
            let before = std::mem::replace(&mut slept, engine.slept());
            let with_hand_over = (computed.end - since).saturating_sub(slept - before);
            let with_hand_over = share(with_hand_over, group.len());
            costs.extend(group.iter().map(|_| with_hand_over.max(cost)));
            since = computed.end;
        }
        let Computed {
            plan,
            begin,
            end,
            cut,
            ..
        } = computed;
        let number = group[0].unit.number;
        let trace = engine.exec.trace();
        trace.span(Track::Worker(0), "unit", number, begin, end);
        if !engine.deliver(plan, &mut group, cost, end) {
            return EpochEnd {
                cut,
                ..Stop::Stopped.into()
            };
        }
        if cut.is_some() || stop.is_some() {
            return EpochEnd {
                cut,
                stop,
                ..EpochEnd::default()
            };
        }
    }
    EpochEnd::default()
}

impl Engine<'_, '_> {
    /// How long computing has slept for want of input and output.
    fn slept(&self) -> Duration {
        self.intake.queue().consumers_slept() + self.outlet.queue().producers_slept()
    }

    /// Takes the next unit and, for a group, those after it that come soon enough, with a buffer for each result. What
    /// ends the stream after them.
    fn gather(&mut self, plan: &Plan, patience: Duration, group: &mut Vec<Work>) -> Option<Stop> {
        let out_queue = self.outlet.queue();
        let size = self.group_size(plan);
        let mut until = None;
        while group.len() < size {
            if let Some(until) = until
                && !self.intake.is_ready_by(until, || out_queue.flush())
            {
                return None;
            }
            let tally = &mut self.tally;
            let waiting = |dropped| tally.waiting(plan, tally.units(), dropped);
            let unit = match self.intake.take(|| out_queue.flush(), waiting) {
                Next::Unit(unit) => unit,
                Next::End => return Some(Stop::End),
                Next::Failed((unit, cause)) => return Some(Stop::Source { unit, cause }),
                Next::Stopped => return Some(Stop::Stopped),
            };
            let Some(output) = self.outlet.take_empty() else {
                group.clear();
                return Some(Stop::Stopped);
            };
            group.push(Work { unit, output });
            if size > 1 {
                until.get_or_insert_with(|| Instant::now() + patience);
            }
        }
        None
    }

    /// Units that a plan computes together.
    fn group_size(&self, plan: &Plan) -> usize {
        if plan.structure.flow != Flow::Grouped {
            return 1;
        }
        let units = self.exec.shape(plan.structure).map_or(1, |s| s.units);
        (units as usize).clamp(1, self.capacity().max(1))
    }

    /// Computes a group under the epoch's plan, or under its fallback where that takes too long.
    fn compute_in_time<'e>(
        &mut self,
        epoch: &'e Epoch,
        group: &mut Vec<Work>,
    ) -> Result<Computed<'e>, Stop> {
        let begin = Instant::now();
        let deadline = epoch.cutoff.map(|cutoff| begin + cutoff);
        let outcome = self.compute(&epoch.plan, group, deadline);
        let end = Instant::now();
        let took = end - begin;
        match outcome {
            Ok(Outcome::Finished) => Ok(Computed {
                plan: &epoch.plan,
                begin,
                end,
                took,
                cut: None,
            }),
            Ok(Outcome::CutOff) => {
                let redo = self.redo(&epoch.fallback, group)?;
                Ok(Computed {
                    plan: &epoch.fallback,
                    begin,
                    end: Instant::now(),
                    took,
                    cut: Some(Cut { after: took, redo }),
                })
            }
            Err(message) => Err(self.failed(&epoch.plan, group, message)),
        }
    }

    /// Computes units together.
    fn compute(
        &self,
        plan: &Plan,
        group: &[Work],
        deadline: Option<Instant>,
    ) -> Result<Outcome, String> {
        let number = group[0].unit.number;
        if let [Work { unit, output }] = group {
            return self
                .exec
                .run_units(plan, number, &[&unit.value], &[output], deadline);
        }
        let inputs: Vec<_> = group.iter().map(|work| &work.unit.value).collect();
        let outputs: Vec<_> = group.iter().map(|work| &work.output).collect();
        self.exec
            .run_units(plan, number, &inputs, &outputs, deadline)
    }

    /// Computes units that were given up again, under another plan. A unit's share of the time.
    fn redo(&mut self, plan: &Plan, group: &mut Vec<Work>) -> Result<Duration, Stop> {
        if let Err(message) = self.prepare(plan) {
            return Err((group[0].unit.number, message).into());
        }
        let begin = Instant::now();
        let size = self.group_size(plan);
        for part in group.chunks(size) {
            if let Err(message) = self.compute(plan, part, None) {
                return Err(self.failed(plan, group, message));
            }
        }
        // Units that the plan would compute in the time of one.
        let together = match plan.structure.flows() {
            true => plan.workers.max(1),
            false => size as u32,
        };
        let runs = group.len().div_ceil(size) as u32;
        Ok(begin.elapsed() / (runs * together))
    }

    /// Hands over what was computed under `plan`, `cost` each; `false` if it could not be written.
    fn deliver(
        &mut self,
        plan: &Plan,
        group: &mut Vec<Work>,
        cost: Duration,
        end: Instant,
    ) -> bool {
        let count = group.len();
        let short = cost * count as u32 <= SHORT;
        for (i, Work { unit, output }) in group.drain(..).enumerate() {
            self.intake.recycle_alone(unit.value);
            self.tally.count(plan, cost);
            let wake = !short && i + 1 == count;
            if !self.outlet.put(unit.number, output, wake) {
                return false;
            }
        }
        let units = self.tally.units();
        self.tally
            .progress(plan, units, end, || self.intake.queue().dropped());
        true
    }

    /// Ends the stream after a kernel failed. It is not known which unit of a group failed, so each is computed again
    /// by itself, and those before the failing one are delivered.
    fn failed(&mut self, plan: &Plan, group: &mut Vec<Work>, message: String) -> Stop {
        self.exec.drop_scratch();
        let mut group = std::mem::take(group);
        while group.len() > 1 {
            let rest = group.split_off(1);
            let begin = Instant::now();
            if let Err(message) = self.compute(plan, &group, None) {
                return (group[0].unit.number, message).into();
            }
            let end = Instant::now();
            if !self.deliver(plan, &mut group, end - begin, end) {
                return Stop::Stopped;
            }
            group = rest;
        }
        (group[0].unit.number, message).into()
    }
}

/// A unit's share of what several took. Dividing takes longer than the bookkeeping of some units.
fn share(time: Duration, units: usize) -> Duration {
    match units {
        1 => time,
        _ => time / units as u32,
    }
}
