//! What an epoch's outcome means for the arms: belief, switch, rejection.

use std::time::Duration;

use super::super::api::{Epoch, Purpose};
use super::super::arm::{Belief, Step};
use super::super::decision::{Log, Reason};
use super::super::math::{log_median, median};
use super::super::search::{add_fewer, worth};
use super::super::{Cut, Totals, grown};
use super::pair::Pair;
use super::trial::trial_units;
use super::{Auto, TRIALS_IN_A_ROW, seconds};

/// A unit that takes so many times the incumbent's cost under a sound plan met with something else.
const SPIKE: f64 = 2.0;
/// Groups of units abreast that while they are cold take at most this share of what the incumbent took before them are
/// witnesses: they will be faster yet.
const AHEAD: f64 = 0.9;
const AHEAD_GROUPS: usize = 3;
/// A gain below this share is not worth a switch.
pub(super) const LEAST_SWITCH: f64 = 0.01;

impl Auto {
    /// Takes an epoch's outcome.
    pub(in super::super) fn record(
        &mut self,
        epoch: &Epoch,
        costs: &[Duration],
        cut: Option<&Cut>,
        totals: &Totals,
        log: &mut Log,
    ) {
        match self.running.take() {
            None => self.record_incumbent(epoch, costs, cut, totals, log),
            Some(index) => self.record_trial(index, epoch, costs, cut, totals, log),
        }
    }

    fn record_incumbent(
        &mut self,
        epoch: &Epoch,
        costs: &[Duration],
        cut: Option<&Cut>,
        totals: &Totals,
        log: &mut Log,
    ) {
        self.trials_in_a_row = 0;
        self.preparation = 0.0;
        let index = self.incumbent;
        self.tried += u32::from(self.arms[index].runs == 0);
        self.arms[index].runs += costs.len() as u64 + u64::from(cut.is_some());
        self.arms[index].seen = epoch.number;
        if let Some(&Cut {
            after,
            redo: Some(redo),
        }) = cut
        {
            self.give_up_first(epoch, after, redo, log);
            return;
        }
        if epoch.purpose == Purpose::Probe {
            // Cold, and in jobs of another size: good for nothing but a first idea of the cost.
            let guess = costs
                .iter()
                .map(|&c| seconds(c))
                .fold(f64::INFINITY, f64::min);
            if guess.is_finite() {
                self.level.restart(Some(guess.ln()));
            }
            self.arms[index].probed = Some(1.0);
            return;
        }
        if self.level.len() == 1 && epoch.number <= 3 {
            self.level.restart(None);
        }
        let settling = self.settling() as usize;
        self.away = false;
        let mut costs = self.measurements(epoch.plan, costs);
        costs.drain(..settling.min(costs.len().saturating_sub(1)));
        let window = self.window();
        self.level.take(&costs, window);
        self.accompany(&costs);
        let Some(cost) = self.cost() else { return };
        self.units = if self.settled {
            grown(self.units.max(epoch.units), cost)
        } else {
            trial_units(cost)
        };
        let trial = trial_units(cost);
        let few = costs.len().min(trial as usize);
        self.rested(&costs, epoch.number, totals, log);
        if index == self.incumbent {
            self.close_pairs(&costs[..few], epoch.number, totals, log);
        }
        let mut change = None;
        // Unless these units brought another plan to its place: they say nothing about that one.
        if index == self.incumbent {
            self.latest = log_median(&costs[costs.len() - few..]);
            let cold = self.warms(&costs);
            change = self.watch(&costs[cold..], trial, totals.seconds);
        }
        self.scratch = costs;
        if let Some(change) = change {
            self.reopen(change, epoch.number, totals, log);
        }
    }

    /// The first plan of all was cut off: the plan that did the unit instead takes its place.
    fn give_up_first(&mut self, epoch: &Epoch, after: f64, redo: f64, log: &mut Log) {
        let old = self.incumbent;
        let Some(index) = self.arms.iter().position(|a| a.plan == epoch.fallback) else {
            return;
        };
        // A unit's share of it, where several were begun together.
        let share = after / self.together(epoch.plan);
        let reason = Reason::FirstCutOff {
            plan: self.arms[old].plan,
            after: share,
            fallback: epoch.fallback,
            redo,
        };
        log.push(epoch.number, reason);
        // Not the search's loss: it has all of its time still before it.
        self.first_lost = after;
        self.offset = self.arms[index].prior.mu;
        self.arms[index].runs += 1;
        self.arms[index].probed = Some(1.0);
        self.tried += 1;
        // What the plan is believed to cost follows from the model once the fallback's warm cost is known.
        let sigma = self.structure_sigma;
        let arm = &mut self.arms[old];
        arm.prior = Belief { mu: 0.0, sigma };
        arm.cut_cold(share / redo, self.offset);
        self.caught = share > 2.0 * redo;
        self.incumbent = index;
        self.fell_back = true;
        self.switches += 1;
        self.level.restart(Some(redo.ln()));
        self.neighbours(index);
    }

    fn record_trial(
        &mut self,
        index: usize,
        epoch: &Epoch,
        costs: &[Duration],
        cut: Option<&Cut>,
        totals: &Totals,
        log: &mut Log,
    ) {
        let Some(level) = self.level.log(self.window()) else {
            return;
        };
        let cost = level.exp();
        let cold = self.cold(index, cost);
        // A spike under a plan that is known to be sound would have hit the incumbent as well.
        let sound = self.arms[index].measured() > 0 || !self.new_structure(index);
        let most = if sound { SPIKE } else { f64::INFINITY } * cost;
        let excess = |costs: &[Duration]| -> f64 {
            let spent: f64 = costs.iter().map(|&c| seconds(c).min(most)).sum();
            (spent - costs.len() as f64 * cost).max(0.0)
        };
        let preparation = std::mem::take(&mut self.preparation);
        let group = self.model.group(&epoch.plan) as usize;
        // What a structure needs before it shows what it is was weighed by itself.
        let unseen = match (group, self.is_warm(index)) {
            (2.., false) => (cold * group).min(costs.len()),
            _ => 0,
        };
        let (before, after) = costs.split_at(unseen);
        self.first_lost += preparation + excess(before);
        let mut lost = excess(after);
        self.tried += u32::from(self.arms[index].runs == 0);
        let probe = epoch.purpose == Purpose::Probe;
        let together = self.together(epoch.plan);
        let structure = self.new_structure(index);
        let arm = &mut self.arms[index];
        let first = probe && arm.runs == 0;
        arm.runs += costs.len() as u64 + u64::from(cut.is_some());
        arm.seen = epoch.number;
        if let Some(&Cut { after, redo }) = cut {
            lost += if redo.is_some() {
                after
            } else {
                // Workers finish what they have begun, and nobody begins anything meanwhile.
                (after - together * cost).max(0.0)
            };
            // What slowed the machine slowed the fallback as well. The slowest of a group says less than a unit.
            let ratio = after / (cost.max(redo.unwrap_or(cost)) * together);
            let hoped = arm.prior.mu - self.offset < 0.4;
            if first {
                arm.cut_cold(ratio, self.offset);
            } else {
                let (beyond, sigma) = match (redo, probe) {
                    (None, _) => (0.0, 1.2),
                    (_, true) => (0.4, 0.9),
                    _ => (0.7, 0.7),
                };
                arm.cut(ratio.ln() + self.offset + beyond, sigma);
            }
            self.caught |= structure && hoped && arm.round >= 2;
            if !arm.rejected {
                log.push(
                    epoch.number,
                    Reason::CutOff {
                        plan: arm.plan,
                        after: after / together,
                        incumbent: cost,
                    },
                );
            }
            if arm.round >= 2 {
                arm.rejected = true;
            }
        }
        if self.arms[index].plan.structure != self.incumbent().structure {
            self.chilled(epoch.purpose == Purpose::Recheck);
            self.away = true;
        }
        self.scratch.clear();
        if cut.is_some() {
            self.duel = None;
        }
        if self.duel.is_some() {
            let costs = self.measurements(epoch.plan, costs);
            self.competed(&costs);
            self.scratch = costs;
        } else if probe {
            self.scratch.extend(costs.iter().map(|&c| seconds(c)));
            if cut.is_none()
                && let Some(middle) = median(&mut self.scratch)
            {
                self.arms[index].probed = Some(middle / cost);
            }
        } else {
            // Those abreast are cold together, and the only ones are not thrown away.
            let cold = match group {
                1 => cold,
                group => (cold * group).min(costs.len().saturating_sub(group)),
            };
            let before = self.latest.unwrap_or(level).exp();
            let mean = costs.iter().map(|&c| seconds(c)).sum::<f64>() / costs.len() as f64;
            let ahead = group > 1 && cold >= AHEAD_GROUPS * group && mean < AHEAD * before;
            self.arms[index].ahead = ahead;
            let skipped = if ahead { 0 } else { cold };
            self.scratch
                .extend(costs.iter().skip(skipped).map(|&c| seconds(c)));
            let many = self.scratch.len() > 1;
            if epoch.plan.structure.overlaps() {
                self.scratch.dedup();
            }
            let mean = many && self.scratch.len() == 1;
            let units = if mean { 0 } else { self.scratch.len() as u32 };
            if let Some(middle) = median(&mut self.scratch) {
                self.pairs.push(Pair {
                    arm: index,
                    cost: middle.ln(),
                    units,
                    before: self.latest.unwrap_or(level),
                    ahead,
                    recheck: epoch.purpose == Purpose::Recheck,
                });
            }
        }
        self.budget.lose(lost + self.drained(index) * cost);
        if epoch.purpose == Purpose::Recheck {
            self.recheck_lost += lost;
        }
        if cut.is_some() {
            self.judge(index, epoch.number, totals, log);
            self.calibrate();
        }
    }

    /// By how much (log, negative) a plan is faster than it was known to be, if that is beyond doubt and makes it
    /// faster than the incumbent.
    pub(super) fn faster_than_known(&self, index: usize, x: f64) -> Option<f64> {
        let known = self.arms[index].belief(self.noise());
        let shift = x + self.offset - known.mu;
        (shift < -(0.10_f64.max(3.0 * known.sigma)) && x < -0.04).then_some(shift)
    }

    /// An arm that takes less (log) than an incumbent that nobody chose, as the model had it before the first plan was
    /// cut off: neither is warm yet, and the longer it takes to be sure the more is lost.
    pub(super) fn restores(&self, index: usize, x: f64) -> bool {
        let (plan, incumbent) = (self.arms[index].plan, self.incumbent());
        let faster = || self.model.seconds(&plan) < self.model.seconds(&incumbent);
        self.fell_back && x < 0.0 && plan.structure != incumbent.structure && faster()
    }

    /// Switches to an arm, or says that it lost.
    pub(super) fn judge(&mut self, index: usize, number: u64, totals: &Totals, log: &mut Log) {
        let outlook = self.outlook(totals);
        let arm = &self.arms[index];
        let pairs = arm.measured();
        if pairs == 0 {
            return;
        }
        let belief = arm.belief(outlook.noise);
        let x = belief.mu - self.offset;
        let enough = pairs >= 3
            || pairs == 2 && x < -0.1
            // A cold run is slow if anything: one that is fast counts as a witness.
            || arm.probed.is_some_and(|probe| probe < 0.8) && self.level.len() > 2 && x < -0.2
            || arm.ahead && x < -0.1
            || self.restores(index, x);
        let cost = self.cost().unwrap_or(1e-3);
        let saved = (1.0 - x.exp()) * outlook.remaining;
        if self.duel.is_some() {
            return;
        }
        let better = enough && x + belief.sigma < -LEAST_SWITCH && saved > 1.0;
        let worse =
            !arm.rejected && worth(&self.model, arm, &outlook).is_none_or(|w| w.net() <= 0.0);
        if (better || worse || self.never_warm(index)) && self.challenge(index, x, totals) {
            return;
        }
        let arm = &self.arms[index];
        let beside = cost.ln() + x;
        if better
            && (self.is_flattered(&arm.plan, x, totals)
                || !self.is_less_all_along(&arm.plan, beside))
        {
            return;
        }
        if better {
            log.push(
                number,
                Reason::Switch {
                    plan: arm.plan,
                    cost: cost * x.exp(),
                    incumbent: cost,
                    pairs: pairs as u32,
                },
            );
            self.switch(index, belief.mu, x, pairs, cost);
        } else if worse {
            log.push(
                number,
                Reason::Rejected {
                    plan: arm.plan,
                    cost: cost * x.exp(),
                    incumbent: cost,
                    pairs: pairs as u32,
                },
            );
            self.arms[index].rejected = true;
            // Of a structure not far behind, a better grain or dispatch may be the best of all.
            let structure = self.arms[index].step == Step::Structure;
            if structure && x < 0.12 && pairs >= 2 {
                self.neighbours(index);
            } else if structure {
                self.fewer(index);
            }
        }
    }

    pub(super) fn switch(&mut self, index: usize, mu: f64, x: f64, pairs: usize, cost: f64) {
        let old = self.incumbent;
        // The old incumbent was measured as often as it was compared.
        let units = trial_units(cost);
        let noise = self.noise();
        let arm = &mut self.arms[old];
        arm.age(noise, self.offset - arm.belief(noise).mu, 0.3);
        for _ in 0..pairs.min(5) {
            arm.sample(self.offset, units);
        }
        arm.rejected = true;
        arm.announced = true;
        if self.arms[old].plan.structure != self.arms[index].plan.structure {
            self.chilled(false);
            self.away = true;
        }
        self.arms.iter_mut().for_each(|arm| arm.ahead = false);
        self.incumbent = index;
        self.fell_back = false;
        self.offset = mu;
        self.switches += 1;
        self.level.restart(Some(cost.ln() + x));
        self.latest = None;
        self.thaw();
        self.watched.clear();
        self.drift.rebase(x);
        self.quiet = self.quiet.map(|quiet| quiet + x);
        self.trials_in_a_row = TRIALS_IN_A_ROW;
        self.unsettle();
        self.neighbours(index);
        self.fewer(old);
    }

    /// An arm has lost: on fewer workers it may not have.
    fn fewer(&mut self, index: usize) {
        let incumbent = (self.incumbent(), self.offset);
        let mu = self.arms[index].belief(self.noise()).mu;
        add_fewer(&mut self.arms, &self.model, index, incumbent, mu);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::Tuner;
    use super::super::super::api::{Measured, Purpose, TunerSetup};
    use super::super::super::model::setup;
    use super::super::fixtures::{abreast, arm_of, shape};
    use super::*;
    use crate::structure::fixtures::{GROUPED, TILED};
    use crate::structure::{FARM, SEQUENTIAL};
    use crate::tuner::model::Model;

    /// The model likes `tiled` best and `sequential` least.
    fn three() -> TunerSetup {
        let mut shapes = [&TILED, &FARM, &SEQUENTIAL].map(shape);
        shapes[1].work.ops *= 1.2;
        shapes[2].work.ops *= 4.0;
        TunerSetup {
            outer_cache: Some(32 << 20),
            units: Some(300),
            ..setup(2, shapes.to_vec())
        }
    }

    #[test]
    fn what_stands_in_for_the_first_plan_is_left_after_two_trials() {
        let mut setup = three();
        setup.shapes.retain(|s| s.structure != &FARM);
        let mut tuner = Tuner::new(setup).unwrap();
        assert_eq!(tuner.next().plan.structure, &TILED);
        tuner.record(Measured::CutOff {
            done: &[],
            after: Duration::from_millis(50),
            redo: Duration::from_millis(20),
        });
        for _ in 0..12 {
            let epoch = tuner.next();
            let stands_in = epoch.plan.structure == &SEQUENTIAL;
            let cost = Duration::from_millis(if stands_in { 20 } else { 17 });
            tuner.record(Measured::Units {
                costs: &vec![cost; epoch.units as usize],
            });
        }
        let told: Vec<String> = tuner.decisions().iter().map(ToString::to_string).collect();
        let told = told.join("; ");
        assert!(
            told.contains("over 2 pairs: switch (15 % faster)"),
            "{told}"
        );
    }

    #[test]
    fn a_plan_that_nobody_chose_needs_no_proof_to_be_left() {
        let setup = three();
        let model = Model::new(&setup).unwrap();
        let mut auto = Auto::new(model, &setup, &mut Log::new()).unwrap();
        let [tiled, farm, sequential] = [&TILED, &FARM, &SEQUENTIAL].map(|s| arm_of(&auto, s));
        auto.incumbent = sequential;
        assert!(!auto.restores(tiled, -0.1), "it was chosen");
        auto.fell_back = true;
        assert!(auto.restores(tiled, -0.1) && auto.restores(farm, -0.1));
        assert!(!auto.restores(tiled, 0.1), "it is slower");
        auto.neighbours(sequential);
        let same = auto
            .arms
            .iter()
            .rposition(|arm| arm.plan.structure == &SEQUENTIAL);
        assert!(
            !auto.restores(same.unwrap(), -0.1),
            "the model said nothing of it"
        );
        auto.switch(farm, auto.offset, -0.1, 1, 1e-3);
        assert!(!auto.restores(tiled, -0.1), "now one was chosen");
    }

    #[test]
    fn a_first_group_that_is_cut_off_is_told_by_its_units() {
        let mut tuner = Tuner::new(abreast()).unwrap();
        assert_eq!(tuner.next().plan.structure, &GROUPED);
        tuner.record(Measured::CutOff {
            done: &[],
            after: Duration::from_millis(800),
            redo: Duration::from_millis(70),
        });
        let told: Vec<String> = tuner.decisions().iter().map(ToString::to_string).collect();
        let told = told.join("; ");
        assert!(told.contains("cut off after 100 ms"), "{told}");
    }

    /// Units of `tiled` take a millisecond, after the first group abreast twice as long; groups take `cold` of a
    /// millisecond for each of their units at first and half of one later. The trials of groups until they take its
    /// place.
    fn trials_until_groups_win(cold: f64) -> Option<u32> {
        let mut setup = abreast();
        setup.remembered = None;
        for shape in &mut setup.shapes {
            if shape.structure == &GROUPED {
                shape.work.ops *= 0.4;
                shape.work.bytes *= 0.4;
            }
        }
        let mut tuner = Tuner::new(setup).unwrap();
        let ms = |ms: f64| Duration::from_secs_f64(ms * 1e-3);
        let mut trials = 0;
        for _ in 0..100 {
            let epoch = tuner.next();
            let units = epoch.units as usize;
            let costs = if epoch.plan.structure == &GROUPED {
                if epoch.purpose == Purpose::Incumbent {
                    return Some(trials);
                }
                trials += u32::from(epoch.purpose == Purpose::Trial);
                (0..units)
                    .map(|unit| ms(if unit < 32 { cold } else { 0.5 }))
                    .collect()
            } else {
                vec![ms(if trials > 0 { 2.0 } else { 1.0 }); units]
            };
            tuner.record(Measured::Units { costs: &costs });
        }
        None
    }

    #[test]
    fn groups_that_are_faster_while_they_are_cold_win_at_once() {
        assert_eq!(trials_until_groups_win(0.8), Some(1));
        assert!(trials_until_groups_win(1.1).is_none_or(|trials| trials > 1));
    }

    /// All eight workers are in units that take 100 ms, where eight units would have taken eight.
    #[test]
    fn a_farm_that_is_cut_off_loses_the_time_of_all_its_workers() {
        let setup = TunerSetup {
            units: Some(100_000),
            ..setup(8, vec![shape(&TILED), shape(&FARM)])
        };
        let mut tuner = Tuner::new(setup).unwrap();
        let cost = Duration::from_millis(1);
        for _ in 0..1000 {
            let epoch = tuner.next();
            let before = tuner.summary().exploring;
            let farm = epoch.plan.structure == &FARM;
            if farm && epoch.purpose == Purpose::Probe && epoch.number > 1 {
                tuner.record(Measured::CutOff {
                    done: &[],
                    after: 100 * cost,
                    redo: Duration::ZERO,
                });
                let lost = tuner.summary().exploring - before;
                assert!(lost >= 91 * cost && lost < 110 * cost, "{lost:?}");
                return;
            }
            let costs = vec![cost; epoch.units as usize];
            tuner.record(Measured::Units { costs: &costs });
        }
        panic!("no farm was tried");
    }
}
