//! Trials between two epochs of the incumbent: what slows the whole machine for a while shows on either side.

use super::super::Totals;
use super::super::decision::{Log, Reason};
use super::super::math::log_median;
use super::Auto;

/// By how much (log) the incumbent may differ between the two sides of a trial: least, and in deviations.
const APART_LEAST: f64 = 0.12;
const APART_NOISE: f64 = 3.0;
/// A plan that is faster than the incumbent beside it but, by so much (log) less, than the incumbent before that, was
/// compared with a spike.
const FLUKE: f64 = 0.3;

/// A trial that waits for the incumbent's next epoch. Costs are logarithms of seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) arm: usize,
    pub(super) cost: f64,
    /// Units it is the median of, 0 for a mean.
    pub(super) units: u32,
    /// The incumbent's cost before it.
    pub(super) before: f64,
    /// Its cold units were faster than that; what comes after it has to warm up again.
    pub(super) ahead: bool,
    pub(super) recheck: bool,
}

impl Pair {
    /// The trial's cost relative to the incumbent's. Where that changed meanwhile, the trial tells something only if
    /// it was slower, or faster, than the incumbent on both sides.
    fn ratio(&self, after: f64, apart: f64) -> Option<f64> {
        let incumbent = match self.ahead {
            true => Some(self.before.min(after)),
            false => beside(self.before, self.cost, after, apart),
        };
        incumbent.map(|incumbent| self.cost - incumbent)
    }
}

/// What a cost is compared with: the middle of the incumbent's before and after, or, where that changed by more than
/// `apart`, the nearer of the two if the cost lies beyond both by as much. All are logarithms.
pub(super) fn beside(before: f64, cost: f64, after: f64, apart: f64) -> Option<f64> {
    let (less, more) = (before.min(after), before.max(after));
    if more - less <= apart {
        Some(0.5 * (less + more))
    } else if cost > more + apart {
        Some(more)
    } else {
        (cost < less - apart).then_some(less)
    }
}

impl Auto {
    /// A trial of this arm waits for its second side.
    pub(super) fn is_open(&self, index: usize) -> bool {
        self.pairs.iter().any(|pair| pair.arm == index)
    }

    /// Closes the pairs with the incumbent's next epoch, of which `costs` are the first units.
    pub(super) fn close_pairs(
        &mut self,
        costs: &[f64],
        number: u64,
        totals: &Totals,
        log: &mut Log,
    ) {
        if self.pairs.is_empty() {
            return;
        }
        let Some(after) = log_median(costs) else {
            return;
        };
        let apart = APART_LEAST + APART_NOISE * self.level.noise() / (costs.len() as f64).sqrt();
        let mut pairs = std::mem::take(&mut self.pairs);
        let level = self.level.log(self.window()).unwrap_or(after);
        for pair in &pairs {
            let Some(x) = pair
                .ratio(after, apart)
                .filter(|x| pair.cost - level < x + FLUKE)
            else {
                continue;
            };
            let x = x + self.bias(pair.arm).unwrap_or(0.0);
            if pair.recheck
                && let Some(shift) = self.faster_than_known(pair.arm, x)
            {
                let reason = Reason::Revived {
                    plan: self.arms[pair.arm].plan,
                    cost: pair.cost.exp(),
                    incumbent: after.exp(),
                };
                log.push(number, reason);
                self.revive(pair.arm, shift, totals);
            }
            let arm = &mut self.arms[pair.arm];
            if let Some(apart) = arm.apart(x + self.offset) {
                self.scatter.take(apart);
            }
            arm.sample(x + self.offset, pair.units);
        }
        for pair in &pairs {
            if pair.arm != self.incumbent {
                self.judge(pair.arm, number, totals, log);
            }
        }
        self.calibrate();
        pairs.clear();
        self.pairs = pairs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(before: f64, cost: f64, after: f64) -> Option<f64> {
        let pair = Pair {
            arm: 0,
            cost,
            units: 4,
            before,
            ahead: false,
            recheck: false,
        };
        pair.ratio(after, 0.1)
    }

    #[test]
    fn a_trial_is_compared_with_both_sides() {
        let x = ratio(0.0, 0.3, 0.08).unwrap();
        assert!((x - 0.26).abs() < 1e-12);
    }

    #[test]
    fn after_what_was_faster_when_cold_the_incumbent_counts_as_it_was_before() {
        let of = |ahead| {
            let pair = Pair {
                arm: 0,
                cost: -0.2,
                units: 5,
                before: 0.0,
                ahead,
                recheck: false,
            };
            pair.ratio(0.7, 0.3)
        };
        assert_eq!((of(true), of(false)), (Some(-0.2), None));
    }

    #[test]
    fn where_the_machine_changed_meanwhile_only_what_is_beyond_doubt_counts() {
        assert_eq!(ratio(0.0, 0.5, 1.0), None);
        assert_eq!(ratio(1.0, 0.5, 0.0), None);
        assert_eq!(ratio(1.0, 0.05, 0.0), None);
        assert_eq!(ratio(0.0, 1.5, 1.0), Some(0.5));
        assert_eq!(ratio(0.0, -0.5, 1.0), Some(-0.5));
    }
}
