//! What an experiment is worth, and what it may lose.

use super::{BLOCK_UNITS, CUTOFF, LONG_BLOCK_S, Search, block_units};
use crate::tuner::Totals;
use crate::tuner::arm::Arm;
use crate::tuner::belief::Belief;

/// What a block may be expected to lose, in units of the incumbent's time, or as a share of those to come.
const BLOCK_LOSS: f64 = 0.25;
const BLOCK_LOSS_SHARE: f64 = 0.0003;
/// A plan that costs more than that many times the incumbent's is told from it by the first units.
const TELLING: f64 = 2.0 * CUTOFF;
/// Expected improvements below this share of the cost are not worth a measurement.
const LEAST_GAIN: f64 = 0.003;
/// What two changes of the plan cost beside the blocks, in units, and in seconds.
const SWITCH: f64 = 0.1;
const SWITCH_S: f64 = 20e-6;
/// What may be lost: a share of the units to come, in all so many seconds, and a share of the time gone by.
const SEARCH_SHARE: f64 = 0.03;
const SEARCH_MOST_S: f64 = 0.5;
const KEEP_SHARE: f64 = 0.01;
/// Memory for a plan that is expected to be faster is no loss where it takes at most this share of the units to come,
/// and of what the plan is expected to save.
const INVESTED_OF_REST: f64 = 0.12;
const INVESTED_OF_GAIN: f64 = 0.4;
/// By how much (log) plans on as many workers, and on others, change beside the incumbent when the machine does.
pub(super) const CHANGED_SIGMA: f64 = 0.12;
pub(super) const CHANGED_WORKERS_SIGMA: f64 = 0.5;
/// Seconds that a machine is expected to stay as it is, at least, until it has changed for the first time.
pub(super) const STAYS_S: f64 = 1.0;
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

/// What making memory takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryCost {
    /// Seconds for an input and an output.
    pair_s: f64,
    /// Units that can be in work without more of them.
    in_work: u32,
    /// How many times as long as predicted it took where that was most.
    times: f64,
    /// Seconds it took for the epoch that runs.
    spent: f64,
}

impl MemoryCost {
    pub(super) fn new() -> MemoryCost {
        MemoryCost {
            pair_s: 0.0,
            in_work: 1,
            times: 1.0,
            spent: 0.0,
        }
    }

    /// What was spent for the epoch that ends, where `predicted` was expected.
    pub(super) fn settle(&mut self, predicted: f64) -> f64 {
        let spent = std::mem::take(&mut self.spent);
        if predicted > 0.2e-3 {
            self.times = self.times.max((spent / predicted).min(20.0));
        }
        spent
    }
}

/// The worth of an experiment, in units of time the incumbent takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth {
    pub(super) gain: f64,
    pub(super) price: f64,
}

impl Search {
    /// Takes what a pair of buffers costs to make, and how many units can be in work with those there are.
    pub(in super::super) fn buffers(&mut self, pair_s: f64, units: u32) {
        (self.memory.pair_s, self.memory.in_work) = (pair_s, units.max(1));
    }

    /// Takes what making memory took for the epoch that runs.
    pub(in super::super) fn prepared(&mut self, seconds: f64) {
        self.memory.spent += seconds;
    }

    /// The arm most worth an experiment, if one is worth its price and there is time left to lose.
    pub(super) fn pick(&self, totals: &Totals) -> Option<(usize, Worth)> {
        let cost = self.cost()?;
        let left = self.left(cost, totals) / cost;
        let score = |worth: &Worth| (worth.gain - worth.price) / (worth.price + 2.0);
        (0..self.arms.len())
            .filter(|&index| index != self.incumbent)
            .filter_map(|index| Some((index, self.worth(index, totals)?)))
            .filter(|(_, worth)| worth.price < left)
            .max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))
    }

    /// What may still be lost, in seconds.
    fn left(&self, cost: f64, totals: &Totals) -> f64 {
        let since = totals.seconds - self.ledger.since;
        let search = SEARCH_SHARE * (since + self.horizon(totals) * cost);
        search.min(SEARCH_MOST_S) + KEEP_SHARE * since - self.ledger.lost
    }

    /// The value of an experiment on an arm; `None` where it is not worth its price.
    pub(super) fn worth(&self, index: usize, totals: &Totals) -> Option<Worth> {
        let arm = &self.arms[index];
        let cost = self.cost()?;
        let horizon = self.horizon(totals);
        let outcomes = arm.outcomes(self.stale(arm, totals), self.shift(index));
        let mean = |of: &dyn Fn(Belief) -> f64| -> f64 {
            outcomes
                .iter()
                .map(|&(chance, belief)| chance * of(belief))
                .sum()
        };
        let improvement = mean(&Belief::improvement);
        if improvement < LEAST_GAIN {
            return None;
        }
        let units = f64::from(self.block(index, totals) + self.warmup(index));
        // A unit that is given up is lost from its begin.
        let given_up = match self.is_new(index) {
            true => mean(&|belief| belief.chance_above(CUTOFF)) * self.in_work(&arm.plan),
            false => 0.0,
        };
        let excess = mean(&|belief| belief.excess(TELLING)) - improvement;
        let mut price = units * excess.max(0.0) + given_up + SWITCH + SWITCH_S / cost;
        if arm.plan.devices.max(self.incumbent().devices) > 0 {
            price += self.drain_s / cost;
        }
        let gain = improvement * (horizon - 2.0 * units).max(0.0);
        let memory = self.memory_seconds(index) * self.memory.times / cost;
        let pays = gain > price + memory;
        let is_investment = arm.belief.mu < 0.0
            && memory < INVESTED_OF_REST * horizon
            && memory < INVESTED_OF_GAIN * gain;
        if !is_investment {
            price += memory;
        }
        pays.then_some(Worth { gain, price })
    }

    /// Units of a block of an arm that count: as many as are expected to lose little, whichever of both plans is
    /// better, and more after they were too few.
    pub(super) fn block(&self, index: usize, totals: &Totals) -> u32 {
        let cost = self.cost().unwrap_or(1e-3);
        let arm = &self.arms[index];
        let footprint = self.model.footprint(&arm.plan);
        let apart = arm.belief.excess(TELLING) + arm.belief.improvement();
        let bearable = BLOCK_LOSS.max(BLOCK_LOSS_SHARE * self.horizon(totals)) / apart.max(1e-6);
        let least = footprint
            .round(block_units(cost))
            .max(bearable.min(1e6) as u32);
        let grown = least.saturating_mul(1 << arm.grown.min(16));
        footprint.round(grown.min(self.longest_block(index)))
    }

    /// Units that a block of an arm grows to.
    pub(super) fn longest_block(&self, index: usize) -> u32 {
        let cost = self.cost().unwrap_or(1e-3);
        let group = self.model.footprint(&self.arms[index].plan).group;
        (BLOCK_UNITS.max(LONG_BLOCK_S / cost) as u32).max(BLOCK_UNITS as u32 / 2 * group)
    }

    /// Seconds that making memory for an arm is predicted to take.
    pub(super) fn memory_seconds(&self, index: usize) -> f64 {
        if !self.is_new(index) {
            return 0.0;
        }
        let plan = &self.arms[index].plan;
        let more = self.in_work(plan) - f64::from(self.memory.in_work);
        self.model.prepare_seconds(plan.structure) + more.max(0.0) * self.memory.pair_s
    }

    /// By how much (log) a plan's cost changes beside the incumbent's when the machine does.
    pub(super) fn shift(&self, index: usize) -> f64 {
        match self.arms[index].plan.workers == self.incumbent().workers {
            true => CHANGED_SIGMA,
            false => CHANGED_WORKERS_SIGMA,
        }
    }

    /// How likely a plan's cost has changed since it was measured.
    pub(super) fn stale(&self, arm: &Arm, totals: &Totals) -> f64 {
        if !arm.ran {
            return 0.0;
        }
        let stays = self
            .stays_for(totals)
            .unwrap_or(totals.seconds.max(STAYS_S));
        1.0 - (-(totals.seconds - arm.seen) / stays).exp()
    }

    /// Seconds that the machine is expected to stay as it is, once it has changed: the longer it has not, the longer it
    /// will not.
    fn stays_for(&self, totals: &Totals) -> Option<f64> {
        self.stays
            .map(|stays| stays.max(totals.seconds - self.changed))
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

    /// Units for which what is found out now is expected to hold.
    pub(super) fn horizon(&self, totals: &Totals) -> f64 {
        let remaining = self.remaining(totals);
        match (self.stays_for(totals), self.cost()) {
            (Some(stays), Some(cost)) => remaining.min(stays / cost),
            _ => remaining,
        }
    }
}
