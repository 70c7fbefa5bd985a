//! Who may take another unit, where units overlap.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::cancel::CancelToken;
use super::delivery::Delivery;
use super::engine::{Stop, tiny};
use super::schedule::Schedule;
use crate::dispatch::WorkerId;
use crate::plan::Plan;
use crate::service::Service;
use crate::sync::{into_inner, lock};
use crate::tuner::{Epoch, Measured};

/// The units of an epoch, and of those after it as long as the plan is the same.
pub(super) struct Claims<'e> {
    plan: Plan,
    spread: bool,
    cutoff: Option<Duration>,
    may_grow: bool,
    cancel: &'e CancelToken,
    order: Mutex<Order<'e>>,
    /// No more units are begun.
    quit: AtomicBool,
    /// When each worker began the unit it computes, in nanoseconds since `began`; 0 where it computes none.
    begun: Vec<AtomicU64>,
    began: Instant,
}

/// How many units are left to take.
struct Order<'e> {
    schedule: &'e mut dyn Schedule,
    left: u32,
    /// An epoch under another plan, or with workers elsewhere, which the schedule has asked for.
    next: Option<Epoch>,
    over: bool,
}

impl<'e> Claims<'e> {
    /// For jobs on any of `workers`. Where buffers may grow, the engine does so between batches.
    pub(super) fn new(
        epoch: &Epoch,
        schedule: &'e mut dyn Schedule,
        cancel: &'e CancelToken,
        may_grow: bool,
        workers: usize,
    ) -> Claims<'e> {
        Claims {
            plan: epoch.plan,
            spread: epoch.spread,
            cutoff: epoch.cutoff,
            may_grow,
            cancel,
            order: Mutex::new(Order {
                schedule,
                left: epoch.units.max(1),
                next: None,
                over: false,
            }),
            quit: AtomicBool::new(false),
            begun: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            began: Instant::now(),
        }
    }

    /// Whether there is a unit for whoever asks. `reckon` says what the units of an epoch cost that ends now.
    pub(super) fn claim<S: Service, K>(
        &self,
        delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
        reckon: impl FnOnce(&mut Delivery<'_, '_, '_, S, K>) -> Vec<Duration>,
    ) -> bool {
        if self.cancel.is_cancelled() {
            self.stop(delivery, Stop::Stopped);
        }
        if self.quit.load(Ordering::Relaxed) {
            return false;
        }
        if self.cutoff.is_some() {
            let longest = self.in_work(Instant::now()).max().unwrap_or_default();
            if self.is_too_long(longest) {
                self.cut(&mut lock(delivery), longest);
                return false;
            }
        }
        let mut order = lock(&self.order);
        if order.left == 0 && !self.goes_on(&mut order, delivery, reckon) {
            order.over = true;
            return false;
        }
        order.left = order.left.saturating_sub(1);
        true
    }

    /// Whether the epoch goes on beyond its units, or another one under the same plan.
    ///
    /// One that ends before any of its units would have told nothing, and whoever asks would wait for those in work:
    /// units that take long would be computed one by one.
    fn goes_on<S: Service, K>(
        &self,
        order: &mut Order<'_>,
        delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
        reckon: impl FnOnce(&mut Delivery<'_, '_, '_, S, K>) -> Vec<Duration>,
    ) -> bool {
        let mut delivery = lock(delivery);
        let whole = delivery.stop.is_none() && delivery.cut.is_none();
        if order.over || self.cutoff.is_some() || !whole {
            return false;
        }
        if delivery.epoch.took.is_empty() {
            return true;
        }
        let costs = reckon(&mut delivery);
        drop(delivery);
        order.schedule.record(Measured::Units { costs: &costs });
        let next = order.schedule.next();
        let grows = self.may_grow && tiny(&costs);
        let alike = next.plan == self.plan && next.spread == self.spread;
        let goes_on = alike && next.cutoff.is_none() && !grows;
        if goes_on {
            order.left = next.units.max(1);
        } else {
            order.next = Some(next);
        }
        goes_on
    }

    /// Whether a unit has taken longer than the epoch allows.
    pub(super) fn is_too_long(&self, time: Duration) -> bool {
        self.cutoff.is_some_and(|cutoff| time > cutoff)
    }

    /// Ends the epoch for a unit that took too long; of several the longest counts.
    pub(super) fn cut<S: Service, K>(
        &self,
        delivery: &mut Delivery<'_, '_, '_, S, K>,
        time: Duration,
    ) {
        delivery.cut = delivery.cut.max(Some(time));
        self.quit();
    }

    /// No more units are begun.
    pub(super) fn quit(&self) {
        self.quit.store(true, Ordering::Relaxed);
    }

    /// The same, and says why.
    pub(super) fn stop<S: Service, K>(
        &self,
        delivery: &Mutex<Delivery<'_, '_, '_, S, K>>,
        why: Stop,
    ) {
        lock(delivery).stopped(why);
        self.quit();
    }

    /// A worker begins a unit.
    pub(super) fn begin(&self, worker: WorkerId, now: Instant) {
        self.put(worker, ((now - self.began).as_nanos() as u64).max(1));
    }

    /// A worker computes none any more.
    pub(super) fn end(&self, worker: WorkerId) {
        self.put(worker, 0);
    }

    fn put(&self, worker: WorkerId, value: u64) {
        if let Some(begun) = self.begun.get(worker.0) {
            begun.store(value, Ordering::Relaxed);
        }
    }

    /// How long each unit in work has taken at `now`.
    pub(super) fn in_work(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let since = now - self.began;
        let begun = self.begun.iter().map(|begun| begun.load(Ordering::Relaxed));
        begun
            .filter(|&begun| begun > 0)
            .map(move |begun| since.saturating_sub(Duration::from_nanos(begun)))
    }

    /// When the first epoch began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// The epoch after the last, where the schedule was asked already.
    pub(super) fn next(self) -> Option<Epoch> {
        into_inner(self.order).next
    }
}
