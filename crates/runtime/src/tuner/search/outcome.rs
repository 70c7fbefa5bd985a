//! What follows from what an epoch cost.

use std::time::Duration;

use super::price::{CHANGED_SIGMA, CHANGED_WORKERS_SIGMA, STAYS_S};
use super::{Experiment, LONG_BLOCK_S, Ledger, Search, Side, block_units};
use crate::tuner::api::Epoch;
use crate::tuner::belief::{Belief, median, trimmed};
use crate::tuner::candidates::{STRUCTURE_SIGMA, add_workers};
use crate::tuner::decision::{Log, Reason};
use crate::tuner::drift::Change;
use crate::tuner::{Cut, Totals, grown};

/// A plan takes over when it is faster by so much (log) and one deviation, and saves a unit.
const LEAST_SWITCH: f64 = 0.01;
/// Deviation (log) of a measurement of a plan that is still cold.
const COLD_DOUBT: f64 = 0.2;
/// Units of a plan that was begun in time count for no more than that many times the incumbent's: a spike would have
/// hit the incumbent as well.
const SPIKE: f64 = 2.5;
/// When the machine has changed, plans on other numbers of workers have by this share of it the other way.
const OTHER_WORKERS: f64 = 0.65;

impl Search {
    pub(in super::super) fn record(
        &mut self,
        epoch: &Epoch,
        costs: &[Duration],
        cut: Option<&Cut>,
        totals: &Totals,
        log: &mut Log,
    ) {
        if costs.is_empty() && cut.is_none() {
            return;
        }
        let seconds: Vec<f64> = costs
            .iter()
            .map(|cost| cost.as_secs_f64().max(1e-9))
            .collect();
        let other = self
            .experiment
            .filter(|experiment| matches!(experiment.side, Side::Probe | Side::Other));
        let index = other.map_or(self.incumbent, |experiment| experiment.arm);
        let predicted = if other.is_some() {
            self.memory_seconds(index)
        } else {
            0.0
        };
        self.ledger.total += self.memory.settle(predicted);
        let warmup = self.warmup(index) as usize;
        let arm = &mut self.arms[index];
        self.tried += u32::from(!arm.tried);
        arm.tried = true;
        arm.ran |= !costs.is_empty();
        match (other, cut) {
            (Some(experiment), None) => self.record_other(experiment, &seconds, warmup),
            (Some(experiment), Some(cut)) => {
                self.record_cut(&experiment, &seconds, cut, (epoch, totals), log);
            }
            (None, Some(&Cut { after, redo })) => {
                self.give_up_first(epoch, after, redo.unwrap_or(after), log);
            }
            (None, None) if totals.epochs == 1 => {
                // Cold, and in jobs of another size: good for nothing but a first idea of the cost.
                let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
                self.level.restart(Some(least.ln()));
            }
            (None, None) => self.record_incumbent(&seconds, warmup, (epoch, totals), log),
        }
    }

    /// Of an epoch's units those that count, without the first `warmup`. Units that were begun together are one
    /// measurement.
    fn measured(&self, index: usize, seconds: &[f64], warmup: usize) -> Vec<f64> {
        let group = self.model.footprint(&self.arms[index].plan).group as usize;
        let skipped = warmup.min(seconds.len().saturating_sub(group));
        seconds[skipped..].iter().copied().step_by(group).collect()
    }

    fn record_incumbent(
        &mut self,
        seconds: &[f64],
        warmup: usize,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        if self.level.len() == 1 && epoch.number <= 3 {
            self.level.restart(None);
        }
        let index = self.incumbent;
        let mut measured = self.measured(index, seconds, warmup);
        self.level.take(&measured, 32);
        let Some(cost) = self.cost() else { return };
        let block = block_units(cost);
        if self.away {
            let cold = &seconds[..warmup.min(seconds.len())];
            self.ledger
                .lose(cold.iter().sum::<f64>() - cold.len() as f64 * cost);
        }
        // What comes back is cold, which is no change of the machine.
        let cold = if self.away { block as usize } else { 0 };
        self.away = false;
        let change = self.watch(&measured[cold.min(measured.len())..], totals);
        let group = self.model.footprint(&epoch.plan).group as usize;
        let units = self.experiment.map_or(block, |experiment| experiment.units) as usize;
        let counted = units.div_ceil(group).min(measured.len());
        let first = trimmed(&mut measured[..counted].to_vec());
        let from = measured.len() - counted;
        let last = trimmed(&mut measured[from..]);
        match self.experiment.map(|experiment| experiment.side) {
            Some(Side::After) => {
                if let (Some(experiment), Some(after)) = (self.experiment.take(), first) {
                    self.judge(&experiment, after, (epoch, totals), log);
                }
            }
            Some(_) => {
                let other = self
                    .experiment
                    .map(|experiment| self.other_side(experiment.arm));
                if let (Some(experiment), Some(side), Some(before)) =
                    (&mut self.experiment, other, last)
                {
                    (experiment.before, experiment.side) = (before, side);
                }
            }
            None => self.units = grown(epoch.units.max(self.units), cost),
        }
        // Unless these units brought another plan to its place.
        if self.incumbent == index {
            self.latest = last.map(|cost| (cost, (counted * group) as u32));
            if let Some(change) = change {
                self.reopen(change, (epoch, totals), log);
            }
        }
    }

    fn record_other(&mut self, mut experiment: Experiment, seconds: &[f64], warmup: usize) {
        let Some(cost) = self.cost() else { return };
        let index = experiment.arm;
        self.left_incumbent(index);
        let probe = experiment.side == Side::Probe;
        let most = if probe { f64::INFINITY } else { SPIKE * cost };
        let spent: f64 = seconds.iter().map(|seconds| seconds.min(most)).sum();
        self.ledger.lose(spent - seconds.len() as f64 * cost);
        experiment.side = Side::Other;
        if !probe {
            let mut measured = self.measured(index, seconds, warmup);
            experiment.warming = self.is_warming(index, &mut measured);
            experiment.counted = measured.len();
            experiment.side = Side::After;
            experiment.other = trimmed(&mut measured).unwrap_or_default();
        }
        self.experiment = Some(experiment);
    }

    /// Another plan ran.
    fn left_incumbent(&mut self, index: usize) {
        self.latest = None;
        self.away |= self.is_away(index);
    }

    /// Whether a plan became faster within its block, and may do so still. Then only the second half counts.
    fn is_warming(&self, index: usize, measured: &mut Vec<f64>) -> bool {
        let half = measured.len() / 2;
        let middle = |half: &[f64]| trimmed(&mut half.to_vec());
        let (Some(first), Some(second)) = (middle(&measured[..half]), middle(&measured[half..]))
        else {
            // A single measurement cannot tell.
            return self.is_away(index);
        };
        let noise = self.level.noise() / (half as f64).sqrt();
        let warming = first - second > 0.03 + 2.0 * noise;
        if warming {
            measured.drain(..half);
        }
        warming
    }

    /// A unit of another plan was given up.
    fn record_cut(
        &mut self,
        experiment: &Experiment,
        seconds: &[f64],
        cut: &Cut,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        let Some(cost) = self.cost() else { return };
        let index = experiment.arm;
        self.left_incumbent(index);
        let in_work = self.in_work(&epoch.plan);
        let spent = seconds.iter().sum::<f64>() - seconds.len() as f64 * cost;
        self.ledger.lose(match cut.redo {
            Some(_) => spent + cut.after,
            None => spent + (cut.after - in_work * cost).max(0.0),
        });
        let ratio = cut.after / (cost * in_work);
        let arm = &mut self.arms[index];
        arm.give_up(ratio);
        arm.seen = totals.seconds;
        let reason = Reason::CutOff {
            plan: arm.plan,
            after: cut.after / in_work,
            incumbent: cost,
        };
        log.push(epoch.number, reason);
        self.experiment = None;
        self.calibrate();
    }

    /// The first plan of all was given up: the plan that did the unit instead takes its place.
    fn give_up_first(&mut self, epoch: &Epoch, after: f64, redo: f64, log: &mut Log) {
        let fallback = |plan| plan == epoch.fallback;
        let Some(index) = self.arms.iter().position(|arm| fallback(arm.plan)) else {
            return;
        };
        let after = after / self.in_work(&epoch.plan);
        let old = std::mem::replace(&mut self.incumbent, index);
        let reason = Reason::FirstCutOff {
            plan: self.arms[old].plan,
            after,
            fallback: epoch.fallback,
            redo,
        };
        log.push(epoch.number, reason);
        self.ledger.total += after;
        self.tried += 1;
        self.switches += 1;
        let arm = &mut self.arms[index];
        (arm.ran, arm.tried, arm.belief) = (true, true, Belief::new(0.0, 0.01));
        // Most of its time may have gone into what no later unit pays for.
        self.arms[old].belief = Belief::new(0.0, STRUCTURE_SIGMA);
        self.arms[old].give_up((after / redo).clamp(1.0, 4.0));
        self.level.restart(Some(redo.ln()));
        self.neighbours(index);
    }

    /// Takes the third block of an experiment: switches, or says that the other plan lost.
    fn judge(
        &mut self,
        experiment: &Experiment,
        after: f64,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        let (index, counted) = (experiment.arm, experiment.counted.max(1) as f64);
        if experiment.warming && self.block(index, totals) < self.longest_block(index) {
            self.arms[index].grown += 1;
        }
        let value = experiment.other - 0.5 * (experiment.before + after);
        let since = self.shift(index) * self.stale(&self.arms[index], totals).sqrt();
        let noise = 1.5 * self.level.noise() / counted.sqrt();
        let arm = &mut self.arms[index];
        let cold = if experiment.warming { COLD_DOUBT } else { 0.0 };
        let apart = 0.5 * (after - experiment.before);
        arm.observe(value, noise.hypot(cold).hypot(apart), since);
        arm.seen = totals.seconds;
        let (plan, belief, experiments) = (arm.plan, arm.belief, arm.samples);
        let incumbent = self.cost().unwrap_or(1e-3);
        let cost = incumbent * belief.mu.exp();
        let saved = (1.0 - belief.mu.exp()) * self.horizon(totals);
        let switch = belief.mu + belief.sigma < -LEAST_SWITCH && saved > 1.0;
        let lost = !switch && !self.arms[index].rejected && self.worth(index, totals).is_none();
        if switch || lost {
            let reason = Reason::Compared {
                plan,
                cost,
                incumbent,
                experiments,
                switch,
            };
            log.push(epoch.number, reason);
        }
        if switch {
            self.switch(index, incumbent);
        } else if lost {
            self.arms[index].rejected = true;
            // Of a structure not far behind, a better grain or dispatch may be the best of all.
            if self.arms[index].leads && belief.mu < CHANGED_SIGMA {
                self.neighbours(index);
            }
        }
        self.calibrate();
    }

    /// Another arm becomes the incumbent, whose cost all beliefs count from.
    fn switch(&mut self, index: usize, cost: f64) {
        let Belief { mu, sigma } = self.arms[index].belief;
        let seen = self.arms[index].seen;
        self.away |= self.is_away(index);
        for arm in &mut self.arms {
            arm.rebase(mu);
        }
        let old = &mut self.arms[self.incumbent];
        (old.belief, old.seen, old.rejected) = (Belief::new(-mu, sigma), seen, true);
        self.arms[index].belief = Belief::new(0.0, 0.01);
        self.incumbent = index;
        self.switches += 1;
        self.level.restart(Some(cost.ln() + mu));
        self.latest = None;
        self.watched.clear();
        self.drift.rebase(mu);
        self.units = 1;
        self.neighbours(index);
    }

    /// Puts units of the incumbent into windows for the drift test: of three at least, or they could be a spike, and
    /// longer in a long stream, since what is over by then is not worth a search.
    fn watch(&mut self, costs: &[f64], totals: &Totals) -> Option<Change> {
        let cost = self.cost()?;
        let length = (totals.seconds / 256.0).min(LONG_BLOCK_S);
        let window = (block_units(cost) as usize)
            .max(3)
            .max((length / cost) as usize);
        let noise = 1.25 * self.level.noise() / (window as f64).sqrt();
        let mut found = None;
        for cost in costs {
            self.watched.push(cost.ln());
            if self.watched.len() >= window {
                let middle = median(&mut self.watched)?;
                found = self.drift.push(middle, noise).or(found);
                self.watched.clear();
            }
        }
        found
    }

    /// The machine has changed: what is believed of others is in doubt, more so of those on other numbers of workers,
    /// which another process may leave alone.
    fn reopen(&mut self, change: Change, (epoch, totals): (&Epoch, &Totals), log: &mut Log) {
        let plan = self.incumbent();
        let (from, to) = (change.from.exp(), change.to.exp());
        log.push(epoch.number, Reason::Drift { plan, from, to });
        self.drifts += 1;
        let stayed = (totals.seconds - self.changed).max(1e-3);
        self.stays = Some(match self.stays {
            Some(stays) => (stays * stayed).sqrt(),
            None => stayed.max(STAYS_S),
        });
        self.changed = totals.seconds;
        self.slowed = change.to > change.from;
        self.level.restart(Some(change.to));
        (self.latest, self.experiment) = (None, None);
        self.watched.clear();
        self.ledger = Ledger {
            lost: 0.0,
            since: totals.seconds,
            ..self.ledger
        };
        self.units = 1;
        self.neighbours(self.incumbent);
        // A structure that lost may have lost because its workers wait for one another.
        for index in 0..self.arms.len() {
            if self.arms[index].leads && self.arms[index].measured {
                add_workers(&mut self.arms, &self.model, index);
            }
        }
        let size = (change.to - change.from).clamp(-1.5, 1.5);
        for (index, arm) in self.arms.iter_mut().enumerate() {
            match arm.plan.workers == plan.workers {
                _ if index == self.incumbent => {}
                true => arm.reopen(0.0, CHANGED_SIGMA),
                false => arm.reopen(-OTHER_WORKERS * size, CHANGED_WORKERS_SIGMA * size.abs()),
            }
        }
    }
}
