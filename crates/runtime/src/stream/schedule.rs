//! Who says which plan runs when.

use std::time::Duration;

use crate::tuner::{Epoch, Measured, Summary, Tuner};

/// Gives a stream its plans, epoch by epoch: the [`Tuner`], or a script in a test or an experiment.
///
/// The stream calls [`Schedule::next`], runs the epoch, and calls [`Schedule::record`] with what it cost, unless it
/// ended before a unit was done. Where it runs units side by side it does so on whichever worker finds that the epoch
/// has no units left.
pub trait Schedule: Send {
    /// What the next epoch does.
    fn next(&mut self) -> Epoch;

    /// Takes the outcome of that epoch.
    fn record(&mut self, measured: Measured<'_>);

    /// Takes what units of the last epoch recorded cost that were still in work then, if the next was of another plan.
    fn late(&mut self, costs: &[Duration]) {
        let _ = costs;
    }

    /// Says what making an input and an output buffer takes, and how many units can be in work with those there are.
    fn buffers(&mut self, pair: Duration, units: u32);

    /// Takes the time that went by before the epoch's first unit while memory was made for its plan.
    fn prepared(&mut self, time: Duration);

    /// What was found, for the report.
    fn summary(&self) -> Option<Summary> {
        None
    }

    /// Every decision with its reason, a line each, for the report.
    fn decisions(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Schedule for Tuner {
    fn next(&mut self) -> Epoch {
        Tuner::next(self)
    }

    fn record(&mut self, measured: Measured<'_>) {
        Tuner::record(self, measured);
    }

    fn late(&mut self, costs: &[Duration]) {
        Tuner::late(self, costs);
    }

    fn buffers(&mut self, pair: Duration, units: u32) {
        Tuner::buffers(self, pair, units);
    }

    fn prepared(&mut self, time: Duration) {
        Tuner::prepared(self, time);
    }

    fn summary(&self) -> Option<Summary> {
        Some(Tuner::summary(self))
    }

    fn decisions(&self) -> Vec<String> {
        Tuner::decisions(self)
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}
