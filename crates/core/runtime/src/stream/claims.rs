//! Decides which worker may take another unit, if units overlap.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::devices::News;
use super::engine::are_short;
use super::schedule::Schedule;
use super::share::{self, Element, Pace};
use crate::dispatch::WorkerId;
use crate::plan::Plan;
use crate::sync::{into_inner, lock};
use crate::tuner::{Epoch, Measured};

/// The units of an epoch, and of those after it as long as the plan is the same.
pub(super) struct UnitClaims<'e> {
    plan: Plan,
    pin_workers: bool,
    cutoff: Option<Duration>,
    may_grow: bool,
    left: Mutex<Left<'e>>,
    /// No more units are begun.
    quit: AtomicBool,
    /// The first unit of a device is compared. Meanwhile the epoch goes on, so that no worker waits for it.
    comparing: AtomicBool,
    /// A unit was finished within the cutoff, so that another that takes longer was disturbed.
    in_time: AtomicBool,
    /// Workers, and after them lanes of devices.
    elements: Vec<Element>,
    workers: usize,
    /// Units in work or waiting at most.
    window: u64,
    began: Instant,
    /// Whether devices have come or gone, which ends the epoch.
    news: News,
}

/// How many units are left to take.
struct Left<'e> {
    schedule: &'e mut dyn Schedule,
    units: u32,
    /// Units that were not taken yet of the stream, or of an experiment, if known.
    to_come: Option<u64>,
    /// An epoch under another plan, or with other affinity, which the schedule has been asked for.
    next: Option<Epoch>,
    /// When there was no more for a worker.
    ended: Option<Instant>,
}

/// What is known of an epoch when its units are all taken.
pub(super) enum EpochState {
    /// It has a cut or a stop.
    Broken,
    /// None of its units is done.
    NoneDone,
    /// What its units cost.
    Costs(Vec<Duration>),
}

impl<'e> UnitClaims<'e> {
    /// For jobs on any of `workers`, and as many `lanes`. Where buffers may grow, the engine makes them between batches.
    /// `to_come` units are left of the stream, if that is known, and `window` of them may be in work or wait for an
    /// earlier one.
    pub(super) fn new(
        epoch: &Epoch,
        schedule: &'e mut dyn Schedule,
        may_grow: bool,
        (workers, lanes): (usize, usize),
        (to_come, window): (Option<u64>, u64),
        news: News,
    ) -> UnitClaims<'e> {
        UnitClaims {
            plan: epoch.plan,
            pin_workers: epoch.pin_workers,
            cutoff: epoch.cutoff,
            may_grow,
            left: Mutex::new(Left {
                schedule,
                units: epoch.units.max(1),
                to_come,
                next: None,
                ended: None,
            }),
            quit: AtomicBool::new(false),
            comparing: AtomicBool::new(false),
            in_time: AtomicBool::new(false),
            elements: (0..workers + lanes).map(|_| Element::default()).collect(),
            workers,
            window,
            began: Instant::now(),
            news,
        }
    }

    /// Whether there is a unit for `worker`. `state` is asked when all units of an epoch are taken.
    pub(super) fn claim(&self, worker: WorkerId, state: impl FnOnce() -> EpochState) -> bool {
        let mut left = lock(&self.left);
        if !self.should_take(worker, left.to_come) {
            return false;
        }
        if left.units == 0 && !self.goes_on(&mut left, state) {
            left.ended.get_or_insert_with(Instant::now);
            return false;
        }
        left.units = left.units.saturating_sub(1);
        left.to_come = left.to_come.map(|units| units.saturating_sub(1));
        true
    }

    /// Whether a unit would be done first by `worker`. A device must not hold up others either, which wait when as many
    /// units as there may be wait for its unit.
    fn should_take(&self, worker: WorkerId, to_come: Option<u64>) -> bool {
        let units = match worker.0 < self.workers {
            true => to_come,
            false => Some(to_come.unwrap_or(u64::MAX).min(self.window)),
        };
        units.is_none_or(|units| share::takes(&self.elements, worker.0, units))
    }

    /// A unit that was claimed is not there yet.
    pub(super) fn return_one(&self) {
        let mut left = lock(&self.left);
        left.units += 1;
        left.to_come = left.to_come.map(|units| units + 1);
    }

    /// How many units a lane should take at once, where `most` are wanted.
    pub(super) fn share(&self, worker: WorkerId, most: usize) -> usize {
        let to_come = lock(&self.left).to_come;
        let share = to_come.map(|units| share::batch(&self.elements, worker.0, units));
        share.map_or(most, |share| most.min(share))
    }

    /// What is known of a worker or a lane from before.
    pub(super) fn set_pace(&self, worker: WorkerId, pace: Pace) {
        if let Some(element) = self.elements.get(worker.0) {
            element.set_pace(pace);
        }
    }

    /// What is known of it now.
    pub(super) fn pace(&self, worker: WorkerId) -> Pace {
        let element = self.elements.get(worker.0);
        element.map_or(Pace::default(), Element::pace)
    }

    /// Whether the epoch goes on beyond its units, or another one under the same plan.
    ///
    /// An epoch goes on until one of its units is done. If it ended before, it would measure nothing, and workers would
    /// wait for the units in work: units that take long would be computed one by one.
    fn goes_on(&self, left: &mut Left<'_>, state: impl FnOnce() -> EpochState) -> bool {
        if left.ended.is_some() || self.cutoff.is_some() {
            return false;
        }
        if self.comparing.load(Ordering::Relaxed) {
            return true;
        }
        let costs = match state() {
            EpochState::Broken => return false,
            EpochState::NoneDone => return true,
            EpochState::Costs(costs) => costs,
        };
        left.schedule.record(Measured::Units { costs: &costs });
        let next = left.schedule.next();
        let grows = self.may_grow && are_short(&costs);
        let same = next.plan == self.plan && next.pin_workers == self.pin_workers;
        let goes_on = same && next.cutoff.is_none() && !grows && !self.news.is_there();
        if goes_on {
            left.units = next.units.max(1);
        } else {
            left.next = Some(next);
        }
        goes_on
    }

    /// The longest that a unit in work has taken, if that is more than the epoch allows.
    pub(super) fn overdue(&self) -> Option<Duration> {
        self.cutoff?;
        let longest = self.in_work(Instant::now()).max();
        longest.filter(|&longest| self.is_too_long(longest))
    }

    /// Whether a unit has taken longer than the epoch allows, which it does not once another was in time.
    pub(super) fn is_too_long(&self, time: Duration) -> bool {
        let in_time = self.in_time.load(Ordering::Relaxed);
        self.cutoff.is_some_and(|cutoff| time > cutoff && !in_time)
    }

    /// A unit was finished after so long.
    pub(super) fn finished(&self, time: Duration) {
        if self.cutoff.is_some_and(|cutoff| time <= cutoff) {
            self.in_time.store(true, Ordering::Relaxed);
        }
    }

    /// Whether units may be given up.
    pub(super) fn has_cutoff(&self) -> bool {
        self.cutoff.is_some()
    }

    /// Whether the first unit of a device is compared.
    pub(super) fn set_comparing(&self, comparing: bool) {
        self.comparing.store(comparing, Ordering::Relaxed);
    }

    /// No more units are begun.
    pub(super) fn quit(&self) {
        self.quit.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_quit(&self) -> bool {
        self.quit.load(Ordering::Relaxed)
    }

    /// A worker begins a unit, or a lane so many.
    pub(super) fn begin(&self, worker: WorkerId, now: Instant, units: u32) {
        if let Some(element) = self.elements.get(worker.0) {
            element.begin(now - self.began, units);
        }
    }

    /// It has ended them, and took so long where that says something of the next.
    pub(super) fn end(&self, worker: WorkerId, took: Option<Duration>) {
        if let Some(element) = self.elements.get(worker.0) {
            element.end(took);
        }
    }

    /// How long the unit in work of each worker has taken at `now`.
    pub(super) fn in_work(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let since = now - self.began;
        let workers = &self.elements[..self.workers];
        workers
            .iter()
            .filter_map(move |element| element.in_work(since))
    }

    /// How much of the units in work is done at `now`, of workers and lanes, in units.
    pub(super) fn progress(&self, now: Instant) -> f64 {
        let since = now - self.began;
        self.elements.iter().map(|e| e.progress(since)).sum()
    }

    /// When the first epoch began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// How long the last units have been waited for since there were no more to take.
    pub(super) fn drained(&self) -> Duration {
        let ended = lock(&self.left).ended;
        ended.map_or(Duration::ZERO, |ended| ended.elapsed())
    }

    /// The epoch after the last, where the schedule has been asked for it.
    pub(super) fn next(self) -> Option<Epoch> {
        into_inner(self.left).next
    }
}
