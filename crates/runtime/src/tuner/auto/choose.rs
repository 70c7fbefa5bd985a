//! Which arm is measured next, and whether one is.

use std::ops::Range;

use super::super::Totals;
use super::super::arm::{Arm, Belief, Step};
use super::super::decision::{Log, Reason};
use super::super::search::{Worth, probe_plan, worth};
use super::Auto;
use super::trial::COLD_GROUPS;
use crate::plan::Plan;

/// Epochs of a settled incumbent between two looks at others.
const RECHECK_EVERY: u32 = 3;
/// The same for one that leaves a processor to another process, which may go: as long as it is there such a look costs
/// next to nothing.
const LEAVES_EVERY: u32 = 2;
/// The same for the incumbent of a search, when it leaves workers idle.
const URGENT_EVERY: u32 = 6;
/// Of plans on other numbers of workers those behind the best by more (ratio) are not what a core brings to the top.
const BEHIND_MOST: f64 = 1.6;
/// Share of the time gone by that these looks may lose, and the same while workers are idle.
const RECHECK_SHARE: f64 = 0.004;
const URGENT_SHARE: f64 = 0.01;
/// Most of the units to come that one of them may lose: what is over soon hardly changes any more.
const RECHECK_OF_REST: f64 = 0.005;
/// Most of the units to come that may be spent on what a structure needs before it shows what it is, and how many times
/// that it has to save.
const INVESTED_SHARE: f64 = 0.12;
const INVESTED_GAIN: f64 = 2.5;
/// Making memory that was predicted to take this long (seconds) tells how wrong that was, up to so many times.
const PREDICTED_LEAST_S: f64 = 0.2e-3;
const MEMORY_TAKES_MOST: f64 = 20.0;
/// What cold groups of units abreast take, of what they do later; the memory that the first of them has to get comes
/// on top.
const COLD_TAKES: f64 = 1.5;
/// A structure a hundred times slower than hoped for may cost this share of the units to come.
const RISK_SHARE: f64 = 0.08;
/// How many times what was predicted plans may take where the model is right, and where the machine has become slower
/// since; and by how much (log) it then may err more of one structure than of another.
const RIGHT: Range<f64> = 0.4..2.5;
const SLOWED: Range<f64> = 0.4..6.0;
const ALIKE: f64 = 0.5;

impl Auto {
    /// Seconds that making memory for an arm's structure is expected to take, if it was never run.
    pub(super) fn preparing(&self, index: usize) -> f64 {
        self.predicted_preparing(index) * self.memory_takes
    }

    /// The same as the model has it, which knows nothing of what it took for others.
    pub(super) fn predicted_preparing(&self, index: usize) -> f64 {
        let structure = self.arms[index].plan.structure;
        let made = |a: &Arm| a.plan.structure == structure && a.runs > 0;
        if self.arms.iter().any(made) {
            return 0.0;
        }
        let at_once = self.model.at_once(&self.arms[index].plan);
        let more = at_once.saturating_sub(self.in_work);
        self.model.prepare_seconds(structure) + f64::from(more) * self.pair_s
    }

    /// Units that a first trial of an arm is expected to lose while what lies side by side comes into the outer cache,
    /// if it takes `ratio` of the incumbent's time from then on.
    pub(super) fn warming(&self, index: usize, ratio: f64) -> f64 {
        let group = self.model.group(&self.arms[index].plan);
        if group <= 1 || self.is_warm(index) {
            return 0.0;
        }
        let lost = (COLD_TAKES * ratio - 1.0).clamp(0.0, 1.0);
        COLD_GROUPS as f64 * f64::from(group) * lost
    }

    /// Whether what a structure needs before it can show what it is is not the search's loss: it is expected to be
    /// faster and to save many times as much, and that is a small share of the units to come.
    fn is_investment(value: &Worth, units: f64, remaining: f64) -> bool {
        let faster = value.ratio < 1.0;
        faster && units < INVESTED_SHARE * remaining && value.gain > INVESTED_GAIN * units
    }

    /// Takes what a pair of buffers costs to make, and how many units can be in work with those there are.
    pub(in super::super) fn buffers(&mut self, seconds: f64, units: u32) {
        (self.pair_s, self.in_work) = (seconds, units.max(1));
    }

    /// Takes what making memory took for the epoch that runs.
    pub(in super::super) fn prepared(&mut self, seconds: f64) {
        self.preparation += seconds;
        let predicted = self
            .running
            .map_or(0.0, |index| self.predicted_preparing(index));
        if predicted >= PREDICTED_LEAST_S {
            let takes = (self.preparation / predicted).min(MEMORY_TAKES_MOST);
            self.memory_takes = self.memory_takes.max(takes);
        }
    }

    /// The arm most worth a measurement, if one is worth its price and there is time left to lose.
    pub(super) fn pick(
        &mut self,
        number: u64,
        totals: &Totals,
        log: &mut Log,
    ) -> Option<(usize, Worth)> {
        self.forget_old_duels(totals);
        let outlook = self.outlook(totals);
        let cost = self.cost()?;
        let left = self.budget.left(cost, outlook.remaining, totals.seconds);
        let mut best: Option<(usize, Worth)> = None;
        for (index, arm) in self.arms.iter().enumerate() {
            if self.is_passed_over(index, totals) {
                continue;
            }
            let Some(mut value) = worth(&self.model, arm, &outlook) else {
                continue;
            };
            value.loss += self.aftermath(index) + self.drained(index);
            value.loss += self.unwarmed(index, value.ratio) * f64::from(outlook.trial);
            let invested = self.preparing(index) / cost + self.warming(index, value.ratio);
            let pays = value.net() > invested;
            if !Self::is_investment(&value, invested, outlook.remaining) {
                value.loss += invested;
            }
            if !pays
                || value.loss * cost > left
                || best.is_some_and(|(_, b)| b.score() >= value.score())
            {
                continue;
            }
            if let Some(risk) = self.risk(index, &value, outlook.remaining) {
                if !self.withheld {
                    self.withheld = true;
                    let remaining = outlook.remaining;
                    let reason = Reason::Withheld {
                        plan: arm.plan,
                        risk_units: risk,
                        remaining,
                    };
                    log.push(number - 1, reason);
                }
                continue;
            }
            best = Some((index, value));
        }
        best
    }

    /// A trial of an arm would tell nothing now.
    fn is_passed_over(&self, index: usize, totals: &Totals) -> bool {
        index == self.incumbent
            || self.is_open(index)
            || self.is_told(index)
            || self.awaits_slices(index, totals)
    }

    /// Units that trying an arm would cost if it were a hundred times slower, where that is more than may be risked.
    /// Jobs that run are not interrupted, so a structure of few jobs cannot be cut off. It is tried all the same when
    /// the model proved right about the incumbent and predicts about the same cost.
    fn risk(&self, index: usize, value: &Worth, remaining: f64) -> Option<f64> {
        if !self.new_structure(index) {
            return None;
        }
        let plan = self.arms[index].plan;
        let probe = probe_plan(&self.model, plan);
        let risk = 100.0 / self.model.rounds(&probe) * self.together(plan);
        let bearable = risk <= RISK_SHARE * remaining;
        let promising = (0.6..1.6).contains(&value.ratio) && self.model_is_right();
        let promising = promising || self.caught && (0.25..1.6).contains(&value.ratio);
        (!bearable && !promising).then_some(risk)
    }

    /// The incumbent costs about what the model predicted for it, or, where neighbours have slowed the machine since
    /// its rates were measured, as many times that as other structures do.
    fn model_is_right(&self) -> bool {
        let predicted = self.model.seconds(&self.incumbent());
        self.cost().is_some_and(|cost| {
            let times = cost / predicted;
            RIGHT.contains(&times) || SLOWED.contains(&times) && self.is_as_wrong_of_others()
        })
    }

    /// Another structure was measured, and the model is about as wrong of each as of the incumbent.
    fn is_as_wrong_of_others(&self) -> bool {
        let incumbent = self.incumbent();
        let predicted = self.model.seconds(&incumbent).ln();
        let noise = self.noise();
        let others = || {
            let measured = self.arms.iter().filter(|arm| arm.measured() > 0);
            measured.filter(|arm| arm.plan.structure != incumbent.structure)
        };
        let apart = |arm: &Arm| {
            let foreseen = self.model.seconds(&arm.plan).ln() - predicted;
            (arm.belief(noise).mu - self.offset - foreseen).abs()
        };
        others().next().is_some() && others().all(|arm| apart(arm) < ALIKE)
    }

    /// Corrects the predictions for structures never run by how wrong those for the others were: by their mean error,
    /// to which one prediction that is right counts as well, because the search starts where the model erred low.
    pub(super) fn calibrate(&mut self) {
        let Some(level) = self.level.log(self.window()) else {
            return;
        };
        // Models are not wrong by what has slowed the machine since, and that slows what was never run as well.
        let level = self.quiet.unwrap_or(level);
        let noise = self.noise();
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for (index, arm) in self.arms.iter().enumerate() {
            let incumbent = index == self.incumbent;
            let first = matches!(arm.step, Step::Structure | Step::Start);
            if !first || !incumbent && arm.measured() == 0 {
                continue;
            }
            let mu = if incumbent {
                self.offset
            } else {
                arm.belief(noise).mu
            };
            let error = mu - self.offset + level - self.model.seconds(&arm.plan).ln();
            sum += error;
            squares += error * error;
            count += 1.0;
        }
        if count == 0.0 {
            return;
        }
        let error = sum / (count + 1.0);
        let spread = (squares / count - (sum / count).powi(2)).max(0.0);
        let most = self.structure_sigma;
        let sigma = ((2.0 * most * most + count * spread) / (1.0 + count)).sqrt();
        for (index, arm) in self.arms.iter_mut().enumerate() {
            let first = matches!(arm.step, Step::Structure | Step::Start);
            if first && !arm.known && index != self.incumbent {
                let mu = self.model.seconds(&arm.plan).ln() + error - level + self.offset;
                arm.prior = Belief {
                    mu,
                    sigma: sigma.min(most),
                };
            }
        }
    }

    pub(super) fn announce(&mut self, index: usize, value: &Worth, number: u64, log: &mut Log) {
        let arm = &mut self.arms[index];
        if !arm.announced {
            arm.announced = true;
            let (plan, known) = (arm.plan, arm.runs > 0);
            let reason = Reason::Try {
                plan,
                expected: value.ratio,
                known,
                gain_units: value.gain,
            };
            log.push(number - 1, reason);
        }
    }

    /// Nothing is worth a trial now.
    pub(super) fn settle(&mut self, number: u64, cost: f64, log: &mut Log) {
        if self.settled {
            return;
        }
        self.settled = true;
        if self.settled_tried != self.tried {
            self.settled_tried = self.tried;
            let plan = self.incumbent();
            let reason = Reason::Settled {
                plan,
                cost,
                tried: self.tried,
            };
            log.push(number - 1, reason);
        }
    }

    /// The arm to look at again, if it is time: in turn the best one of a structure on another number of workers, which
    /// is how a core that was taken away and given back is noticed, and one not much slower, of either those that were
    /// not looked at for the longest time. (Of structures one after the other, as what the best of them suffers from
    /// need not be what others do: the processors may have been given back, but far apart.)
    pub(super) fn recheck(&mut self, totals: &Totals, cost: f64) -> Option<usize> {
        // A search must not be blind for a core that comes back while it lasts.
        let idle = self.incumbent().workers < self.model.workers() && !self.model.pinned_workers();
        let urgent = idle && self.since_recheck >= URGENT_EVERY;
        let leaves = idle && self.shared;
        let every = if leaves { LEAVES_EVERY } else { RECHECK_EVERY };
        let due = self.settled && self.since_recheck >= every;
        if !urgent && !due {
            return None;
        }
        let share = if idle { URGENT_SHARE } else { RECHECK_SHARE };
        let left = share * totals.seconds - self.recheck_lost;
        let outlook = self.outlook(totals);
        let workers = self.incumbent().workers;
        let turn = urgent || leaves || self.rechecks.is_multiple_of(2);
        let ratio = |arm: &Arm| (arm.belief(outlook.noise).mu - self.offset).exp();
        let known = self.arms.iter().enumerate().filter(|&(index, arm)| {
            !self.is_passed_over(index, totals) && arm.runs > 0 && {
                let ratio = ratio(arm);
                let loss = (ratio - 1.0).max(0.05) + self.unwarmed(index, ratio);
                let loss = loss * f64::from(outlook.trial) + self.aftermath(index);
                loss * cost <= left && loss < RECHECK_OF_REST * outlook.remaining
            }
        });
        let chosen = if turn {
            let others = known.filter(|(_, arm)| arm.plan.workers != workers);
            let best = others.clone().map(|(_, arm)| ratio(arm));
            let best = best.fold(f64::INFINITY, f64::min);
            let alike = |plan: &Plan| (plan.structure, plan.workers);
            let leads = |arm: &Arm| {
                let run = self.arms.iter().filter(|other| other.runs > 0);
                let mut rivals = run.filter(|other| alike(&other.plan) == alike(&arm.plan));
                rivals.all(|other| ratio(other) >= ratio(arm))
            };
            others
                .filter(|(_, arm)| ratio(arm) < BEHIND_MOST * best && leads(arm))
                .min_by_key(|(_, arm)| arm.seen)
        } else {
            known
                .filter(|(_, arm)| ratio(arm) < 1.5)
                .min_by_key(|(_, arm)| arm.seen)
        };
        self.rechecks += 1;
        self.since_recheck = 0;
        chosen.map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::Tuner;
    use super::super::super::api::{Measured, Purpose, TunerSetup};
    use super::super::super::model::{Model, setup};
    use super::super::fixtures::{abreast, arm_of, auto, shape, short};
    use super::*;
    use crate::structure::FARM;
    use crate::structure::fixtures::{BACKWARD, GROUPED, TILED};
    use crate::tuner::drift::Change;

    #[test]
    fn only_what_is_expected_to_be_faster_and_to_save_much_is_an_investment() {
        let of = |ratio, gain, units| {
            let loss = 1.0;
            Auto::is_investment(&Worth { gain, loss, ratio }, units, 1000.0)
        };
        assert!(of(0.7, 300.0, 50.0));
        assert!(!of(1.1, 300.0, 50.0));
        assert!(!of(0.7, 120.0, 50.0));
        assert!(!of(0.7, 900.0, 200.0));
    }

    #[test]
    fn structures_on_other_workers_are_looked_at_in_turn() {
        let mut auto = auto();
        let [tiled, farm] = [&TILED, &FARM].map(|s| arm_of(&auto, s));
        auto.neighbours(tiled);
        let one = auto.arms.iter().position(|arm| arm.plan.workers == 1);
        auto.incumbent = one.unwrap();
        let noise = auto.noise();
        auto.offset = auto.arms[auto.incumbent].belief(noise).mu;
        for (index, ratio, seen) in [(tiled, 1.1_f64, 2), (farm, 1.4, 1)] {
            let arm = &mut auto.arms[index];
            (arm.runs, arm.seen, arm.prior.sigma) = (3, seen, 1.0);
            (0..3).for_each(|_| arm.sample(auto.offset + ratio.ln(), 4));
        }
        let totals = Totals {
            units: 500,
            seconds: 10.0,
            ..Totals::default()
        };
        let look = |auto: &mut Auto, number: u64| {
            auto.since_recheck = URGENT_EVERY;
            let index = auto.recheck(&totals, 1e-3).unwrap();
            auto.arms[index].seen = number;
            index
        };
        let looks = [3, 4, 5].map(|number| look(&mut auto, number));
        assert_eq!(looks, [farm, tiled, farm]);
        // Sooner where another process has the processor.
        (auto.settled, auto.since_recheck) = (true, LEAVES_EVERY);
        assert_eq!(auto.recheck(&totals, 1e-3), None);
        auto.shared = true;
        assert_eq!(auto.recheck(&totals, 1e-3), Some(tiled));
        // Not shortly before the end.
        let late = Totals {
            units: 990,
            ..totals
        };
        auto.since_recheck = LEAVES_EVERY;
        assert_eq!(auto.recheck(&late, 1e-3), None);
        (auto.settled, auto.shared) = (false, false);
        // One too far behind is not what a core brings to the top.
        auto.arms[farm].forget();
        let far = auto.offset + 0.7;
        (0..3).for_each(|_| auto.arms[farm].sample(far, 4));
        let looks = [6, 7].map(|number| look(&mut auto, number));
        assert_eq!(looks, [tiled, tiled]);
    }

    #[test]
    fn memory_for_a_trial_is_charged_as_it_was_measured() {
        let cost = Duration::from_millis(1);
        let lost = |preparation: Duration| {
            let setup = TunerSetup {
                units: Some(1000),
                ..setup(2, vec![shape(&TILED), shape(&FARM)])
            };
            let mut tuner = Tuner::new(setup).unwrap();
            loop {
                let epoch = tuner.next();
                let tries = matches!(epoch.purpose, Purpose::Probe | Purpose::Trial);
                if epoch.number > 1 && tries {
                    tuner.prepared(preparation);
                }
                let costs = vec![cost; epoch.units as usize];
                tuner.record(Measured::Units { costs: &costs });
                if epoch.number > 1 && tries {
                    return tuner.summary().exploring;
                }
            }
        };
        let more = lost(Duration::from_millis(7)) - lost(Duration::ZERO);
        assert!(more.abs_diff(Duration::from_millis(7)) < Duration::from_micros(1));
    }

    #[test]
    fn memory_that_took_long_is_expected_to_take_long_again() {
        let mut auto = auto();
        let farm = arm_of(&auto, &FARM);
        auto.pair_s = 1e-3;
        let predicted = auto.preparing(farm);
        assert!(predicted > 0.0);
        auto.prepared(9.0 * predicted);
        assert_eq!(auto.preparing(farm), predicted, "no trial runs");
        (auto.running, auto.preparation) = (Some(farm), 0.0);
        auto.prepared(3.0 * predicted);
        assert!((auto.preparing(farm) / predicted - 3.0).abs() < 1e-9);
        // Faster the next time, and what was too little to tell.
        auto.preparation = 0.0;
        auto.prepared(predicted);
        (auto.preparation, auto.pair_s) = (0.0, 1e-6);
        auto.prepared(predicted);
        auto.pair_s = 1e-3;
        assert!((auto.preparing(farm) / predicted - 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_slows_the_machine_slows_what_was_never_run_as_well() {
        let mut auto = short();
        let others: Vec<usize> = (0..auto.arms.len())
            .filter(|&i| i != auto.incumbent)
            .collect();
        // Predictions are right at first, then the machine is three times slower.
        let level = auto.model.seconds(&auto.incumbent()).ln();
        let ratios = |auto: &mut Auto, level| {
            auto.level.restart(Some(level));
            auto.calibrate();
            let mus = others.iter().map(|&i| auto.arms[i].prior.mu - auto.offset);
            mus.collect::<Vec<f64>>()
        };
        let before = ratios(&mut auto, level);
        let slow = level + 3.0_f64.ln();
        let change = Change {
            from: level,
            to: slow,
        };
        auto.reopen(change, 9, &Totals::default(), &mut Log::new());
        let after = ratios(&mut auto, slow);
        assert!(before.len() > 1);
        for (before, after) in before.iter().zip(&after) {
            assert!((before - after).abs() < 1e-9, "{before} {after}");
        }
    }

    #[test]
    fn on_a_machine_that_has_become_slower_the_model_is_right_where_it_is_as_wrong_of_all() {
        let right = |times: f64, of_other: Option<f64>| {
            let mut auto = short();
            let predicted = auto.model.seconds(&auto.incumbent()).ln();
            auto.level.restart(Some(predicted + times.ln()));
            let other = arm_of(&auto, &BACKWARD);
            let foreseen = auto.model.seconds(&auto.arms[other].plan).ln() - predicted;
            if let Some(of_other) = of_other {
                let apart = (of_other / times).ln();
                let x = auto.offset + foreseen + apart;
                (0..4).for_each(|_| auto.arms[other].sample(x, 16));
            }
            auto.model_is_right()
        };
        assert!(right(2.0, None) && !right(3.0, None));
        assert!(right(3.0, Some(3.0)) && right(3.0, Some(2.2)));
        assert!(!right(3.0, Some(1.0)) && !right(7.0, Some(7.0)) && !right(0.3, Some(0.3)));
    }

    #[test]
    fn cold_groups_that_are_as_fast_as_the_incumbent_lose_nothing() {
        let setup = TunerSetup {
            remembered: None,
            ..abreast()
        };
        let model = Model::new(&setup).unwrap();
        let auto = Auto::new(model, &setup, &mut Log::new()).unwrap();
        let structures = auto.arms.iter().map(|arm| arm.plan.structure);
        let index = structures.clone().position(|s| s == &GROUPED);
        let of = |ratio| auto.warming(index.unwrap(), ratio);
        assert_eq!((of(0.3), of(0.6)), (0.0, 0.0));
        assert!(0.0 < of(0.7) && of(0.7) < of(0.9));
        assert_eq!((of(1.0), of(3.0)), (16.0, 32.0));
        let other = structures.clone().position(|s| s == &TILED);
        assert_eq!(auto.warming(other.unwrap(), 1.0), 0.0);
    }
}
