//! A stream under one plan, and what each of its units cost.

use std::time::Duration;

use evener_runtime::Plan;
use evener_runtime::stream::Schedule;
use evener_runtime::tuner::{Epoch, Measured, Purpose};

/// Units of an epoch; none waits where one ends and the next has the same plan.
const UNITS: u32 = 16;

/// Gives a stream the same plan for ever.
pub(crate) struct Steady {
    plan: Plan,
    epochs: u64,
    /// Milliseconds of each unit, in the order of the stream.
    pub(crate) ms: Vec<f64>,
}

impl Steady {
    pub(crate) fn new(plan: Plan) -> Steady {
        Steady {
            plan,
            epochs: 0,
            ms: Vec::new(),
        }
    }

    fn took(&mut self, costs: &[Duration]) {
        self.ms.extend(costs.iter().map(|c| c.as_secs_f64() * 1e3));
    }
}

impl Schedule for &mut Steady {
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
            Measured::Units { costs } => self.took(costs),
            Measured::CutOff { done, .. } => self.took(done),
        }
    }

    fn late(&mut self, costs: &[Duration]) {
        self.took(costs);
    }

    fn buffers(&mut self, _: Duration, _: u32) {}

    fn prepared(&mut self, _: Duration) {}
}
