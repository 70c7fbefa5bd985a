//! Whether another process has a processor for some of the time.
//!
//! It has it for a time slice, and the worker there for the next. Plans that suffer from that differently are not told
//! apart in less than some slices of each, nor by their median units, of which none had to wait.

use std::cmp::Ordering;

use super::super::drift::Change;
use super::Auto;
use crate::plan::Plan;

/// Seconds of a side of a duel then.
pub(super) const SHARED_SIDE_S: f64 = 24e-3;
/// Least cutoff in seconds: a unit of any plan waits for so long if a worker loses its processor in the middle of it.
const SHARED_CUTOFF_S: f64 = 10e-3;
/// A plan on fewer workers that costs at most so much more (log) in short trials is compared with the incumbent for some
/// slices, and takes over if it costs at most so much more then: it leaves the processor to the other process, and what it
/// costs does not change with that one's slices.
const FEWER_CLOSE: f64 = 0.2;
const FEWER_MAY_TAKE: f64 = 0.03;
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

    /// Whether a plan that costs `x` (log) more in short trials is to be compared for some slices before anything is made of
    /// them. `None` where that is for others to say.
    ///
    /// A farm's units are mostly those of the worker that has a processor to itself, and a worker that has slept gets one at
    /// once for its first slice: both look better in few units than they are.
    pub(super) fn takes_slices(&self, plan: &Plan, x: f64) -> Option<bool> {
        if !self.shared {
            return None;
        }
        let incumbent = self.incumbent();
        let flows = plan.structure.flows() != incumbent.structure.flows();
        match plan.workers.cmp(&incumbent.workers) {
            Ordering::Less => Some(x < FEWER_CLOSE),
            Ordering::Greater => Some(x < 0.0),
            Ordering::Equal => (flows && x < 0.0).then_some(true),
        }
    }

    /// What a plan on fewer workers may cost more (log) after that to take over.
    pub(super) fn most_after_slices(&self, plan: &Plan) -> Option<f64> {
        let few = plan.workers < self.incumbent().workers;
        (self.shared && few).then_some(FEWER_MAY_TAKE)
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
    use crate::tuner::decision::Log;

    #[test]
    fn few_units_are_no_witness_for_farms_and_other_workers_while_a_process_is_there() {
        let mut auto = auto();
        assert_eq!(auto.incumbent().structure, Structure::Tiled);
        let tiled = auto.incumbent();
        let farm = Plan {
            structure: Structure::Farm,
            ..tiled
        };
        let few = Plan {
            workers: 1,
            ..tiled
        };
        assert_eq!(auto.takes_slices(&farm, -0.5), None);
        assert_eq!(auto.most_after_slices(&few), None);
        auto.shared = true;
        assert_eq!(auto.takes_slices(&farm, -0.5), Some(true));
        assert_eq!(auto.takes_slices(&farm, 0.1), None);
        assert_eq!(auto.takes_slices(&tiled, -0.5), None);
        assert_eq!(auto.takes_slices(&few, 0.1), Some(true));
        assert_eq!(auto.takes_slices(&few, 0.3), Some(false));
        assert_eq!(auto.most_after_slices(&few), Some(FEWER_MAY_TAKE));
        assert_eq!(auto.most_after_slices(&tiled), None);
        let many = Plan {
            workers: tiled.workers + 1,
            ..tiled
        };
        assert_eq!(auto.takes_slices(&many, -0.5), Some(true));
        assert_eq!(auto.takes_slices(&many, 0.1), Some(false));
    }

    /// A duel of a plan on one worker that costs so many times what the incumbent does.
    fn fewer_take_over(times: f64, shared: bool) -> bool {
        let mut auto = auto();
        auto.neighbours(auto.incumbent);
        let few = auto.arms.iter().position(|a| a.plan.workers == 1);
        let few = few.expect("an arm on one worker");
        auto.level.restart(Some(1e-3_f64.ln()));
        auto.shared = shared;
        let totals = Totals::default();
        if !auto.challenge(few, 0.1, &totals) {
            return false;
        }
        auto.rested(&[1e-3; 32], 9, &totals, &mut Log::new());
        auto.competed(&[times * 1e-3; 32]);
        auto.rested(&[1e-3; 32], 10, &totals, &mut Log::new());
        auto.incumbent == few
    }

    #[test]
    fn as_fast_on_fewer_workers_is_better_while_a_process_is_there() {
        assert!(fewer_take_over(1.02, true));
        assert!(!fewer_take_over(1.05, true));
        assert!(!fewer_take_over(1.02, false));
    }

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
