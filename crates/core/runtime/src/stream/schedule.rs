//! What gives a stream its plans.

use std::time::Duration;

use crate::tuner::{Epoch, Measured, Summary, Tuner};

/// Gives a stream its plans, epoch by epoch: the [`Tuner`], or a script in a test or an experiment.
///
/// The stream calls [`Schedule::next`], runs the epoch, and calls [`Schedule::record`] with what it cost, unless it
/// ended before a unit was done. Where units overlap, the worker that finds no unit left in the epoch makes the calls.
pub trait Schedule: Send {
    /// What the next epoch does.
    fn next(&mut self) -> Epoch;

    /// Takes the outcome of that epoch.
    fn record(&mut self, measured: Measured<'_>);

    /// Takes the costs of units that were still in work when the last epoch was recorded, if the next has another plan.
    fn late(&mut self, costs: &[Duration]) {
        let _ = costs;
    }

    /// Takes how long it takes to make an input and an output buffer, and how many units can be in work with the
    /// buffers there are.
    fn buffers(&mut self, pair: Duration, units: u32);

    /// Takes the time that went by before the epoch's first unit while memory was made for its plan.
    fn prepared(&mut self, time: Duration);

    /// Takes how many devices can compute units from now on, and how many a second together, where that is known.
    fn devices(&mut self, devices: u32, rate: Option<f64>) {
        let _ = (devices, rate);
    }

    /// Takes how long the units that devices had in work were waited for before another plan.
    fn drained(&mut self, time: Duration) {
        let _ = time;
    }

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

    fn devices(&mut self, devices: u32, rate: Option<f64>) {
        Tuner::devices(self, devices, rate);
    }

    fn drained(&mut self, time: Duration) {
        Tuner::drained(self, time);
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
