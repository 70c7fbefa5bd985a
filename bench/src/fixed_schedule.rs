//! A schedule with one plan that records what each unit costs.

use std::time::Duration;

use evener_runtime::Plan;
use evener_runtime::stream::Schedule;
use evener_runtime::tuner::{Epoch, Measured, Purpose};

/// Units of an epoch. No unit waits between two epochs of the same plan.
const UNITS: u32 = 16;

/// Gives every epoch of a stream the same plan.
pub(crate) struct FixedSchedule {
    plan: Plan,
    epochs: u64,
    /// Milliseconds of each unit, in the order of the stream.
    pub(crate) ms: Vec<f64>,
}

impl FixedSchedule {
    pub(crate) fn new(plan: Plan) -> FixedSchedule {
        FixedSchedule {
            plan,
            epochs: 0,
            ms: Vec::new(),
        }
    }

    fn extend(&mut self, costs: &[Duration]) {
        self.ms.extend(costs.iter().map(|c| c.as_secs_f64() * 1e3));
    }
}

impl Schedule for &mut FixedSchedule {
    fn next(&mut self) -> Epoch {
        Epoch {
            number: self.epochs + 1,
            plan: self.plan,
            units: UNITS,
            cutoff: None,
            fallback: self.plan,
            pin_workers: false,
            purpose: Purpose::Fixed,
        }
    }

    fn record(&mut self, measured: Measured<'_>) {
        self.epochs += 1;
        match measured {
            Measured::Units { costs } => self.extend(costs),
            Measured::CutOff { done, .. } => self.extend(done),
        }
    }

    fn late(&mut self, costs: &[Duration]) {
        self.extend(costs);
    }

    fn buffers(&mut self, _: Duration, _: u32) {}

    fn prepared(&mut self, _: Duration) {}
}
