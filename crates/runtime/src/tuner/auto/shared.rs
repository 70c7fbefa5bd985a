//! Whether another process has a processor for some of the time.
//!
//! It has it for a time slice, and the worker there for the next. Plans that suffer from that differently are not told
//! apart in less than some slices of each, nor by their median units, of which none had to wait.

use super::super::drift::Change;
use super::Auto;

/// Seconds of a side of a duel then.
pub(super) const SHARED_SIDE_S: f64 = 24e-3;
/// Least cutoff in seconds: a unit of any plan waits for so long if a worker loses its processor in the middle of it.
const SHARED_CUTOFF_S: f64 = 10e-3;
/// The machine has become slower or faster by so much (log) if another process came or went.
const CAME: f64 = 0.2;

impl Auto {
    /// Another process has come, or gone.
    pub(super) fn share(&mut self, change: &Change) {
        let by = change.to - change.from;
        if by.abs() > CAME {
            self.shared = by > 0.0;
        }
    }

    /// A cutoff in seconds, of a plan whose structure is known not to be hopeless.
    pub(super) fn patient(&self, cutoff: f64) -> f64 {
        match self.shared {
            true => cutoff.max(SHARED_CUTOFF_S),
            false => cutoff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{arm_of, auto};
    use super::*;
    use crate::plan::Structure;
    use crate::tuner::Totals;

    #[test]
    fn sides_are_some_time_slices_long_and_cutoffs_longer_than_one_while_a_process_is_there() {
        let mut auto = auto();
        auto.level.restart(Some(1e-3_f64.ln()));
        let plan = auto.arms[arm_of(&auto, Structure::Farm)].plan;
        let of = |auto: &Auto| (auto.side(&plan, &Totals::default()), auto.patient(2e-3));
        let quiet = of(&auto);
        assert!(quiet.0.unwrap() < 20 && quiet.1 == 2e-3, "{quiet:?}");
        let change = |to: f64| Change { from: 0.0, to };
        auto.share(&change(0.1));
        assert_eq!(of(&auto), quiet);
        auto.share(&change(0.5));
        assert_eq!(of(&auto), (Some(23), 10e-3));
        auto.share(&change(-0.1));
        assert_eq!(of(&auto), (Some(23), 10e-3));
        auto.share(&change(-0.5));
        assert_eq!(of(&auto), quiet);
    }
}
