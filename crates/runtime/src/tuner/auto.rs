//! The state machine behind `Choice::Auto`.

use std::time::Duration;

use crate::plan::{Plan, Structure};

use super::api::{Epoch, Gain, Purpose, SetupError, Summary, TunerSetup};
use super::arm::{Arm, Belief, Step};
use super::budget::Budget;
use super::decision::{Log, Reason};
use super::drift::{Change, Drift};
use super::level::Level;
use super::math::median;
use super::model::{Model, beside_one_another};
use super::search::{
    Outlook, STRUCTURE_SIGMA, Worth, add_neighbours, add_structures, cutoff_ratio, epoch_units,
    probe_plan, worth,
};
use super::{Cut, Totals, grown};

/// Time an epoch of a search aims at, and the most units it takes: enough for a median to be sharp, few enough that a
/// slow plan costs little.
const TRIAL_S: f64 = 0.4e-3;
const TRIAL_MOST: f64 = 16.0;
/// Units in a window of the drift test.
const WINDOW_MOST: usize = 16;
/// Units shorter than this (seconds) get two cold runs instead of one.
const SHORT_UNIT_S: f64 = 0.2e-3;
/// Least cutoff in seconds: below, a timer interrupt would look like a hopeless plan.
const CUTOFF_LEAST_S: f64 = 30e-6;
/// The first unit of a structure may take this many times the incumbent's cost, and so many seconds more at least: it
/// pays for the structure's private memory.
const PROBE_CUTOFF: f64 = 2.0;
const PROBE_CUTOFF_LEAST_S: f64 = 100e-6;
/// The very first unit may take this many times the predicted cost, and at least this long.
const FIRST_CUTOFF: f64 = 5.0;
const FIRST_CUTOFF_LEAST_S: f64 = 0.5e-3;
/// Trials between two epochs of the incumbent.
const TRIALS_IN_A_ROW: u32 = 2;
/// Epochs of a settled incumbent between two looks at others.
const RECHECK_EVERY: u32 = 3;
/// The same for the incumbent of a search, when it leaves workers idle.
const URGENT_EVERY: u32 = 6;
/// Share of the time gone by that these looks may lose.
const RECHECK_SHARE: f64 = 0.01;
/// A stream of unknown length is expected to go on as long as it has gone on, and at least for so many units.
const UNKNOWN_UNITS: u64 = 300;
/// A unit that takes so many times the incumbent's cost under a sound plan met with something else.
const SPIKE: f64 = 2.0;
/// A gain below this share is not worth a switch.
const LEAST_SWITCH: f64 = 0.01;
/// A structure a hundred times slower than hoped for may cost this share of the units to come.
const RISK_SHARE: f64 = 0.08;

/// The search and what it knows.
#[derive(Debug)]
pub(super) struct Auto {
    model: Model,
    length: Option<u64>,
    arms: Vec<Arm>,
    incumbent: usize,
    /// Logarithm of the incumbent's cost as arms count.
    offset: f64,
    level: Level,
    drift: Drift,
    budget: Budget,
    running: Option<usize>,
    fallback: Plan,
    /// Units of the incumbent's next epoch.
    units: u32,
    trials_in_a_row: u32,
    started: bool,
    settled: bool,
    settled_tried: u32,
    since_recheck: u32,
    rechecks: u32,
    recheck_lost: f64,
    first_lost: f64,
    withheld: bool,
    /// A structure was cut off against the model's prediction; that two are wrong so far is unlikely.
    caught: bool,
    switches: u32,
    drifts: u32,
    tried: u32,
    scratch: Vec<f64>,
}

impl Auto {
    pub(super) fn new(model: Model, setup: &TunerSetup, log: &mut Log) -> Result<Auto, SetupError> {
        let best = safest_best(&model).ok_or(SetupError::NoShape)?;
        let mut start = best;
        if let Some(plan) = setup.remembered {
            if model.allows(&plan) {
                log.push(0, Reason::Remembered { plan, model: best });
                start = plan;
            } else {
                log.push(0, Reason::Forgotten { plan });
            }
        }
        if log.entries().is_empty() || start != setup.remembered.unwrap_or(best) {
            log.push(
                0,
                Reason::Start {
                    plan: best,
                    predicted: model.seconds(&best),
                },
            );
        }
        let mut arms = Vec::with_capacity(32);
        arms.push(Arm::new(
            start,
            Step::Start,
            Belief {
                mu: 0.0,
                sigma: 0.01,
            },
        ));
        add_structures(&mut arms, &model, setup.remembered == Some(start));
        let fallback = arms
            .iter()
            .skip(1)
            .filter(|a| a.plan.structure != start.structure && a.plan.structure != Structure::Farm)
            .min_by(|a, b| a.prior.mu.total_cmp(&b.prior.mu))
            .map_or(start, |a| a.plan);
        Ok(Auto {
            model,
            length: setup.units,
            arms,
            incumbent: 0,
            offset: 0.0,
            level: Level::new(),
            drift: Drift::new(),
            budget: Budget::default(),
            running: None,
            fallback,
            units: 1,
            trials_in_a_row: 0,
            started: false,
            settled: false,
            settled_tried: 0,
            since_recheck: 0,
            rechecks: 0,
            recheck_lost: 0.0,
            first_lost: 0.0,
            withheld: false,
            caught: false,
            switches: 0,
            drifts: 0,
            tried: 0,
            scratch: Vec::with_capacity(256),
        })
    }

    pub(super) fn incumbent(&self) -> Plan {
        self.arms[self.incumbent].plan
    }

    /// What the next epoch does.
    pub(super) fn next(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Epoch {
        let plan = self.incumbent();
        self.running = None;
        let mut epoch = Epoch {
            number,
            plan,
            units: 1,
            cutoff: None,
            fallback: plan,
            purpose: Purpose::Incumbent,
        };
        if totals.units == 0 {
            self.first(&mut epoch);
            return epoch;
        }
        let Some(cost) = self.cost() else {
            return epoch;
        };
        if !self.started && self.level.len() > 1 {
            self.started = true;
            self.neighbours(self.incumbent);
            self.calibrate();
        }
        let trial = trial_units(cost);
        if self.level.len() < 2.max(trial as usize / 2) || self.trials_in_a_row >= TRIALS_IN_A_ROW {
            epoch.units = epoch_units(&plan, trial);
            return epoch;
        }
        self.since_recheck += 1;
        if !self.drift.suspects() {
            let mut again = if self.settled {
                None
            } else {
                self.recheck(totals, cost)
            };
            if again.is_none() {
                if let Some((index, value)) = self.pick(number, totals, log) {
                    self.settled = false;
                    self.announce(index, &value, number, log);
                    self.trial(&mut epoch, index, cost);
                    return epoch;
                }
                self.settle(number, cost, log);
                again = self.recheck(totals, cost);
            }
            if let Some(index) = again {
                self.trial(&mut epoch, index, cost);
                epoch.purpose = Purpose::Recheck;
                return epoch;
            }
        }
        // The end of a stream is never far for a plan that went wrong in the middle of an epoch.
        let most = (self.remaining(totals) / 8.0).max(1.0) as u32;
        epoch.units = epoch_units(&plan, self.units.min(most).max(trial));
        epoch
    }

    /// The first unit of all is cold and nothing is known; it is run in small jobs and abandoned if it takes far
    /// longer than predicted.
    fn first(&mut self, epoch: &mut Epoch) {
        let plan = epoch.plan;
        epoch.plan = probe_plan(&self.model, plan);
        epoch.purpose = Purpose::Probe;
        epoch.units = epoch_units(&plan, 1);
        if self.fallback != plan {
            let limit = FIRST_CUTOFF * self.model.seconds(&plan) * self.together(plan);
            epoch.cutoff = Some(Duration::from_secs_f64(
                limit.max(FIRST_CUTOFF_LEAST_S).min(1e6),
            ));
            epoch.fallback = self.fallback;
        }
    }

    /// Makes `epoch` a trial of an arm.
    fn trial(&mut self, epoch: &mut Epoch, index: usize, cost: f64) {
        self.running = Some(index);
        self.trials_in_a_row += 1;
        let arm = &self.arms[index];
        let trial = trial_units(cost);
        let x = arm.belief(self.level.noise()).mu - self.offset;
        epoch.plan = arm.plan;
        epoch.purpose = Purpose::Trial;
        let limit = if arm.probed.is_none() && self.new_structure(index) {
            epoch.plan = probe_plan(&self.model, arm.plan);
            epoch.purpose = Purpose::Probe;
            epoch.units = if cost < SHORT_UNIT_S { 2 } else { 1 };
            Some((PROBE_CUTOFF * cost).max(cost + PROBE_CUTOFF_LEAST_S))
        } else {
            let first = if arm.measured() == 0 {
                (trial / 3).max(1)
            } else {
                trial
            };
            epoch.units = first + self.cold(index, cost) as u32;
            cutoff_ratio(arm, x).map(|ratio| (ratio * cost).max(cost + CUTOFF_LEAST_S))
        };
        epoch.units = epoch_units(&arm.plan, epoch.units);
        let together = self.together(arm.plan);
        if together > 1.0 {
            // Nothing is abandoned, so the limit need not be below what a spike may take; it only ends the epoch.
            epoch.cutoff = Some(Duration::from_secs_f64(12.0 * cost * together));
            return;
        }
        epoch.cutoff = limit.map(Duration::from_secs_f64);
    }

    /// Units of an arm's next epoch that do not count.
    fn cold(&self, index: usize, cost: f64) -> usize {
        match (self.arms[index].runs, cost < SHORT_UNIT_S) {
            (0, true) => 2,
            (0, false) | (_, true) => 1,
            (_, false) => 0,
        }
    }

    /// No plan of this arm's structure was ever run to the end of a unit.
    fn new_structure(&self, index: usize) -> bool {
        let structure = self.arms[index].plan.structure;
        let known = |a: &Arm| a.probed.is_some() || a.measured() > 0;
        !self
            .arms
            .iter()
            .any(|a| a.plan.structure == structure && known(a))
    }

    /// Units in flight at once: a unit's own time is so many times its share.
    fn together(&self, plan: Plan) -> f64 {
        if beside_one_another(plan.structure) {
            f64::from(plan.workers)
        } else {
            1.0
        }
    }

    fn cost(&self) -> Option<f64> {
        self.level.log(self.window()).map(f64::exp)
    }

    /// Units that make the level.
    fn window(&self) -> usize {
        match self.level.log(5) {
            Some(log) => (2 * trial_units(log.exp()) as usize).clamp(5, 32),
            None => 5,
        }
    }

    fn remaining(&self, totals: &Totals) -> f64 {
        match self.length {
            Some(length) => length.saturating_sub(totals.units) as f64,
            None => totals.units.max(UNKNOWN_UNITS) as f64,
        }
    }

    fn outlook(&self, totals: &Totals) -> Outlook {
        Outlook {
            offset: self.offset,
            noise: self.level.noise(),
            remaining: self.remaining(totals),
            trial: trial_units(self.cost().unwrap_or(1e-3)),
        }
    }

    /// The arm most worth a measurement, if one is worth its price and there is time left to lose.
    fn pick(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Option<(usize, Worth)> {
        let outlook = self.outlook(totals);
        let cost = self.cost()?;
        let left = self.budget.left(cost, outlook.remaining, totals.seconds);
        let mut best: Option<(usize, Worth)> = None;
        for (index, arm) in self.arms.iter().enumerate() {
            if index == self.incumbent {
                continue;
            }
            let Some(value) = worth(arm, &outlook) else {
                continue;
            };
            if value.net() <= 0.0
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
        let promising = promising || self.caught && value.ratio < 1.6;
        (!bearable && !promising).then_some(risk)
    }

    /// The incumbent costs about what the model predicted for it.
    fn model_is_right(&self) -> bool {
        let predicted = self.model.seconds(&self.incumbent());
        self.cost()
            .is_some_and(|cost| (0.4..2.5).contains(&(cost / predicted)))
    }

    /// Corrects the predictions for structures never run by how wrong those for the others were: by their mean error,
    /// to which one prediction that is right counts as well, because the search starts where the model erred low.
    fn calibrate(&mut self) {
        let Some(level) = self.level.log(self.window()) else {
            return;
        };
        let noise = self.level.noise();
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
        let sigma = ((2.0 * STRUCTURE_SIGMA.powi(2) + count * spread) / (1.0 + count)).sqrt();
        for arm in &mut self.arms {
            if arm.runs == 0 && arm.step == Step::Structure {
                let mu = self.model.seconds(&arm.plan).ln() + error - level + self.offset;
                arm.prior = Belief {
                    mu,
                    sigma: sigma.min(STRUCTURE_SIGMA),
                };
            }
        }
    }

    fn announce(&mut self, index: usize, value: &Worth, number: u64, log: &mut Log) {
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
    fn settle(&mut self, number: u64, cost: f64, log: &mut Log) {
        if self.settled {
            return;
        }
        self.settled = true;
        if self.settled_tried != self.tried {
            self.settled_tried = self.tried;
            let plan = self.incumbent();
            let unaffordable = 0;
            let reason = Reason::Settled {
                plan,
                cost,
                tried: self.tried,
                unaffordable,
            };
            log.push(number - 1, reason);
        }
    }

    /// The arm to look at again, if it is time: in turn the best one on another number of workers, which is how a
    /// core that was taken away and given back is noticed, and the one of those not much slower that was not looked
    /// at for the longest time.
    fn recheck(&mut self, totals: &Totals, cost: f64) -> Option<usize> {
        // A search must not be blind for a core that comes back while it lasts.
        let urgent = self.since_recheck >= URGENT_EVERY
            && self.incumbent().workers < self.model.workers()
            && !self.model.pinned_workers();
        if !urgent && !(self.settled && self.since_recheck >= RECHECK_EVERY) {
            return None;
        }
        let left = RECHECK_SHARE * totals.seconds - self.recheck_lost;
        let outlook = self.outlook(totals);
        let workers = self.incumbent().workers;
        let turn = urgent || self.rechecks % 2 == 0;
        let ratio = |arm: &Arm| (arm.belief(outlook.noise).mu - self.offset).exp();
        let known = self.arms.iter().enumerate().filter(|&(index, arm)| {
            index != self.incumbent && arm.runs > 0 && {
                let ratio = ratio(arm);
                let loss = (ratio - 1.0).max(0.05) * f64::from(outlook.trial);
                loss * cost <= left && loss < 0.02 * outlook.remaining
            }
        });
        let chosen = if turn {
            known
                .filter(|(_, arm)| arm.plan.workers != workers)
                .min_by(|a, b| ratio(a.1).total_cmp(&ratio(b.1)))
        } else {
            known
                .filter(|(_, arm)| ratio(arm) < 1.5)
                .min_by_key(|(_, arm)| arm.seen)
        };
        self.rechecks += 1;
        self.since_recheck = 0;
        chosen.map(|(index, _)| index)
    }

    /// Takes an epoch's outcome.
    pub(super) fn record(
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
        let costs = self.measurements(epoch.plan, costs);
        let window = self.window();
        for &cost in &costs {
            self.level.push(cost.ln(), window);
        }
        let Some(cost) = self.cost() else { return };
        self.units = if self.settled {
            grown(self.units.max(epoch.units), cost)
        } else {
            trial_units(cost)
        };
        let change = self.watch(&costs, trial_units(cost));
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
        let reason = Reason::FirstCutOff {
            plan: self.arms[old].plan,
            after,
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
        // The first unit pays for much that no later one pays for, so the plan keeps a chance.
        let sigma = self.arms[index].prior.sigma;
        let arm = &mut self.arms[old];
        arm.prior.sigma = sigma;
        arm.cut(self.offset + (after / redo).max(1.0).ln() - 0.2, 0.7);
        self.caught = true;
        self.incumbent = index;
        self.switches += 1;
        self.level.restart(Some(redo.ln()));
        self.neighbours(index);
    }

    /// The measurements in an epoch's costs: those of a group of units that overlap are one. Takes the scratch space.
    fn measurements(&mut self, plan: Plan, costs: &[Duration]) -> Vec<f64> {
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.extend(costs.iter().map(|&c| seconds(c)));
        if beside_one_another(plan.structure) {
            values.dedup();
        }
        values
    }

    /// Splits an epoch of the incumbent into windows for the drift test.
    fn watch(&mut self, costs: &[f64], trial: u32) -> Option<Change> {
        let window = (trial as usize)
            .clamp(3, WINDOW_MOST)
            .min(costs.len().max(1));
        let noise = 1.25 * self.level.noise() / (window as f64).sqrt();
        let mut found = None;
        for chunk in costs.chunks(window) {
            let mut logs = [0.0; WINDOW_MOST];
            for (log, cost) in logs.iter_mut().zip(chunk) {
                *log = cost.ln();
            }
            if let Some(x) = median(&mut logs[..chunk.len()]) {
                found = self.drift.push(x, noise).or(found);
            }
        }
        found
    }

    /// The machine has changed: what was known of others is in doubt, the more the more they differ.
    fn reopen(&mut self, change: Change, number: u64, totals: &Totals, log: &mut Log) {
        let plan = self.incumbent();
        log.push(
            number,
            Reason::Drift {
                plan,
                from: change.from.exp(),
                to: change.to.exp(),
            },
        );
        self.drifts += 1;
        self.level.restart(Some(change.to));
        self.budget.reopen(totals.seconds);
        self.neighbours(self.incumbent);
        let noise = self.level.noise();
        let size = (change.to - change.from).clamp(-1.5, 1.5);
        for (index, arm) in self.arms.iter_mut().enumerate() {
            // What hit the incumbent may or may not have hit this plan as well.
            let (part, least): (f64, f64) = if arm.plan.workers != plan.workers {
                (0.5, 0.25)
            } else if arm.plan.dispatch != plan.dispatch || arm.plan.grain < plan.grain {
                (0.25, 0.12)
            } else {
                (0.1, 0.12)
            };
            if index != self.incumbent {
                arm.age(noise, -part * size, least.max(part * size.abs()));
            }
        }
        self.unsettle();
    }

    fn unsettle(&mut self) {
        self.settled = false;
        self.settled_tried = 0;
        self.units = 1;
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
        let spent: f64 = costs.iter().map(|&c| seconds(c).min(most)).sum();
        let mut lost = (spent - costs.len() as f64 * cost).max(0.0);
        self.tried += u32::from(self.arms[index].runs == 0);
        let probe = epoch.purpose == Purpose::Probe;
        let together = self.together(epoch.plan);
        let structure = self.new_structure(index);
        let arm = &mut self.arms[index];
        arm.runs += costs.len() as u64 + u64::from(cut.is_some());
        arm.seen = epoch.number;
        if let Some(&Cut { after, redo }) = cut {
            lost += if redo.is_some() {
                after
            } else {
                (after / together - cost).max(0.0)
            };
            // A cold run that was too slow says less than a warm one, and the slowest of a group less than a unit.
            let (beyond, sigma) = match (redo, probe) {
                (None, _) => (0.0, 1.2),
                (_, true) => (0.4, 0.9),
                _ => (0.7, 0.7),
            };
            let ratio = after / (cost * together);
            let hoped = arm.prior.mu - self.offset < 0.4;
            arm.cut(ratio.ln() + self.offset + beyond, sigma);
            self.caught |= structure && hoped;
            if !arm.rejected {
                log.push(
                    epoch.number,
                    Reason::CutOff {
                        plan: arm.plan,
                        after,
                        incumbent: cost,
                    },
                );
            }
            if arm.round >= 2 {
                arm.rejected = true;
            }
        }
        self.scratch.clear();
        if probe {
            self.scratch.extend(costs.iter().map(|&c| seconds(c)));
            if cut.is_none()
                && let Some(middle) = median(&mut self.scratch)
            {
                self.arms[index].probed = Some(middle / cost);
            }
        } else {
            self.scratch
                .extend(costs.iter().skip(cold).map(|&c| seconds(c)));
            let many = self.scratch.len() > 1;
            if beside_one_another(epoch.plan.structure) {
                self.scratch.dedup();
            }
            let mean = many && self.scratch.len() == 1;
            let units = if mean { 0 } else { self.scratch.len() as u32 };
            if let Some(middle) = median(&mut self.scratch) {
                self.take(index, middle, cost, units, epoch, totals, log);
            }
        }
        self.budget.lose(lost);
        if epoch.purpose == Purpose::Recheck {
            self.recheck_lost += lost;
        }
        self.judge(index, epoch.number, totals, log);
        if matches!(self.arms[index].step, Step::Structure | Step::Start) {
            self.calibrate();
        }
    }

    /// Adds a measurement to an arm. One that contradicts what was known of a plan measured before means that the
    /// plan's cost has changed, so the old measurements go.
    fn take(
        &mut self,
        index: usize,
        middle: f64,
        cost: f64,
        units: u32,
        epoch: &Epoch,
        totals: &Totals,
        log: &mut Log,
    ) {
        let noise = self.level.noise();
        let offset = self.offset;
        let arm = &mut self.arms[index];
        let x = (middle / cost).ln();
        let known = arm.belief(noise);
        let changed = x < known.mu - offset - 0.10_f64.max(3.0 * known.sigma) && x < -0.04;
        if epoch.purpose == Purpose::Recheck && changed {
            let reason = Reason::Revived {
                plan: arm.plan,
                cost: middle,
                incumbent: cost,
            };
            log.push(epoch.number, reason);
            self.revive(index, x + offset - known.mu, totals);
        }
        self.arms[index].sample(x + offset, units);
    }

    /// A plan that had lost is faster than it was by `shift` (log, negative). Where it runs on another number of
    /// workers than the incumbent, a core was given back, and the other plans on those workers have gained as well.
    fn revive(&mut self, index: usize, shift: f64, totals: &Totals) {
        let noise = self.level.noise();
        let workers = self.arms[index].plan.workers;
        if workers == self.incumbent().workers {
            self.arms[index].age(noise, 0.0, 0.5);
        } else {
            self.budget.reopen(totals.seconds);
            let others = self
                .arms
                .iter_mut()
                .filter(|arm| arm.plan.workers == workers);
            others.for_each(|arm| arm.age(noise, shift, 0.2));
        }
        self.arms[index].announced = true;
        self.unsettle();
    }

    /// Switches to an arm, or says that it lost.
    fn judge(&mut self, index: usize, number: u64, totals: &Totals, log: &mut Log) {
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
            || arm.probed.is_some_and(|probe| probe < 0.8) && self.level.len() > 2 && x < -0.2;
        let cost = self.cost().unwrap_or(1e-3);
        let saved = (1.0 - x.exp()) * outlook.remaining;
        if enough && x + belief.sigma < -LEAST_SWITCH && saved > 1.0 {
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
        } else if !arm.rejected && worth(arm, &outlook).is_none_or(|w| w.net() <= 0.0) {
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
            if x < 0.12 && pairs >= 2 {
                self.neighbours(index);
            }
        }
    }

    fn switch(&mut self, index: usize, mu: f64, x: f64, pairs: usize, cost: f64) {
        let old = self.incumbent;
        // The old incumbent was measured as often as it was compared.
        let units = trial_units(cost);
        let arm = &mut self.arms[old];
        arm.age(0.05, self.offset - arm.belief(0.05).mu, 0.3);
        for _ in 0..pairs.min(5) {
            arm.sample(self.offset, units);
        }
        arm.rejected = true;
        arm.announced = true;
        self.incumbent = index;
        self.offset = mu;
        self.switches += 1;
        self.level.restart(Some(cost.ln() + x));
        self.drift.rebase(x);
        self.trials_in_a_row = TRIALS_IN_A_ROW;
        self.unsettle();
        self.neighbours(index);
    }

    fn neighbours(&mut self, index: usize) {
        let belief = if index == self.incumbent {
            Belief {
                mu: self.offset,
                sigma: 0.01,
            }
        } else {
            self.arms[index].belief(self.level.noise())
        };
        add_neighbours(&mut self.arms, &self.model, index, belief);
    }

    /// Fills in what `Tuner::summary` cannot know.
    pub(super) fn summarise(&self, summary: &mut Summary) {
        let cost = self.cost();
        summary.cost = cost.map(Duration::from_secs_f64);
        summary.exploring = Duration::from_secs_f64(self.budget.lost() + self.first_lost);
        summary.plans_tried = self.tried;
        summary.switches = self.switches;
        summary.drifts = self.drifts;
        summary.gain = cost.and_then(|_| self.gain());
    }

    fn gain(&self) -> Option<Gain> {
        let noise = self.level.noise();
        if self.incumbent().structure == Structure::Sequential {
            return Some(Gain {
                factor: 1.0,
                measured: true,
            });
        }
        let measured = self
            .arms
            .iter()
            .filter(|a| a.plan.structure == Structure::Sequential && a.measured() > 0)
            .map(|a| a.belief(noise).mu)
            .min_by(f64::total_cmp);
        if let Some(mu) = measured {
            return Some(Gain {
                factor: (mu - self.offset).exp(),
                measured: true,
            });
        }
        self.model.shape(Structure::Sequential)?;
        let sequential = self
            .model
            .seconds(&self.model.best_plan(Structure::Sequential));
        let factor = sequential / self.model.seconds(&self.incumbent());
        Some(Gain {
            factor,
            measured: false,
        })
    }
}

/// The structure that the model likes best; one whose units cannot be cut off only if there is no other.
fn safest_best(model: &Model) -> Option<Plan> {
    let plans = || model.structures().map(|s| model.best_plan(s));
    let least = |a: &Plan, b: &Plan| model.seconds(a).total_cmp(&model.seconds(b));
    plans()
        .filter(|p| p.structure != Structure::Farm)
        .min_by(least)
        .or_else(|| plans().min_by(least))
}

/// Units of an epoch of a search.
fn trial_units(cost: f64) -> u32 {
    (TRIAL_S / cost.max(1e-9)).clamp(1.0, TRIAL_MOST) as u32
}

/// Never zero, so that there is a logarithm.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}
