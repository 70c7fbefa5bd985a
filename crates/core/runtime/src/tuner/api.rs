//! What goes into a tuner and what comes out of it.

use std::time::Duration;

use crate::plan::{Choice, Dispatch, Plan};
use crate::rates::Rates;
use crate::service::Shape;

/// Everything a tuner knows before the first unit.
#[derive(Clone, Debug)]
pub struct TunerSetup {
    /// The ways the service can run a unit.
    pub shapes: Vec<Shape>,
    /// Rates of this machine.
    pub rates: Rates,
    /// Workers there are, at least 1.
    pub workers: u32,
    /// Cpus that workers can run on at once: what the process may use, a quota counted as its share. More workers than
    /// that do not compute faster.
    pub cpus: f64,
    /// Bytes of the machine's largest cache; `None` if unknown.
    pub outer_cache: Option<usize>,
    /// Dispatch flavours there are, the preferred first.
    pub dispatches: Vec<Dispatch>,
    /// Length of the stream in units, if known.
    pub units: Option<u64>,
    /// Units cannot wait for one another, so structures that have several in work are left out.
    pub live: bool,
    /// The plan that won the last time this service ran on this machine.
    pub remembered: Option<Plan>,
    /// What the user asked for.
    pub choice: Choice,
    /// Devices that can take part; more may come, see [`Tuner::devices`](super::Tuner::devices).
    pub devices: u32,
    /// Number of workers the user pinned.
    pub fixed_workers: Option<u32>,
    /// Who waits for the units computes on the same processors, so that further workers may bring little.
    pub crowded: bool,
}

/// A setup that leaves no plan to run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The service offers no structure at all, or none that suits the stream.
    #[error(
        "the service offers no structure that this stream can run; it needs at least `sequential`"
    )]
    NoShape,
    /// A structure was asked for that the service does not have.
    #[error("the service cannot run as '{asked}'; one of: {offered}")]
    NotOffered {
        /// What was asked for.
        asked: String,
        /// What there is, comma separated.
        offered: String,
    },
}

/// Why an epoch runs what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The user fixed the plan.
    Fixed,
    /// The best plan known runs.
    Incumbent,
    /// Another plan is compared with it.
    Trial,
}

/// What the stream does next: `units` units under `plan`.
///
/// With a `cutoff`, a unit that takes longer is abandoned (jobs not yet begun are skipped), redone under `fallback`
/// without a limit, and the epoch ends there with [`Measured::CutOff`]; its units not yet begun belong to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Counts from 1.
    pub number: u64,
    /// How to run the units.
    pub plan: Plan,
    /// How many units, at least 1.
    pub units: u32,
    /// Longest time a single unit, or a group of units, may take from its start, on whichever worker.
    pub cutoff: Option<Duration>,
    /// The plan for a unit that was cut off. Differs from `plan` where there is a cutoff.
    pub fallback: Plan,
    /// Each worker keeps to a processor of its own meanwhile, if there are as many; otherwise workers run where the
    /// operating system puts them. Does nothing where the user said where they run.
    pub pin_workers: bool,
    /// Why.
    pub purpose: Purpose,
}

/// What an epoch cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured<'a> {
    /// The epoch ran to its end, or to the end of the stream.
    Units {
        /// Time of each unit, in order, without what was spent waiting for input or output. Where units overlap
        /// (a farm), a unit's own time on its worker divided by the workers side by side; of a group, its time divided
        /// by the units, once for each.
        costs: &'a [Duration],
    },
    /// A unit exceeded the epoch's cutoff.
    CutOff {
        /// Time of each unit before that one, in order, as above.
        done: &'a [Duration],
        /// Time from the start of that unit until it was abandoned.
        after: Duration,
        /// Time of the same unit redone under the fallback, of a group that of each. Zero where the unit was not
        /// abandoned but finished too late, as in a pipeline.
        redo: Duration,
    },
}

/// How much faster the incumbent is than `sequential`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Time of a unit under `sequential` divided by its time under the incumbent.
    pub factor: f64,
    /// Both were measured in this stream; otherwise the time of `sequential` is predicted.
    pub measured: bool,
}

/// A tuner's result so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The plan in force.
    pub plan: Plan,
    /// Its time per unit (median of the latest units); `None` before the first.
    pub cost: Option<Duration>,
    /// Gain over `sequential`, where the service has it and something was measured.
    pub gain: Option<Gain>,
    /// Epochs recorded.
    pub epochs: u64,
    /// Units recorded.
    pub units: u64,
    /// Time of all units recorded.
    pub elapsed: Duration,
    /// Time lost on plans that were slower than the incumbent of the moment, cut-off units included.
    pub exploring: Duration,
    /// Plans that were run at least once.
    pub plans_tried: u32,
    /// Times the incumbent changed.
    pub switches: u32,
    /// Times the search was opened again because the incumbent's cost had changed.
    pub drifts: u32,
}
