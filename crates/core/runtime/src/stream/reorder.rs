//! The reorder buffer: results of units that overlap, put back in order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::end::Stop;
use super::erased::Unit;
use super::outlet::{Outlet, OutputQueue};
use super::tally::Tally;
use crate::plan::Plan;

/// A result.
pub(super) struct Held {
    pub(super) output: Unit,
    /// What it was computed from, where it may have to be computed again.
    pub(super) input: Option<Unit>,
}

impl From<Unit> for Held {
    fn from(output: Unit) -> Held {
        Held {
            output,
            input: None,
        }
    }
}

/// Takes results in any order and puts them in order, one worker at a time.
pub(super) struct ReorderBuffer<'e, 'a, 'p> {
    outlet: &'e mut Outlet<'a>,
    tally: &'e mut Tally<'p>,
    /// Results that wait for an earlier one; the first is that of unit `next`.
    held: VecDeque<Option<Held>>,
    /// Inputs of results that were handed on.
    pub(super) spent: Vec<Unit>,
    pub(super) next: u64,
    /// Units done that the tally has not counted yet.
    done: u64,
    /// Why no more units are taken; of several failed units the earliest.
    pub(super) stop: Option<Stop>,
    /// How long the longest unit took that the epoch did not allow.
    pub(super) cut: Option<(Duration, Duration)>,
    epoch: EpochTimes,
}

/// What the units of an epoch took.
pub(super) struct EpochTimes {
    pub(super) began: Instant,
    /// The time of each finished unit on its worker, as they came.
    pub(super) took: Vec<Duration>,
    /// How long units had been in work, in sum, when the epoch began.
    pub(super) ahead: Duration,
    /// How much of the units in work was done then, in units.
    pub(super) progress: f64,
}

impl EpochTimes {
    fn new(ahead: Duration, progress: f64) -> EpochTimes {
        EpochTimes {
            began: Instant::now(),
            took: Vec::new(),
            ahead,
            progress,
        }
    }
}

impl ReorderBuffer<'_, '_, '_> {
    /// Keeps why no more units are taken, unless an earlier reason is known.
    pub(super) fn stop(&mut self, why: Stop) {
        // Units are read before they are computed, so a unit that failed is earlier than one that could not be read.
        // After either, other jobs find the source at its end.
        let rank = |stop: &Stop| match stop {
            Stop::Unit { unit, .. } => (0, *unit),
            Stop::Source { unit, .. } => (1, *unit),
            Stop::End | Stop::Stopped | Stop::Plan(_) => (2, 0),
        };
        let known = self.stop.as_ref();
        if known.is_none_or(|known| rank(&why) < rank(known)) {
            self.stop = Some(why);
        }
    }

    /// Whether the epoch has a unit that is done.
    pub(super) fn has_done(&self) -> bool {
        !self.epoch.took.is_empty()
    }

    /// Ends the epoch, and begins the next. `ahead` is how long units have been in work, in sum, and `progress` how much
    /// of them is done.
    pub(super) fn next_epoch(&mut self, ahead: Duration, progress: f64) -> EpochTimes {
        std::mem::replace(&mut self.epoch, EpochTimes::new(ahead, progress))
    }

    /// Has the tally count the units done, at their mean cost.
    pub(super) fn count(&mut self, plan: &Plan, costs: &[Duration]) {
        let units = std::mem::take(&mut self.done);
        let sum: Duration = costs.iter().sum();
        let mean = sum.div_f64(units.max(1) as f64);
        (0..units).for_each(|_| self.tally.count(plan, mean));
    }

    /// Reports that the next unit is waited for.
    pub(super) fn waiting(&mut self, plan: &Plan, dropped: u64) {
        let units = self.tally.units() + self.done;
        self.tally.waiting(plan, units, dropped);
    }
}

impl<'e, 'a, 'p> ReorderBuffer<'e, 'a, 'p> {
    /// Takes results from unit `next` on.
    pub(super) fn new(
        outlet: &'e mut Outlet<'a>,
        tally: &'e mut Tally<'p>,
        next: u64,
    ) -> ReorderBuffer<'e, 'a, 'p> {
        ReorderBuffer {
            held: VecDeque::with_capacity(outlet.queue().buffers()),
            spent: Vec::new(),
            next,
            done: 0,
            stop: None,
            cut: None,
            epoch: EpochTimes::new(Duration::ZERO, 0.0),
            outlet,
            tally,
        }
    }

    /// The queue of the buffers that results lie in.
    pub(super) fn outputs(&self) -> &'a OutputQueue {
        self.outlet.queue()
    }

    /// Goes on with what another buffer held, and why it took no more units.
    pub(super) fn with_held(mut self, held: VecDeque<Option<Held>>, stop: Option<Stop>) -> Self {
        self.held = held;
        self.stop = stop;
        self
    }

    /// The results that wait for earlier ones, the first of which is that of unit `next`.
    pub(super) fn into_held(self) -> VecDeque<Option<Held>> {
        self.held
    }

    /// Units before `number` were dropped.
    pub(super) fn skip_to(&mut self, number: u64) {
        if self.held.is_empty() {
            self.next = self.next.max(number);
        }
    }

    /// Takes a result, with the time of its unit on workers, and reports progress. `false` if one could not be written.
    pub(super) fn finish(
        &mut self,
        plan: &Plan,
        (number, held): (u64, Held),
        (took, end): (Duration, Instant),
        dropped: impl FnOnce() -> u64,
    ) -> bool {
        self.epoch.took.push(took);
        let written = self.put(number, held);
        if !written {
            self.stop.get_or_insert(Stop::Stopped);
        }
        let units = self.tally.units() + self.done;
        self.tally.progress(plan, units, end, dropped);
        written
    }

    /// Results that wait for earlier ones, with their numbers.
    pub(super) fn held(&mut self) -> impl Iterator<Item = (u64, &mut Held)> {
        let numbers = self.next..;
        let held = numbers.zip(&mut self.held);
        held.filter_map(|(number, held)| Some((number, held.as_mut()?)))
    }

    /// Takes a result, and hands on all that are now in order. `false` if one could not be written.
    fn put(&mut self, number: u64, held: Held) -> bool {
        let index = (number - self.next) as usize;
        while self.held.len() <= index {
            self.held.push_back(None);
        }
        self.held[index] = Some(held);
        self.done += 1;
        while let Some(Some(_)) = self.held.front() {
            let Some(Some(Held { output, input })) = self.held.pop_front() else {
                break;
            };
            self.spent.extend(input);
            let number = self.next;
            self.next += 1;
            if !self.outlet.put(number, output, true) {
                return false;
            }
            self.outlet.share_spare();
        }
        true
    }
}
