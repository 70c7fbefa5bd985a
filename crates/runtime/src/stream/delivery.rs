//! What units that are computed side by side, or in a pipeline, are taken from and brought to.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::claims::Claims;
use super::engine::{Cut, Ended, Stop};
use super::exchange::{Numbered, Wanted};
use super::intake::{InLink, Next, Turns};
use super::outlet::{OutLink, Outlet};
use super::ports::{Sink, Source};
use super::tally::Tally;
use crate::dispatch::JobPanic;
use crate::plan::Plan;
use crate::service::Service;

/// What jobs bring their results to, one at a time.
pub(super) struct Delivery<'e, 'a, 'p, S: Service, K> {
    pub(super) outlet: &'e mut Outlet<'a, S, K>,
    pub(super) tally: &'e mut Tally<'p>,
    /// Results that wait for an earlier one; the first is that of unit `next`.
    pub(super) held: VecDeque<Option<Box<S::Output>>>,
    pub(super) next: u64,
    /// Units done that the tally does not know yet.
    pub(super) done: u64,
    /// Why no more units are taken; of several failed units the earliest.
    pub(super) stop: Option<Stop>,
    pub(super) cut: Option<Duration>,
    pub(super) epoch: Times,
}

/// What the units of an epoch took.
pub(super) struct Times {
    pub(super) began: Instant,
    /// On its worker, each that was finished, as they came.
    pub(super) took: Vec<Duration>,
    /// How long the units had been in work that were so when the epoch began.
    pub(super) ahead: Duration,
}

impl Times {
    fn new(ahead: Duration) -> Times {
        Times {
            began: Instant::now(),
            took: Vec::new(),
            ahead,
        }
    }
}

impl<S: Service, K> Delivery<'_, '_, '_, S, K> {
    /// Keeps why no more units are taken, if nothing before was in the way.
    pub(super) fn stopped(&mut self, why: Stop) {
        // Units are read before they are computed, so one that failed there was before the one that could not be read;
        // and after either, other jobs find the source at its end.
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

    /// What the units of the epoch took that ends now; the next begins.
    pub(super) fn turn_over(&mut self, ahead: Duration) -> Times {
        std::mem::replace(&mut self.epoch, Times::new(ahead))
    }

    /// How it ended: `last` is what the units of the last epoch cost.
    pub(super) fn ended(
        self,
        claims: Claims<'_>,
        panic: Option<JobPanic>,
        last: Vec<Duration>,
        costs: &mut Vec<Duration>,
    ) -> Ended {
        if self.cut.is_none() {
            costs.extend(last);
        }
        // Kernels, sources and sinks are caught where they are called; this is a callback's.
        let of_callback = panic.map(|panic| Stop::Unit {
            unit: self.next,
            message: panic.to_string(),
        });
        Ended {
            cut: self.cut.map(|after| Cut {
                after,
                redo: Duration::ZERO,
            }),
            stop: of_callback.or(self.stop),
            next: claims.next(),
        }
    }
}

impl<'e, 'a, 'p, S: Service, K: Sink<S>> Delivery<'e, 'a, 'p, S, K> {
    /// Takes results from unit `next` on.
    pub(super) fn new(
        outlet: &'e mut Outlet<'a, S, K>,
        tally: &'e mut Tally<'p>,
        next: u64,
    ) -> Delivery<'e, 'a, 'p, S, K> {
        Delivery {
            held: VecDeque::with_capacity(outlet.link().buffers()),
            next,
            done: 0,
            stop: None,
            cut: None,
            epoch: Times::new(Duration::ZERO),
            outlet,
            tally,
        }
    }

    /// Tells the tally of the units done, which cost so much on average.
    pub(super) fn count(&mut self, plan: &Plan, costs: &[Duration]) {
        let units = std::mem::take(&mut self.done);
        let sum: Duration = costs.iter().sum();
        let mean = sum.div_f64(units.max(1) as f64);
        (0..units).for_each(|_| self.tally.count(plan, mean));
    }

    /// Takes a unit that took so long, and tells how far the stream is. If one cannot be written, nobody waits for
    /// more.
    pub(super) fn finish(
        &mut self,
        claims: &Claims<'_>,
        plan: &Plan,
        (number, output): (u64, Box<S::Output>),
        (took, end): (Duration, Instant),
        in_link: &InLink<S>,
    ) {
        self.epoch.took.push(took);
        if !self.bring(number, output) {
            self.stop.get_or_insert(Stop::Stopped);
            claims.quit();
            in_link.stop_consumer();
        }
        let units = self.tally.units() + self.done;
        self.tally.progress(plan, units, end, || in_link.dropped());
    }

    /// Tells that the next unit is waited for.
    fn waiting(&mut self, plan: &Plan, dropped: u64) {
        let units = self.tally.units() + self.done;
        self.tally.waiting(plan, units, dropped);
    }

    /// Takes a result, and hands on all that are now in order. `false` if one could not be written.
    fn bring(&mut self, number: u64, output: Box<S::Output>) -> bool {
        let place = (number - self.next) as usize;
        while self.held.len() <= place {
            self.held.push_back(None);
        }
        self.held[place] = Some(output);
        self.done += 1;
        while let Some(Some(_)) = self.held.front() {
            let Some(Some(output)) = self.held.pop_front() else {
                break;
            };
            let number = self.next;
            self.next += 1;
            if !self.outlet.bring(number, output, true) {
                return false;
            }
            self.outlet.settle();
        }
        true
    }
}

/// A unit to compute.
pub(super) struct Job<S: Service> {
    pub(super) unit: Numbered<Box<S::Input>>,
    pub(super) output: Box<S::Output>,
    /// How long its output was waited for because of an earlier unit that is still in work.
    pub(super) stalled: Duration,
}

/// The next unit and an output for it; `None`, and told to `delivery`, where there is none.
///
/// The output comes first, so whoever has the oldest unit in work can finish it, and waiting for an output cannot be
/// for ever.
pub(super) fn take<S: Service, Src: Source<S>, K: Sink<S>>(
    plan: &Plan,
    out_link: &OutLink<S>,
    turns: &Turns<'_, S, Src>,
    delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
    claims: &Claims<'_>,
) -> Option<Job<S>> {
    let Wanted { buffer, stalled } = out_link.wanted();
    let Some(output) = buffer else {
        claims.stop(delivery, Stop::Stopped);
        return None;
    };
    // A job that delivers now will tell itself how far the stream is, unless it waits for the output.
    let waiting = |dropped| {
        if let Ok(mut delivery) = delivery.try_lock() {
            delivery.waiting(plan, dropped);
        }
    };
    let next = turns.take(|| out_link.flush(), waiting);
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
    out_link.give_back(output);
    claims.stop(delivery, why);
    None
}
