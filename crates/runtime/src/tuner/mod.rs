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

use crate::plan::{Choice, Plan};

use decision::Log;
use model::Model;
use search::Search;

/// Picks the plan of every epoch; see the module's documentation.
#[derive(Debug)]
pub struct Tuner {
    mode: Mode,
    pending: Option<Epoch>,
    totals: Totals,
    log: Log,
}

#[derive(Debug)]
enum Mode {
    Fixed(Fixed),
    Auto(Box<Search>),
}

/// What all epochs together came to.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    epochs: u64,
    units: u64,
    seconds: f64,
}

/// An epoch that was cut off.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Seconds until the unit was abandoned.
    after: f64,
    /// Seconds of the unit under the fallback, if it was redone.
    redo: Option<f64>,
}

impl Cut {
    fn new(after: Duration, redo: Duration) -> Cut {
        let redo = (!redo.is_zero()).then_some(redo.as_secs_f64());
        Cut {
            after: after.as_secs_f64().max(1e-9),
            redo,
        }
    }
}

/// One plan for the whole stream.
#[derive(Debug)]
struct Fixed {
    plan: Plan,
    units: u32,
    cost: f64,
}

/// Time an epoch of a settled plan aims at, in seconds.
const LONG_EPOCH_S: f64 = 0.05;

impl Tuner {
    /// A tuner for one stream.
    ///
    /// # Errors
    /// [`SetupError`] when the service offers no structure, or not the one the user asked for.
    pub fn new(setup: TunerSetup) -> Result<Tuner, SetupError> {
        let mut log = Log::default();
        let choice = setup.choice.clone();
        let model = Model::new(&setup)?;
        let mode = match choice {
            Choice::Auto => Mode::Auto(Box::new(Search::new(model, &setup, &mut log)?)),
            Choice::Fixed {
                structure,
                dispatch,
                grain,
            } => {
                let plan = model.fixed(&structure, dispatch, grain)?;
                log.push(0, format!("{plan}, as asked for"));
                Mode::Fixed(Fixed {
                    plan,
                    units: 1,
                    cost: 0.0,
                })
            }
        };
        Ok(Tuner {
            mode,
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
        let epoch = match &mut self.mode {
            Mode::Fixed(fixed) => Epoch {
                number,
                plan: fixed.plan,
                units: fixed.units,
                cutoff: None,
                fallback: fixed.plan,
                pin_workers: false,
                purpose: Purpose::Fixed,
            },
            Mode::Auto(search) => search.next(number, &self.totals, &mut self.log),
        };
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
            Measured::CutOff { done, after, redo } => (done, Some(Cut::new(after, redo))),
        };
        let spent = costs.iter().sum::<Duration>().as_secs_f64()
            + cut.map_or(0.0, |cut| cut.after + cut.redo.unwrap_or(0.0));
        self.totals.epochs += 1;
        self.totals.units += costs.len() as u64 + u64::from(cut.is_some());
        self.totals.seconds += spent;
        match &mut self.mode {
            Mode::Fixed(fixed) if !costs.is_empty() => {
                fixed.cost = spent / costs.len() as f64;
                fixed.units = grown(fixed.units, fixed.cost);
            }
            Mode::Fixed(_) => {}
            Mode::Auto(search) => {
                search.record(&epoch, costs, cut.as_ref(), &self.totals, &mut self.log)
            }
        }
    }

    /// Takes what units cost that were still in work when the outcome of their epoch was recorded.
    pub fn late(&mut self, costs: &[Duration]) {
        self.totals.units += costs.len() as u64;
        self.totals.seconds += costs.iter().map(Duration::as_secs_f64).sum::<f64>();
    }

    /// Says what making an input and an output buffer takes, and how many units can be in work with those there are:
    /// plans whose units overlap need one for each worker.
    pub fn buffers(&mut self, pair: Duration, units: u32) {
        if let Mode::Auto(search) = &mut self.mode {
            search.buffers(pair.as_secs_f64(), units);
        }
    }

    /// Takes the time that making memory took for the epoch that [`Tuner::next`] asked for.
    pub fn prepared(&mut self, time: Duration) {
        self.totals.seconds += time.as_secs_f64();
        if let Mode::Auto(search) = &mut self.mode {
            search.prepared(time.as_secs_f64());
        }
    }

    /// Takes how many devices can take part from now on.
    pub fn devices(&mut self, devices: u32) {
        if let Mode::Auto(search) = &mut self.mode {
            search.devices(devices);
        }
    }

    /// Takes how long the units that devices had in work were waited for before another plan.
    pub fn drained(&mut self, time: Duration) {
        if let Mode::Auto(search) = &mut self.mode {
            search.drained(time.as_secs_f64());
        }
    }

    /// Every decision with its reason, oldest first. Of a very long log the middle is left out, and says so.
    pub fn decisions(&self) -> &[Decision] {
        self.log.entries()
    }

    /// The best plan known.
    pub fn incumbent(&self) -> Plan {
        match &self.mode {
            Mode::Fixed(fixed) => fixed.plan,
            Mode::Auto(search) => search.incumbent(),
        }
    }

    /// The result so far.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            plan: self.incumbent(),
            cost: None,
            gain: None,
            epochs: self.totals.epochs,
            units: self.totals.units,
            elapsed: Duration::from_secs_f64(self.totals.seconds),
            exploring: Duration::ZERO,
            plans_tried: u32::from(self.totals.units > 0),
            switches: 0,
            drifts: 0,
        };
        match &self.mode {
            Mode::Fixed(fixed) => {
                summary.cost = (fixed.cost > 0.0).then(|| Duration::from_secs_f64(fixed.cost));
            }
            Mode::Auto(search) => search.summarise(&mut summary),
        }
        summary
    }
}

/// The length of the next epoch of a plan that stays: twice the last, up to [`LONG_EPOCH_S`].
fn grown(units: u32, cost: f64) -> u32 {
    let most = (LONG_EPOCH_S / cost.max(1e-9)).clamp(1.0, 65_536.0) as u32;
    units.saturating_mul(2).clamp(1, most)
}
