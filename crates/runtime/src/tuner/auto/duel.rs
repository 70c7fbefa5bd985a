//! Two structures compared when each has the caches it needs.
//!
//! A plan that reuses memory is fast once the outer cache holds it, which takes many units where units are large; until
//! then it may be slower than one that never does better. Trials of a unit or two, in turn, compare plans that are
//! never warm. So units of that size are not handed to another structure, nor is one that came close given up, before
//! the incumbent and then the other ran for a while on end; the last units of both decide. That is done once for two
//! structures: by how much short trials were wrong is added to those that follow.
//!
//! Short units are warm sooner. But a farm has more memory under way than a trial touches, and what stops a worker for
//! some microseconds, again and again, costs most where others wait for him at the end of each unit, which medians do
//! not show. So where a trial speaks for a farm it is believed, and where it speaks against one they run on end as
//! well.

use crate::plan::Plan;

use super::super::Totals;
use super::super::decision::{Log, Reason};
use super::Auto;
use super::outcome::LEAST_SWITCH;
use super::pair::beside;
use super::shared::{SHARED_SIDE_LEAST, SHARED_SIDE_S};
use crate::structure::Structure;

/// Plans that differ by more (log) in short trials are compared by those: by the first units under a structure, by
/// others, and by those of one that is warm after a few.
const CLOSE: f64 = 0.4;
const CLOSE_KNOWN: f64 = 0.3;
const CLOSE_SHORT: f64 = 0.25;
/// A stream has to have so many times the units of one side still before it, and while a processor is shared for a plan
/// that was not tried since.
const WORTH: f64 = 10.0;
const WORTH_UNTRIED: f64 = 30.0;
/// Short trials that were wrong by less (log) were not wrong.
const WRONG: f64 = 0.08;
/// By how much (log) the incumbent may differ before and after, or the machine changed meanwhile.
const APART: f64 = 0.06;
/// When a stream is so many times as long as it was, two structures may be compared again.
const HOLDS: u64 = 4;
/// Duels at most, those that decide nothing included.
const DUELS: u32 = 6;
/// Time that short units run on end in a duel, the most of what is to come that they may be, and the fewest that tell
/// more than a trial does.
const SIDE_S: f64 = 3e-3;
const SIDE_SHARE: f64 = 0.06;
const SIDE_LEAST: f64 = 40.0;
/// Short trials that a duel outweighs.
const SURE: usize = 3;

/// What is compared, and what came of it so far: the incumbent's warm cost (log), the other's, and the incumbent's
/// again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duel {
    arm: usize,
    before: Option<f64>,
    cost: Option<f64>,
    /// Units that costs come from.
    units: u32,
}

/// By how much (log) short trials of a structure beside an incumbent's were wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bias {
    incumbent: &'static Structure,
    other: &'static Structure,
    log: f64,
    /// Units of the stream when it was found out.
    at: u64,
}

impl Auto {
    /// The machine has changed: by how much short trials are wrong on it is not known.
    pub(super) fn forget_duels(&mut self) {
        self.thaw();
        self.biases.clear();
        self.duels = 0;
        self.duels_lost = 0.0;
    }

    /// Another plan is the incumbent, or the machine has changed.
    pub(super) fn thaw(&mut self) {
        self.duel = None;
        self.chill.warm = None;
    }

    /// What has to be added to short trials of an arm beside the incumbent, where that is known.
    pub(super) fn bias(&self, index: usize) -> Option<f64> {
        let (mine, theirs) = (self.incumbent().structure, self.arms[index].plan.structure);
        let of = |incumbent, other| {
            let mut known = self.biases.iter();
            known.find(|b| (b.incumbent, b.other) == (incumbent, other))
        };
        let back = || of(theirs, mine).map(|back| -back.log);
        of(mine, theirs).map(|bias| bias.log).or_else(back)
    }

    /// By how much, in units, a unit of a short trial of an arm takes longer than it does when it is warm, which takes
    /// `ratio` of the incumbent's time, as far as a duel has told.
    pub(super) fn unwarmed(&self, index: usize, ratio: f64) -> f64 {
        let bias = self.bias(index).unwrap_or(0.0);
        ratio * ((-bias).exp() - 1.0).max(0.0)
    }

    /// Begins a duel between the incumbent and an arm that short trials found to cost `x` (log) more. `false` if there
    /// is none to be had.
    pub(super) fn challenge(&mut self, index: usize, x: f64, totals: &Totals) -> bool {
        let arm = &self.arms[index];
        let side = |plan: &Plan| self.side(plan, totals);
        let most = side(&arm.plan).max(side(&self.incumbent()));
        let (Some(units), Some(cost)) = (most, self.cost()) else {
            return false;
        };
        let units = f64::from(units);
        let remaining = self.horizon(totals);
        let loss = (x.exp() - 1.0) * units * cost;
        let plans = [arm.plan, self.incumbent()];
        let [warms, incumbent_warms] = plans.map(|plan| self.model.warm(&plan).is_some());
        let short = !warms && !incumbent_warms;
        // What is faster before it is warm is so afterwards.
        let ahead = warms && (!incumbent_warms || arm.ahead) && x < 0.0;
        let flows = plans.map(|plan| plan.structure.flows());
        let believed = flows[0] == flows[1] || flows[0] == (x < 0.0);
        let close = match (warms, arm.measured()) {
            (true, 0) => CLOSE,
            (true, _) => CLOSE_KNOWN,
            (false, _) => CLOSE_SHORT,
        };
        let plain = short && believed || ahead || self.restores(index, x);
        let doubtful = || {
            let other = plans[0].structure != plans[1].structure;
            other && !plain && self.bias(index).is_none() && x.abs() < close
        };
        let least = match arm.measured() {
            0 if self.shared => WORTH_UNTRIED,
            _ => WORTH,
        };
        let undecided = self
            .takes_slices(&arm.plan, x, totals)
            .unwrap_or_else(doubtful);
        let begins = undecided
            && self.may_duel(totals)
            && remaining > least * units
            && (x < 0.0 || loss < self.budget.left(cost, remaining, totals.seconds));
        if begins {
            self.duels += 1;
            self.duel = Some(Duel {
                arm: index,
                before: None,
                cost: None,
                units: 0,
            });
        }
        begins
    }

    /// Whether there may be one more.
    pub(super) fn may_duel(&self, totals: &Totals) -> bool {
        self.duels < DUELS + self.more_duels(totals) || self.duels_are_cheap(totals)
    }

    /// Begins the duel that decides about an arm, where a trial would not.
    pub(super) fn goes_on_end(&mut self, index: usize, totals: &Totals) -> bool {
        let arm = &self.arms[index];
        let first = arm.probed.filter(|_| arm.measured() == 0);
        let known = arm.middle().map(|middle| middle - self.offset);
        let cold = known.or(first.map(f64::ln));
        let x = self
            .told_by_slices(index, totals)
            .or(cold.filter(|_| self.never_warm(index)));
        x.is_some_and(|x| self.challenge(index, x, totals))
    }

    /// What a duel told long ago may be found out anew: when the stream has become so many times as long.
    pub(super) fn forget_old_duels(&mut self, totals: &Totals) {
        self.biases.retain(|bias| totals.units < HOLDS * bias.at);
    }

    /// Whether a duel has told what short trials of an arm on as many workers could not.
    pub(super) fn is_told(&self, index: usize) -> bool {
        let alike = self.arms[index].plan.workers == self.incumbent().workers;
        alike && self.never_warm(index) && self.bias(index).is_some()
    }

    /// Whether short trials of an arm are never warm, nor is the incumbent after them, so that more of them tell
    /// nothing: of two plans that take long until they are, one has several units in work and the other has not.
    pub(super) fn never_warm(&self, index: usize) -> bool {
        let plans = [self.arms[index].plan, self.incumbent()];
        let [one, other] = plans.map(|plan| plan.structure.flows());
        let slow = |plan: &Plan| self.model.group(plan) == 1 && self.model.warm(plan).is_some();
        one != other && plans.iter().all(slow)
    }

    /// Units on end under a plan that tell in a duel what it costs: until it is warm, where that takes long; of short
    /// ones so many that what disturbs them now and then evens out. `None` for units between.
    pub(super) fn side(&self, plan: &Plan, totals: &Totals) -> Option<u32> {
        let (time, least) = match self.shared {
            true => (SHARED_SIDE_S, SHARED_SIDE_LEAST),
            false => (SIDE_S, SIDE_LEAST),
        };
        let on_end = (time / self.cost()?).min(SIDE_SHARE * self.horizon(totals));
        match (self.model.warm(plan), self.model.group(plan)) {
            (None, _) => (on_end >= least).then_some(on_end as u32),
            (Some(warm), group) if group == 1 || self.shared => {
                Some((warm * group).max(on_end as u32))
            }
            (Some(warm), group) => Some(warm * group),
        }
    }

    /// Which arm's turn it is in a duel; `None` for the incumbent's.
    pub(super) fn turn(duel: &Duel) -> Option<usize> {
        (duel.before.is_some() && duel.cost.is_none()).then_some(duel.arm)
    }

    /// Takes the units of the arm that competes.
    pub(super) fn competed(&mut self, costs: &[f64]) {
        let shared = self.shared;
        if let Some(duel) = &mut self.duel {
            duel.cost = warm(costs, shared);
            duel.units = (costs.len() / 2) as u32;
        }
    }

    /// Takes units of the incumbent: those before the other's, or those after, which decide.
    pub(super) fn rested(&mut self, costs: &[f64], number: u64, totals: &Totals, log: &mut Log) {
        let Some(duel) = &mut self.duel else {
            return;
        };
        match (duel.before, duel.cost, warm(costs, self.shared)) {
            (None, _, before) => duel.before = before,
            (Some(before), Some(cost), Some(after)) => {
                let duel = *duel;
                self.duel = None;
                let mine = (before.exp() + after.exp()) / 2.0;
                // Costs come from the second half of what ran.
                let units = f64::from(2 * duel.units);
                self.duels_lost += (cost.exp() - mine).max(0.0) * units;
                let noise = self.level.noise() / f64::from(duel.units.max(1)).sqrt();
                if let Some(incumbent) = beside(before, cost, after, APART + 2.0 * noise) {
                    self.decide(&duel, (cost, incumbent), noise, number, totals, log);
                }
            }
            _ => self.duel = None,
        }
    }

    fn decide(
        &mut self,
        duel: &Duel,
        (cost, incumbent): (f64, f64),
        noise: f64,
        number: u64,
        totals: &Totals,
        log: &mut Log,
    ) {
        let x = cost - incumbent;
        let short = self.arms[duel.arm]
            .middle()
            .map(|middle| middle - self.offset);
        let wrong = short.map_or(0.0, |short| x - short);
        let known = wrong.abs() > WRONG;
        let bias = Bias {
            incumbent: self.incumbent().structure,
            other: self.arms[duel.arm].plan.structure,
            log: if known { wrong } else { 0.0 },
            at: totals.units,
        };
        let pair = |b: &Bias| (b.incumbent, b.other);
        if bias.incumbent != bias.other {
            self.biases.retain(|old| pair(old) != pair(&bias));
            self.biases.push(bias);
        }
        let believed = self.arms[duel.arm].belief(self.noise()).mu;
        self.as_wrong_of_others(duel.arm, x + self.offset - believed);
        let outweighs = known || self.shared || self.never_warm(duel.arm);
        let arm = &mut self.arms[duel.arm];
        if !outweighs {
            arm.sample(x + self.offset, duel.units);
            self.judge(duel.arm, number, totals, log);
            return;
        }
        arm.forget();
        for _ in 0..SURE {
            arm.sample(x + self.offset, duel.units);
        }
        let plan = arm.plan;
        let (cost, incumbent) = (cost.exp(), incumbent.exp());
        let pairs = 0;
        if x < -LEAST_SWITCH - noise && self.is_less_all_along(&plan, cost.ln()) {
            let reason = Reason::Switch {
                plan,
                cost,
                incumbent,
                pairs,
            };
            log.push(number, reason);
            self.switch(duel.arm, self.offset + x, x, SURE, incumbent);
        } else {
            let reason = Reason::Rejected {
                plan,
                cost,
                incumbent,
                pairs,
            };
            log.push(number, reason);
            self.arms[duel.arm].rejected = true;
        }
    }
}

/// The logarithm of the mean of the second half of what ran on end, without the slowest eighth, which something else
/// disturbed; of many units those are few, since what disturbs often is a part of the cost. Where a worker of a farm
/// shares its processor, some of all units take long and most do not: a median would not tell, and where that is known
/// none is left out.
fn warm(costs: &[f64], shared: bool) -> Option<f64> {
    let mut latest = costs[costs.len() / 2..].to_vec();
    latest.sort_unstable_by(f64::total_cmp);
    let disturbed = match shared {
        true => 0,
        false => (latest.len() / 8).min(2.max(latest.len() / 32)),
    };
    let kept = &latest[..latest.len() - disturbed];
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    (!kept.is_empty()).then(|| mean.ln())
}

#[cfg(test)]
mod tests {
    use super::super::super::api::TunerSetup;
    use super::super::super::model::{Model, setup};
    use super::super::fixtures::{arm_of, auto, short};
    use super::*;
    use crate::service::{Shape, Work};
    use crate::structure::FARM;
    use crate::structure::fixtures::{BACKWARD, GROUPED, TILED};

    #[test]
    fn a_disturbed_unit_does_not_count_and_a_shared_processor_does() {
        let cold = [9.0; 16];
        let of = |latest: [f64; 16]| warm(&[cold, latest].concat(), false).unwrap().exp();
        let mut latest = [1.0; 16];
        (latest[3], latest[9]) = (7.0, 80.0);
        assert!((of(latest) - 1.0).abs() < 1e-9);
        // One worker of two gets half of its processor, so every third unit takes twice as long.
        let shared = std::array::from_fn(|unit| if unit % 3 == 2 { 2.0 } else { 1.0 });
        assert!((of(shared) - 17.0 / 14.0).abs() < 1e-9);
        assert_eq!(warm(&[], false), None);
    }

    #[test]
    fn where_the_incumbent_changed_meanwhile_only_what_lies_beyond_both_sides_tells() {
        let switches = |cost: f64| {
            let mut auto = auto();
            let farm = arm_of(&auto, &FARM);
            auto.level.restart(Some(1e-3_f64.ln()));
            assert!(auto.challenge(farm, -0.1, &Totals::default()));
            auto.rested(&[1e-3; 32], 9, &Totals::default(), &mut Log::new());
            auto.competed(&[cost; 32]);
            auto.rested(&[1.3e-3; 32], 10, &Totals::default(), &mut Log::new());
            auto.incumbent == farm
        };
        assert!(switches(0.5e-3));
        assert!(!switches(1.1e-3));
    }

    #[test]
    fn what_duels_told_is_not_true_of_a_machine_that_has_changed() {
        let mut auto = auto();
        let here = auto.incumbent().structure;
        let other = auto.arms.iter().position(|a| a.plan.structure != here);
        let other = other.unwrap();
        auto.level.restart(Some(1e-3_f64.ln()));
        assert!(auto.challenge(other, -0.1, &Totals::default()));
        auto.rested(&[1e-3; 32], 9, &Totals::default(), &mut Log::new());
        auto.competed(&[1.2e-3; 32]);
        auto.rested(&[1e-3; 32], 10, &Totals::default(), &mut Log::new());
        assert!(auto.bias(other).is_some());
        assert!(!auto.challenge(other, -0.1, &Totals::default()));
        auto.duels = DUELS;
        auto.forget_duels();
        assert_eq!(auto.duels_lost, 0.0);
        assert!(auto.challenge(other, -0.1, &Totals::default()));
    }

    #[test]
    fn what_a_short_trial_says_against_a_farm_is_not_believed() {
        let totals = Totals::default();
        let begins = |from, other, x| {
            let mut auto = short();
            auto.incumbent = arm_of(&auto, from);
            auto.challenge(arm_of(&auto, other), x, &totals)
        };
        assert!(begins(&TILED, &FARM, 0.1));
        assert!(begins(&FARM, &TILED, -0.1));
        assert!(!begins(&TILED, &FARM, -0.1));
        assert!(!begins(&FARM, &TILED, 0.1));
        assert!(!begins(&TILED, &FARM, 0.3));
        assert!(!begins(&TILED, &BACKWARD, 0.1));
        let auto = short();
        assert_eq!(auto.side(&auto.incumbent(), &totals), Some(150));
    }

    /// An auto of which a duel between its incumbent and another structure told that this is slower.
    fn told() -> (Auto, usize) {
        let mut auto = auto();
        let farm = arm_of(&auto, &FARM);
        assert_ne!(farm, auto.incumbent);
        auto.level.restart(Some(1e-3_f64.ln()));
        let totals = Totals {
            units: 50,
            ..Totals::default()
        };
        assert!(!auto.is_told(farm));
        auto.arms[farm].probed = Some(1.2);
        assert!(auto.goes_on_end(farm, &totals));
        auto.rested(&[1e-3; 32], 9, &totals, &mut Log::new());
        auto.competed(&[1.2e-3; 32]);
        auto.rested(&[1e-3; 32], 10, &totals, &mut Log::new());
        (auto, farm)
    }

    #[test]
    fn what_no_short_trial_can_tell_is_told_by_a_duel_and_not_tried_again_until_long_after() {
        let (mut auto, farm) = told();
        assert!(auto.arms[farm].rejected && auto.arms[farm].measured() >= SURE);
        assert!(auto.is_told(farm) && !auto.goes_on_end(farm, &Totals::default()));
        // 32 units of 1.2 ms beside an incumbent of 1 ms.
        assert!((auto.duels_lost - 6.4e-3).abs() < 1e-6);
        let totals = |units| Totals {
            units,
            ..Totals::default()
        };
        auto.forget_old_duels(&totals(199));
        assert!(auto.is_told(farm));
        auto.forget_old_duels(&totals(200));
        assert!(!auto.is_told(farm) && auto.goes_on_end(farm, &totals(200)));
    }

    #[test]
    fn plans_on_other_workers_are_looked_at_whatever_a_duel_told() {
        let (mut auto, farm) = told();
        auto.arms[farm].plan.workers = 1;
        assert!(!auto.is_told(farm));
    }

    #[test]
    fn a_structure_that_was_far_slower_at_first_gets_no_duel() {
        let mut auto = auto();
        let farm = arm_of(&auto, &FARM);
        auto.level.restart(Some(1e-3_f64.ln()));
        auto.arms[farm].probed = Some(2.0);
        assert!(!auto.goes_on_end(farm, &Totals::default()));
        auto.arms[farm].probed = None;
        assert!(!auto.goes_on_end(farm, &Totals::default()));
        let mut short = short();
        let farm = arm_of(&short, &FARM);
        short.arms[farm].probed = Some(1.2);
        assert!(!short.goes_on_end(farm, &Totals::default()));
    }

    #[test]
    fn what_short_trials_take_beyond_the_truth_is_charged() {
        let mut auto = auto();
        let farm = arm_of(&auto, &FARM);
        assert_eq!(auto.unwarmed(farm, 1.0), 0.0);
        let (incumbent, other) = (auto.incumbent().structure, &FARM);
        let bias = |log| Bias {
            incumbent,
            other,
            log,
            at: 0,
        };
        auto.biases.push(bias(-0.5));
        assert!((auto.unwarmed(farm, 2.0) - 2.0 * (0.5_f64.exp() - 1.0)).abs() < 1e-9);
        auto.biases[0] = bias(0.5);
        assert_eq!(auto.unwarmed(farm, 2.0), 0.0);
    }

    #[test]
    fn groups_that_are_faster_cold_need_no_duel_and_what_is_warm_at_once_needs_it_only_when_close()
    {
        let group = |structure| {
            let work = Work {
                ops: 1e5,
                bytes: 1e5,
                fresh: 0.0,
            };
            let units = if structure == &GROUPED { 8 } else { 1 };
            Shape {
                units,
                ..Shape::new(structure, vec![64], 1, work)
            }
        };
        let structures = [&TILED, &GROUPED, &FARM];
        let setup = TunerSetup {
            outer_cache: Some(32 << 20),
            units: Some(3000),
            ..setup(2, structures.map(group).to_vec())
        };
        let begins = |from, other, x| {
            let model = Model::new(&setup).unwrap();
            let mut auto = Auto::new(model, &setup, &mut Log::new()).unwrap();
            auto.level.restart(Some(20e-6_f64.ln()));
            auto.incumbent = arm_of(&auto, from);
            auto.challenge(arm_of(&auto, other), x, &Totals::default())
        };
        assert!(!begins(&TILED, &GROUPED, -0.2));
        assert!(begins(&TILED, &GROUPED, 0.1));
        assert!(begins(&GROUPED, &FARM, 0.1));
        assert!(!begins(&GROUPED, &FARM, 0.3));
    }
}
