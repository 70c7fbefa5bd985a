//! Picks the plan while the stream runs.
//!
//! A [`Tuner`] has no thread and no clock: [`Tuner::next`] says what the next epoch does, [`Tuner::record`] takes what
//! it cost. `README.md` beside this file says how it decides and why.

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

/// Picks the plan of every epoch; see the module's documentation.
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
    /// A tuner for one stream.
    ///
    /// # Errors
    /// [`SetupError`] when the service offers no structure, or not the one the user asked for.
    pub fn new(setup: TunerSetup) -> Result<Tuner, SetupError> {
        let mut log = Log::default();
        Ok(Tuner {
            search: Search::new(&setup, &mut log)?,
            pending: None,
            totals: Totals::default(),
            log,
        })
    }

    /// What the next epoch does. The same answer until its outcome is recorded.
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

    /// Takes the outcome of the epoch that [`Tuner::next`] asked for. Without such an epoch it does nothing.
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

    /// Takes what units cost that were still in work when the outcome of their epoch was recorded.
    pub fn late(&mut self, costs: &[Duration]) {
        self.totals.units += costs.len() as u64;
        self.totals.seconds += costs.iter().map(Duration::as_secs_f64).sum::<f64>();
    }

    /// Says what making an input and an output buffer takes, and how many units can be in work with those there are:
    /// plans whose units overlap need one for each worker.
    pub fn buffers(&mut self, pair: Duration, units: u32) {
        self.search.buffers(pair.as_secs_f64(), units);
    }

    /// Takes the time that making memory took for the epoch that [`Tuner::next`] asked for.
    pub fn prepared(&mut self, time: Duration) {
        self.totals.seconds += time.as_secs_f64();
        self.search.prepared(time.as_secs_f64());
    }

    /// Takes how many devices can take part from now on, and how many units a second they compute together beside the
    /// workers, where that is known.
    pub fn devices(&mut self, devices: u32, rate: Option<f64>) {
        self.search
            .devices((devices, rate), &self.totals, &mut self.log);
    }

    /// Takes how long the units that devices had in work were waited for before another plan.
    pub fn drained(&mut self, time: Duration) {
        self.search.drained(time.as_secs_f64());
    }

    /// Every decision with its reason, oldest first. Of a very long log the middle is left out, and says so.
    pub fn decisions(&self) -> &[Decision] {
        self.log.entries()
    }

    /// The best plan known.
    pub fn incumbent(&self) -> Plan {
        self.search.incumbent()
    }

    /// The result so far.
    pub fn summary(&self) -> Summary {
        self.search.summary(&self.totals)
    }
}
