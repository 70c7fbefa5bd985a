//! The ends of epochs and streams.

use std::time::Duration;

use super::error::{BoxError, StreamError};
use crate::structure::Structure;
use crate::tuner::Epoch;

/// Why no further unit is computed.
pub(super) enum Stop {
    /// The source has ended.
    End,
    /// The stream was cancelled, or the sink failed; what failed is reported elsewhere.
    Stopped,
    /// Reading a unit failed.
    Source { unit: u64, cause: BoxError },
    /// A kernel failed on a unit.
    Unit { unit: u64, message: String },
    /// The schedule gave a plan that cannot be run.
    Plan(StreamError),
}

/// A unit that took longer than its epoch allows.
pub(super) struct Cut {
    /// When it was given up.
    pub(super) after: Duration,
    /// A unit's share of what the fallback took.
    pub(super) redo: Duration,
}

/// How an epoch ended. Without a cut and a stop all its units were computed.
#[derive(Default)]
pub(super) struct EpochEnd {
    pub(super) cut: Option<Cut>,
    pub(super) stop: Option<Stop>,
    /// How long devices were waited for at its end.
    pub(super) drained: Duration,
    /// The next epoch, where the schedule has been asked for it. The schedule then knows what most units cost.
    pub(super) next: Option<Epoch>,
}

impl From<(u64, String)> for Stop {
    fn from((unit, message): (u64, String)) -> Stop {
        Stop::Unit { unit, message }
    }
}

impl From<Stop> for EpochEnd {
    fn from(stop: Stop) -> EpochEnd {
        EpochEnd {
            stop: Some(stop),
            ..EpochEnd::default()
        }
    }
}

pub(super) fn not_live(structure: &'static Structure) -> StreamError {
    StreamError::Unsupported {
        structure,
        why: "in a live stream, where units cannot wait for one another; name another structure",
    }
}
