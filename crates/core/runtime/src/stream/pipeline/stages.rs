//! The stages of one pipeline, their measurements, and their boundaries.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::chain::StageChain;
use crate::stages::ROOM;
use crate::stream::balance::{Balance, Medians, Window};
use crate::stream::erased::Unit;
use crate::sync::lock;

/// A unit on its way through a pipeline.
pub(super) struct InFlight {
    pub(super) number: u64,
    pub(super) input: Unit,
    pub(super) output: Unit,
    /// Steps done.
    pub(super) done: u32,
    pub(super) took: Duration,
}

/// What is measured of one stage.
struct StageMeter {
    /// The step it ends before.
    end: AtomicU32,
    /// Nanoseconds it computed in this epoch.
    busy: AtomicU64,
    /// Its first unit has come.
    filled: AtomicBool,
    window: Mutex<Window>,
}

/// The stages of one pipeline.
pub(super) struct Stages {
    pub(super) chain: StageChain<InFlight>,
    meters: Vec<StageMeter>,
    medians: Mutex<Medians>,
}

impl Stages {
    /// Stages that end before the steps `ends`.
    pub(super) fn new(ends: Vec<u32>) -> Stages {
        let meter = |&end: &u32| StageMeter {
            end: AtomicU32::new(end),
            busy: AtomicU64::new(0),
            filled: AtomicBool::new(false),
            window: Mutex::default(),
        };
        Stages {
            chain: StageChain::new(ends.len(), ROOM),
            meters: ends.iter().map(meter).collect(),
            medians: Mutex::new(Medians::new(ends)),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.meters.len() as u32
    }

    /// The step that a stage ends before now, of `steps` in all.
    pub(super) fn end(&self, stage: usize, steps: u32) -> u32 {
        match stage + 1 == self.meters.len() {
            true => steps,
            false => self.meters[stage].end.load(Ordering::Relaxed).min(steps),
        }
    }

    /// Whether a stage has had a unit.
    pub(super) fn is_filled(&self, stage: usize) -> bool {
        self.meters[stage].filled.load(Ordering::Relaxed)
    }

    /// A stage has a unit. Whether it is the first.
    pub(super) fn fill(&self, stage: usize) -> bool {
        !self.meters[stage].filled.swap(true, Ordering::Relaxed)
    }

    /// Measures a unit that a stage computed. Where stages end from now on, if that changes.
    pub(super) fn measure(
        &self,
        stage: usize,
        steps: &Range<u32>,
        took: Duration,
        balance: &Mutex<Balance>,
    ) -> Option<Vec<u32>> {
        let meter = &self.meters[stage];
        let nanos = took.as_nanos() as u64;
        meter.busy.fetch_add(nanos, Ordering::Relaxed);
        let median = lock(&meter.window).add(steps, took)?;
        let mut medians = lock(&self.medians);
        let ends = medians.put(stage, steps, median, |ends, took| {
            lock(balance).learn(ends, took)
        })?;
        for (meter, &end) in self.meters.iter().zip(ends) {
            meter.end.store(end, Ordering::Relaxed);
        }
        Some(ends.to_vec())
    }

    /// What its stages computed since the last call, in sum, and what they would have if each were the busiest.
    pub(super) fn busy(&self) -> (Duration, Duration) {
        let busy = self.meters.iter();
        let busy = busy.map(|meter| meter.busy.swap(0, Ordering::Relaxed));
        let (sum, most) = busy.fold((0, 0), |(sum, most), busy| (sum + busy, busy.max(most)));
        let limit = most * self.meters.len() as u64;
        (Duration::from_nanos(sum), Duration::from_nanos(limit))
    }
}
