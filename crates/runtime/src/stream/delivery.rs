//! What units that are computed side by side, or in a pipeline, are taken from and brought to.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::engine::Stop;
use super::exchange::Numbered;
use super::intake::{Intake, Next};
use super::outlet::{OutLink, Outlet};
use super::ports::{Sink, Source};
use super::schedule::Schedule;
use super::tally::Tally;
use crate::dispatch::WorkerId;
use crate::plan::Plan;
use crate::service::Service;
use crate::tuner::Epoch;

/// What jobs bring their results to, one at a time.
pub(super) struct Delivery<'e, 'a, 'p, S: Service, K> {
    pub(super) outlet: &'e mut Outlet<'a, S, K>,
    pub(super) tally: &'e mut Tally<'p>,
    /// Results that wait for an earlier one; the first is that of unit `next`.
    pub(super) held: VecDeque<Option<S::Output>>,
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
    pub(super) fn new() -> Times {
        Times {
            began: Instant::now(),
            took: Vec::new(),
            ahead: Duration::ZERO,
        }
    }
}

/// Who may take how many units.
pub(super) struct Order<'e> {
    pub(super) schedule: &'e mut dyn Schedule,
    pub(super) left: u32,
    /// An epoch under another plan, which the schedule has asked for.
    pub(super) next: Option<Epoch>,
    pub(super) over: bool,
}

/// When each worker began the unit it computes, in nanoseconds since the epoch began; 0 where it computes none.
pub(super) struct Begun(Vec<AtomicU64>);

impl Begun {
    pub(super) fn new(workers: usize) -> Begun {
        Begun((0..workers).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn set(&self, worker: WorkerId, at: Duration) {
        self.put(worker, (at.as_nanos() as u64).max(1));
    }

    pub(super) fn clear(&self, worker: WorkerId) {
        self.put(worker, 0);
    }

    fn put(&self, worker: WorkerId, value: u64) {
        if let Some(begun) = self.0.get(worker.0) {
            begun.store(value, Ordering::Relaxed);
        }
    }

    /// How long each unit in work has taken at `now`.
    pub(super) fn in_work(&self, now: Duration) -> impl Iterator<Item = Duration> {
        let begun = self.0.iter().map(|begun| begun.load(Ordering::Relaxed));
        begun
            .filter(|&begun| begun > 0)
            .map(move |begun| now.saturating_sub(Duration::from_nanos(begun)))
    }
}

pub(super) fn stop<S: Service, K>(
    delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
    quit: &AtomicBool,
    why: Stop,
) {
    let mut delivery = lock(delivery);
    // Units are read before they are computed, so one that failed there was before the one that could not be read;
    // and after either, other jobs find the source at its end.
    let rank = |stop: &Stop| match stop {
        Stop::Unit { unit, .. } => (0, *unit),
        Stop::Source { unit, .. } => (1, *unit),
        Stop::End | Stop::Stopped | Stop::Plan(_) => (2, 0),
    };
    let earlier = delivery
        .stop
        .as_ref()
        .is_none_or(|known| rank(&why) < rank(known));
    if earlier {
        delivery.stop = Some(why);
    }
    quit.store(true, Ordering::Relaxed);
}

impl<S: Service, K: Sink<S>> Delivery<'_, '_, '_, S, K> {
    /// Tells the tally of the units done, which cost so much on average.
    pub(super) fn count(&mut self, plan: &Plan, costs: &[Duration]) {
        let units = std::mem::take(&mut self.done);
        let sum: Duration = costs.iter().sum();
        let mean = sum.div_f64(units.max(1) as f64);
        (0..units).for_each(|_| self.tally.count(plan, mean));
    }

    /// Takes a result, and hands on all that are now in order. `false` if one could not be written.
    pub(super) fn bring(&mut self, number: u64, output: S::Output) -> bool {
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
        }
        true
    }
}

/// The next unit and an output for it; `None`, and told to `delivery`, where there is none.
///
/// The output comes first, so whoever has the oldest unit in work can finish it, and waiting for an output cannot be for
/// ever.
pub(super) fn take<S: Service, Src: Source<S>, K>(
    out_link: &OutLink<S>,
    turn: &Mutex<&mut Intake<S, Src>>,
    delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
    quit: &AtomicBool,
) -> Option<(Numbered<S::Input>, S::Output)> {
    let Some(output) = out_link.empty() else {
        stop(delivery, quit, Stop::Stopped);
        return None;
    };
    let next = lock(turn).take(|| out_link.flush());
    let why = match next {
        Next::Unit(unit) => return Some((unit, output)),
        Next::Failed((unit, cause)) => Stop::Source { unit, cause },
        Next::Stopped => Stop::Stopped,
        Next::End => Stop::End,
    };
    out_link.give_back(output);
    stop(delivery, quit, why);
    None
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
