//! The inputs and outputs of a tuner.

use std::time::Duration;

use crate::plan::{Choice, Dispatch, Plan};
use crate::rates::Rates;
use crate::service::Shape;

/// Everything that a tuner knows before the first unit.
#[derive(Clone, Debug)]
pub struct TunerSetup {
    /// The shapes of the service.
    pub shapes: Vec<Shape>,
    /// The rates of this machine.
    pub rates: Rates,
    /// The number of workers, at least 1.
    pub workers: u32,
    /// The number of CPUs that workers can use at once, with a quota counted as its share. More workers than this are
    /// not faster.
    pub cpus: f64,
    /// The size of the machine's largest cache in bytes; `None` if unknown.
    pub outer_cache: Option<usize>,
    /// The available dispatch flavours, the preferred one first.
    pub dispatches: Vec<Dispatch>,
    /// The number of units in the stream, if known.
    pub units: Option<u64>,
    /// Units cannot wait for each other, so structures with several units in progress are excluded.
    pub live: bool,
    /// The winning plan of the last run of this service on this machine.
    pub remembered: Option<Plan>,
    /// The user's choice.
    pub choice: Choice,
    /// The number of devices that can take part; it may grow, see [`Tuner::devices`](super::Tuner::devices).
    pub devices: u32,
    /// The number of workers that the user fixed.
    pub fixed_workers: Option<u32>,
    /// The consumer of the units computes on the same CPUs, so further workers may help little.
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
    /// The requested structure is not offered by the service.
    #[error("the service cannot run as '{asked}'; one of: {offered}")]
    NotOffered {
        /// The requested structure.
        asked: String,
        /// The offered structures, separated by commas.
        offered: String,
    },
}

/// The purpose of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The user fixed the plan.
    Fixed,
    /// The best known plan runs.
    Incumbent,
    /// Another plan is compared with the best known one.
    Trial,
}

/// The next epoch of the stream: `units` units under `plan`.
///
/// With a `cutoff`, a unit that takes longer is abandoned (jobs not yet started are skipped) and redone under
/// `fallback` without a limit. The epoch ends there with [`Measured::CutOff`]; its units not yet started belong to
/// the next epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The number of the epoch, from 1.
    pub number: u64,
    /// The plan for the units.
    pub plan: Plan,
    /// The number of units, at least 1.
    pub units: u32,
    /// The maximum time of a single unit, or of a group of units, from its start, on any worker.
    pub cutoff: Option<Duration>,
    /// The plan for a unit that was cut off. It differs from `plan` if there is a cutoff.
    pub fallback: Plan,
    /// Pins each worker to its own CPU meanwhile, if there are enough; otherwise the operating system places the
    /// workers. No effect if the user chose a placement.
    pub pin_workers: bool,
    /// The purpose.
    pub purpose: Purpose,
}

/// The cost of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured<'a> {
    /// The epoch ran to its end, or to the end of the stream.
    Units {
        /// The time of each unit, in order, without waits for input or output. For overlapping units (a farm), a
        /// unit's own time on its worker divided by the number of workers; for a group, its time divided by its
        /// units, once for each unit.
        costs: &'a [Duration],
    },
    /// A unit exceeded the epoch's cutoff.
    CutOff {
        /// The times of the units before that one, in order, as above.
        done: &'a [Duration],
        /// Time from the start of that unit until it was abandoned.
        after: Duration,
        /// The time of the same unit redone under the fallback; for a group, the time per unit. Zero if the unit was
        /// not abandoned but finished too late, as in a pipeline.
        redo: Duration,
    },
}

/// The speed-up of the incumbent over `sequential`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Time of a unit under `sequential` divided by its time under the incumbent.
    pub factor: f64,
    /// Both were measured in this stream; otherwise the time of `sequential` is predicted.
    pub measured: bool,
}

/// The result of a tuner so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The current plan.
    pub plan: Plan,
    /// Its time per unit (median of the latest units); `None` before the first.
    pub cost: Option<Duration>,
    /// The speed-up over `sequential`, if the service has it and something was measured.
    pub gain: Option<Gain>,
    /// Epochs recorded.
    pub epochs: u64,
    /// Units recorded.
    pub units: u64,
    /// Time of all units recorded.
    pub elapsed: Duration,
    /// Time lost on plans that were slower than the incumbent at that time, including units that were cut off.
    pub exploring: Duration,
    /// Plans that were run at least once.
    pub plans_tried: u32,
    /// How often the incumbent changed.
    pub switches: u32,
    /// How often the search was reopened because the incumbent's cost had changed.
    pub drifts: u32,
}
