//! Counters of a running stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::report::PlanTimes;
use super::samples::{Samples, Times};
use crate::plan::Plan;

/// The progress of a stream; see [`Stream::on_progress`](super::Stream::on_progress).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Units computed so far.
    pub units: u64,
    /// The total number of units, if the source knows it.
    pub total: Option<u64>,
    /// Bytes done so far, if the service counts them; see [`Stream::counting`](super::Stream::counting).
    pub bytes: Option<u64>,
    /// No unit was computed for a second, because none was read.
    pub waiting: bool,
    /// Units dropped so far; in live streams only.
    pub dropped: u64,
    /// Time since the stream began, in seconds.
    pub elapsed_s: f64,
    /// Units per second since the last report.
    pub rate: f64,
    /// The plan of the last unit.
    pub plan: Plan,
}

/// A count of bytes, increased by the part of a stream that knows it. Clones are the same count.
#[derive(Clone, Debug, Default)]
pub struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    /// Adds to the count.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The type of functions that receive the progress of a run.
pub type OnProgress<'a> = Box<dyn FnMut(&Progress) + Send + 'a>;

/// Time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Times kept of the stream, 256 KiB, and of each plan, 4 KiB.
const STREAM_SAMPLES: usize = 1 << 16;
const PLAN_SAMPLES: usize = 1 << 10;

struct PlanSamples {
    plan: Plan,
    samples: Samples,
}

/// Times of all units and of the units of each plan, and the reports of progress.
pub(super) struct Tally<'a> {
    began: Instant,
    total: Option<u64>,
    all: Samples,
    plans: Vec<PlanSamples>,
    /// The plan of the last unit, as an index.
    last: usize,
    on_progress: Option<OnProgress<'a>>,
    bytes: Option<ByteCount>,
    reported: (Instant, u64),
}

impl<'a> Tally<'a> {
    pub(super) fn new(
        total: Option<u64>,
        on_progress: Option<OnProgress<'a>>,
        bytes: Option<ByteCount>,
    ) -> Self {
        let began = Instant::now();
        let limit = total.map_or(STREAM_SAMPLES, |t| t.min(STREAM_SAMPLES as u64) as usize);
        Tally {
            began,
            total,
            all: Samples::new(limit),
            plans: Vec::new(),
            last: 0,
            on_progress,
            bytes,
            reported: (began, 0),
        }
    }

    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Counts a unit that took `cost` under `plan`.
    pub(super) fn count(&mut self, plan: &Plan, cost: Duration) {
        let cost = cost.as_secs_f64();
        self.all.add(cost);
        if self.plans.get(self.last).is_none_or(|p| p.plan != *plan) {
            self.last = self
                .plans
                .iter()
                .position(|p| p.plan == *plan)
                .unwrap_or_else(|| {
                    self.plans.push(PlanSamples {
                        plan: *plan,
                        samples: Samples::new(PLAN_SAMPLES),
                    });
                    self.plans.len() - 1
                });
        }
        self.plans[self.last].samples.add(cost);
    }

    /// Reports progress if the last report is old enough: `units` units are done.
    pub(super) fn progress(
        &mut self,
        plan: &Plan,
        units: u64,
        now: Instant,
        dropped: impl FnOnce() -> u64,
    ) {
        if now.saturating_duration_since(self.reported.0) >= PROGRESS_EVERY {
            self.report(plan, units, now, dropped(), false);
        }
    }

    /// Reports that `units` units are done and the next is waited for.
    pub(super) fn waiting(&mut self, plan: &Plan, units: u64, dropped: u64) {
        self.report(plan, units, Instant::now(), dropped, true);
    }

    /// Reports that all is done.
    pub(super) fn finished(&mut self, units: u64, dropped: u64) {
        if let Some(plan) = self.plans.get(self.last).map(|last| last.plan) {
            self.report(&plan, units, Instant::now(), dropped, false);
        }
    }

    fn report(&mut self, plan: &Plan, units: u64, now: Instant, dropped: u64, waiting: bool) {
        let Some(on_progress) = &mut self.on_progress else {
            return;
        };
        let since = now.saturating_duration_since(self.reported.0);
        on_progress(&Progress {
            units,
            total: self.total,
            bytes: self.bytes.as_ref().map(ByteCount::get),
            waiting,
            dropped,
            elapsed_s: now.saturating_duration_since(self.began).as_secs_f64(),
            rate: (units - self.reported.1) as f64 / since.as_secs_f64().max(1e-9),
            plan: *plan,
        });
        self.reported = (now, units);
    }

    /// Units counted.
    pub(super) fn units(&self) -> u64 {
        self.all.count()
    }

    /// Times of all units, and of the last quarter.
    pub(super) fn times(&self) -> (Times, Times) {
        (self.all.times(), self.all.last_quarter())
    }

    /// Plans that ran, most units first, and the one that ran last.
    pub(super) fn plans(&self) -> (Vec<PlanTimes>, Option<Plan>) {
        let mut plans: Vec<PlanTimes> = self
            .plans
            .iter()
            .map(|p| PlanTimes {
                plan: p.plan,
                units: p.samples.count(),
                median_s: p.samples.times().median_s,
            })
            .collect();
        plans.sort_by_key(|p| std::cmp::Reverse(p.units));
        (plans, self.plans.get(self.last).map(|p| p.plan))
    }
}
