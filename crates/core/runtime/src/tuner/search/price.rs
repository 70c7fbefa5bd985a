//! The value of an experiment, and its possible loss.

use super::{BLOCK_UNITS, CUTOFF, LONG_BLOCK_S, Search, block_units};
use crate::tuner::Totals;
use crate::tuner::arm::Arm;
use crate::tuner::belief::Belief;

/// Expected improvements below this share of the cost are not worth a measurement.
const LEAST_GAIN: f64 = 0.005;
/// What may be lost: a share of the units to come, in all so many seconds, and a share of the time gone by.
const SEARCH_SHARE: f64 = 0.04;
const SEARCH_MOST_S: f64 = 0.5;
const KEEP_SHARE: f64 = 0.01;
/// By how much (log) plans on as many workers, and on others, change beside the incumbent when the machine does.
pub(super) const CHANGED_SIGMA: f64 = 0.12;
pub(super) const CHANGED_WORKERS_SIGMA: f64 = 0.5;
/// Seconds that a machine is expected to stay as it is, at least.
const STAYS_S: f64 = 1.0;
/// A stream of unknown length is expected to go on as long as it has gone on, and at least for so many units.
const UNKNOWN_UNITS: u64 = 300;

/// Time that was lost, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    /// In the search that is open, and when it was opened.
    pub(super) lost: f64,
    pub(super) since: f64,
    /// In the whole stream, with the making of memory.
    pub(super) total: f64,
}

impl Ledger {
    /// Time was spent beyond what the incumbent would have taken, or, where it is negative, won.
    pub(super) fn lose(&mut self, seconds: f64) {
        self.lost = (self.lost + seconds).max(0.0);
        self.total = (self.total + seconds).max(0.0);
    }
}

/// The worth of an experiment, in units of time the incumbent takes.
#[derive(Clone, Copy, Debug)]
struct Worth {
    gain: f64,
    price: f64,
}

impl Search {
    /// The arm most worth an experiment, if one is worth its price and there is time left to lose.
    pub(super) fn pick(&self, totals: &Totals) -> Option<usize> {
        let left = self.left(totals)?;
        let score = |worth: &Worth| worth.gain - worth.price;
        (0..self.arms.len())
            .filter(|&index| index != self.incumbent)
            .filter_map(|index| Some((index, self.worth(index, totals)?)))
            .filter(|(_, worth)| worth.price < left)
            .max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))
            .map(|(index, _)| index)
    }

    /// What may still be lost, in units of the incumbent's time.
    fn left(&self, totals: &Totals) -> Option<f64> {
        let cost = self.cost()?;
        let since = totals.seconds - self.ledger.since;
        let search = SEARCH_SHARE * (since + self.remaining(totals) * cost);
        Some((search.min(SEARCH_MOST_S) + KEEP_SHARE * since - self.ledger.lost) / cost)
    }

    /// The value of an experiment on an arm; `None` where it is not worth its price.
    fn worth(&self, index: usize, totals: &Totals) -> Option<Worth> {
        let arm = &self.arms[index];
        let cost = self.cost()?;
        let outcomes = arm.outcomes(self.stale(arm, totals), self.shift(index));
        let mean = |of: &dyn Fn(Belief) -> f64| -> f64 {
            let each = outcomes.iter();
            each.map(|&(chance, belief)| chance * of(belief)).sum()
        };
        let improvement = mean(&Belief::improvement);
        if improvement < LEAST_GAIN {
            return None;
        }
        let units = f64::from(self.block(index) + self.warmup(index));
        // A unit that is given up is lost from its begin.
        let begin = match self.is_new(index) {
            true => {
                mean(&|belief| belief.chance_above(CUTOFF)) * self.in_work(&arm.plan)
                    + (self.cold_s / cost).min(CUTOFF)
            }
            false => 0.0,
        };
        let excess = mean(&|belief| belief.excess(CUTOFF)) - improvement;
        let mut price = units * excess.max(0.0) + begin;
        if arm.plan.devices.max(self.incumbent().devices) > 0 {
            price += self.drain_s / cost;
        }
        let gain = improvement * (self.remaining(totals) - 2.0 * units).max(0.0);
        // Memory for a plan that is expected to be faster is an investment, and no loss.
        let memory = self.memory_seconds(index) / cost;
        let pays = gain > price + memory;
        if arm.belief.mu >= 0.0 || 2.0 * memory > gain {
            price += memory;
        }
        pays.then_some(Worth { gain, price })
    }

    /// Units of a block of an arm that count: twice as many after each experiment that could not tell.
    pub(super) fn block(&self, index: usize) -> u32 {
        let cost = self.cost().unwrap_or(1e-3);
        let arm = &self.arms[index];
        let least = block_units(cost);
        let longest = BLOCK_UNITS.max(LONG_BLOCK_S / cost) as u32;
        let units = least.saturating_mul(1 << arm.undecided.min(16));
        self.model.footprint(&arm.plan).round(units.min(longest))
    }

    /// Seconds that making memory for an arm is predicted to take.
    fn memory_seconds(&self, index: usize) -> f64 {
        if !self.is_new(index) {
            return 0.0;
        }
        let plan = &self.arms[index].plan;
        let more = self.in_work(plan) - f64::from(self.buffers);
        self.model.prepare_seconds(plan.structure) + more.max(0.0) * self.pair_s
    }

    /// By how much (log) a plan's cost changes beside the incumbent's when the machine does.
    pub(super) fn shift(&self, index: usize) -> f64 {
        match self.arms[index].plan.workers == self.incumbent().workers {
            true => CHANGED_SIGMA,
            false => CHANGED_WORKERS_SIGMA,
        }
    }

    /// How likely a plan's cost has changed since it was measured: a machine that has not changed for long will stay as
    /// it is for as long again.
    pub(super) fn stale(&self, arm: &Arm, totals: &Totals) -> f64 {
        if !arm.ran {
            return 0.0;
        }
        let stays = (totals.seconds - self.changed).max(STAYS_S);
        1.0 - (-(totals.seconds - arm.seen) / stays).exp()
    }

    /// Units expected to follow.
    pub(super) fn remaining(&self, totals: &Totals) -> f64 {
        // Some containers count fewer frames than they have.
        let rest = self
            .length
            .and_then(|length| length.checked_sub(totals.units));
        match rest {
            Some(rest) if rest > 0 => rest as f64,
            _ => totals.units.max(UNKNOWN_UNITS) as f64,
        }
    }
}
