//! Chooses the plan while the stream runs.
//!
//! A [`Tuner`] has no thread and no clock: [`Tuner::next`] returns the next epoch, and [`Tuner::record`] takes its
//! cost. `README.md` beside this file explains how and why it decides.

#![forbid(unsafe_code)]

mod api;
mod arm;
mod belief;
mod candidates;
mod decision;
mod drift;
mod level;
mod model;
mod plans;
mod search;

pub use crate::remembered::Memory;
pub use api::{Epoch, Gain, Measured, Purpose, SetupError, Summary, TunerSetup};
pub use decision::Decision;

use std::time::Duration;

use crate::plan::Plan;

use decision::Log;
use search::Search;

/// Chooses the plan of every epoch.
///
/// Call [`Tuner::next`], run the epoch, and call [`Tuner::record`] with its cost; repeat until the stream ends.
/// [`Tuner::summary`] has the result.
#[derive(Debug)]
pub struct Tuner {
    search: Search,
    pending: Option<Epoch>,
    totals: Totals,
    log: Log,
}

/// What all epochs together came to.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    epochs: u64,
    units: u64,
    seconds: f64,
}

/// A unit that was given up, in seconds.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Until it was given up.
    after: f64,
    /// Until it was done again, if it was.
    redo: f64,
}

impl Tuner {
    /// Creates a tuner for one stream.
    ///
    /// # Errors
    /// [`SetupError`] if the service offers no structure, or not the requested one.
    pub fn new(setup: TunerSetup) -> Result<Tuner, SetupError> {
        let mut log = Log::default();
        Ok(Tuner {
            search: Search::new(&setup, &mut log)?,
            pending: None,
            totals: Totals::default(),
            log,
        })
    }

    /// Returns the next epoch. It is the same until its outcome is recorded.
    #[allow(clippy::should_implement_trait)] // a tuner never ends, and needs `record` between two calls
    pub fn next(&mut self) -> Epoch {
        if let Some(epoch) = self.pending {
            return epoch;
        }
        let number = self.totals.epochs + 1;
        let epoch = self.search.next(number, &self.totals, &mut self.log);
        self.pending = Some(epoch);
        epoch
    }

    /// Takes the outcome of the epoch from [`Tuner::next`]. Without such an epoch it does nothing.
    pub fn record(&mut self, measured: Measured<'_>) {
        let Some(epoch) = self.pending.take() else {
            return;
        };
        let (costs, cut) = match measured {
            Measured::Units { costs } => (costs, None),
            Measured::CutOff { done, after, redo } => {
                let (after, redo) = (after.as_secs_f64().max(1e-9), redo.as_secs_f64());
                (done, Some(Cut { after, redo }))
            }
        };
        self.totals.epochs += 1;
        self.totals.units += u64::from(cut.is_some());
        self.totals.seconds += cut.map_or(0.0, |cut| cut.after + cut.redo);
        self.late(costs);
        self.search
            .record(&epoch, costs, cut, &self.totals, &mut self.log);
    }

    /// Takes the costs of units that were still in progress when their epoch was recorded.
    pub fn late(&mut self, costs: &[Duration]) {
        self.totals.units += costs.len() as u64;
        self.totals.seconds += costs.iter().map(Duration::as_secs_f64).sum::<f64>();
    }

    /// Takes the time to allocate an input and an output buffer, and the number of units that can be in progress with
    /// the existing buffers: plans with overlapping units need one for each worker.
    pub fn buffers(&mut self, pair: Duration, units: u32) {
        self.search.buffers(pair.as_secs_f64(), units);
    }

    /// Takes the time spent on allocating memory for the epoch from [`Tuner::next`].
    pub fn prepared(&mut self, time: Duration) {
        self.totals.seconds += time.as_secs_f64();
        self.search.prepared(time.as_secs_f64());
    }

    /// Takes the number of devices that can take part from now on, and their joint rate in units per second beside
    /// the workers, if known.
    pub fn devices(&mut self, devices: u32, rate: Option<f64>) {
        self.search
            .devices((devices, rate), &self.totals, &mut self.log);
    }

    /// Takes the time of waiting for the units of devices before a change of plan.
    pub fn drained(&mut self, time: Duration) {
        self.search.drained(time.as_secs_f64());
    }

    /// Every decision with its reason, oldest first. In a very long log the middle is left out, with a note.
    pub fn decisions(&self) -> &[Decision] {
        self.log.entries()
    }

    /// The best known plan.
    pub fn incumbent(&self) -> Plan {
        self.search.incumbent()
    }

    /// The result so far.
    pub fn summary(&self) -> Summary {
        self.search.summary(&self.totals)
    }
}
