//! The source of a stream's plans.

use std::time::Duration;

use crate::tuner::{Epoch, Measured, Summary, Tuner};

/// Gives a stream its plans, epoch by epoch: the [`Tuner`], or a script in a test or an experiment.
///
/// The stream calls [`Schedule::next`], runs the epoch, and calls [`Schedule::record`] with its cost, unless it ended
/// before a unit was done. If units overlap, the worker that finds no unit left in the epoch makes the calls.
pub trait Schedule: Send {
    /// Returns the next epoch.
    fn next(&mut self) -> Epoch;

    /// Takes the outcome of that epoch.
    fn record(&mut self, measured: Measured<'_>);

    /// Takes the costs of units that were still in progress when the last epoch was recorded, if the next epoch has
    /// another plan.
    fn late(&mut self, costs: &[Duration]) {
        let _ = costs;
    }

    /// Takes the time to allocate an input and an output buffer, and the number of units that can be in progress with
    /// the existing buffers.
    fn buffers(&mut self, pair: Duration, units: u32);

    /// Takes the time before the epoch's first unit in which memory for its plan was allocated.
    fn prepared(&mut self, time: Duration);

    /// Takes the number of devices that can compute units from now on, and their joint rate in units per second, if
    /// known.
    fn devices(&mut self, devices: u32, rate: Option<f64>) {
        let _ = (devices, rate);
    }

    /// Takes the time of waiting for the units of devices before a change of plan.
    fn drained(&mut self, time: Duration) {
        let _ = time;
    }

    /// The result, for the report.
    fn summary(&self) -> Option<Summary> {
        None
    }

    /// Every decision with its reason, one line each, for the report.
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
