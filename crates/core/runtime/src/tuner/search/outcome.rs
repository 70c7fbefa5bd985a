//! The consequences of an epoch's cost.

use std::time::Duration;

use super::price::{CHANGED_SIGMA, CHANGED_WORKERS_SIGMA};
use super::{CUTOFF, Experiment, LONG_BLOCK_S, Ledger, Search, block_units, grown};
use crate::tuner::api::Epoch;
use crate::tuner::belief::{Belief, median, trimmed};
use crate::tuner::decision::{Change, Log, Time};
use crate::tuner::drift::{Drift, Drifted};
use crate::tuner::{Cut, Totals};

/// A plan takes over when it is faster by so much (log) and one deviation, and saves a unit.
const LEAST_SWITCH: f64 = 0.01;
/// When the machine has changed, plans on other numbers of workers have by this share of it the other way.
const OTHER_WORKERS: f64 = 0.65;

impl Search {
    pub(in super::super) fn record(
        &mut self,
        epoch: &Epoch,
        costs: &[Duration],
        cut: Option<Cut>,
        totals: &Totals,
        log: &mut Log,
    ) {
        let seconds: Vec<f64> = costs
            .iter()
            .map(|cost| cost.as_secs_f64().max(1e-9))
            .collect();
        let other = self
            .experiment
            .filter(|experiment| experiment.other.is_none());
        let index = other.map_or(self.incumbent, |experiment| experiment.arm);
        let warmup = self.warmup(index) as usize;
        let arm = &mut self.arms[index];
        if !std::mem::replace(&mut arm.tried, true) {
            self.tried += 1;
            self.settled = false;
        }
        arm.ran |= !costs.is_empty();
        match (other, cut) {
            (Some(experiment), Some(cut)) => {
                self.record_cut(&experiment, &seconds, cut, (epoch, totals), log);
            }
            (Some(experiment), None) if !seconds.is_empty() => {
                self.record_other(experiment, &seconds, warmup, (epoch, totals), log);
            }
            (None, _) if !seconds.is_empty() => {
                self.record_incumbent(&seconds, warmup, (epoch, totals), log);
            }
            _ => {}
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
        if totals.epochs == 1 {
            // Cold, so good for nothing but a first idea of the cost.
            self.first = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            return self.level.restart(Some(self.first.ln()));
        }
        if !self.started {
            self.level.restart(None);
        }
        let index = self.incumbent;
        let mut measured = self.measured(index, seconds, warmup);
        self.level.take(&measured);
        let Some(cost) = self.cost() else { return };
        if !std::mem::replace(&mut self.started, true) {
            self.cold_s = (self.first - cost).max(0.0) * self.in_work(&epoch.plan);
            self.neighbours(index);
            self.calibrate();
        }
        let block = block_units(cost);
        // What comes back is cold, which is no change of the machine.
        let mut cold = 0;
        if std::mem::take(&mut self.away) {
            let skipped = &seconds[..warmup.min(seconds.len())];
            self.ledger.lose(beyond(skipped, cost));
            cold = measured.len().min(block as usize);
        }
        let change = self.watch(&measured[cold..], totals);
        let group = self.model.footprint(&epoch.plan).group as usize;
        let asked = self
            .experiment
            .map_or(u32::MAX, |experiment| experiment.units) as usize;
        let counted = asked.div_ceil(group).min(measured.len());
        let first = trimmed(&mut measured[..counted].to_vec());
        let from = measured.len() - counted;
        let last = trimmed(&mut measured[from..]);
        match (self.experiment, first) {
            (Some(experiment), Some(after)) => {
                self.judge(&experiment, after, (epoch, totals), log);
            }
            _ => self.units = grown(epoch.units.max(self.units), cost),
        }
        // Unless these units brought another plan to its place.
        if self.incumbent == index {
            self.latest = last.map(|cost| (cost, (counted * group) as u32));
            if let Some(change) = change {
                self.reopen(change, (epoch, totals), log);
            }
        }
    }

    fn record_other(
        &mut self,
        mut experiment: Experiment,
        seconds: &[f64],
        warmup: usize,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        let Some(cost) = self.cost() else { return };
        let index = experiment.arm;
        self.left_incumbent(index);
        self.ledger.lose(beyond(seconds, cost));
        let mut measured = self.measured(index, seconds, warmup);
        let counted = measured.len();
        let Some(other) = trimmed(&mut measured) else {
            return;
        };
        experiment.other = Some((other, counted));
        self.experiment = Some(experiment);
        // So much faster that going back to compare would be a waste.
        if other < experiment.before - CUTOFF.ln() {
            self.judge(&experiment, experiment.before, (epoch, totals), log);
        }
    }

    /// Another plan ran.
    fn left_incumbent(&mut self, index: usize) {
        self.latest = None;
        self.away |= self.is_away(index);
    }

    /// A unit of another plan was given up.
    fn record_cut(
        &mut self,
        experiment: &Experiment,
        seconds: &[f64],
        cut: Cut,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        let Some(cost) = self.cost() else { return };
        let index = experiment.arm;
        self.left_incumbent(index);
        let in_work = self.in_work(&epoch.plan);
        let done_again = cut.redo > 0.0;
        let share = if done_again { 0.0 } else { in_work * cost };
        let wasted = (cut.after - share).max(0.0);
        self.ledger.lose(beyond(seconds, cost) + wasted);
        let arm = &mut self.arms[index];
        arm.give_up(cut.after / (cost * in_work));
        arm.seen = totals.seconds;
        let (plan, after) = (arm.plan, cut.after / in_work);
        let (times, after, cost) = (after / cost, Time(after), Time(cost));
        let text = format!("{plan} cut off after {after}, {times:.1}x the incumbent's {cost}");
        log.push(epoch.number, text);
        self.experiment = None;
    }

    /// The experiment is over: what it says of its plan, and whether that takes over.
    fn judge(
        &mut self,
        experiment: &Experiment,
        after: f64,
        (epoch, totals): (&Epoch, &Totals),
        log: &mut Log,
    ) {
        self.experiment = None;
        let Some((other, counted)) = experiment.other else {
            return;
        };
        let index = experiment.arm;
        let value = other - 0.5 * (experiment.before + after);
        let noise = 1.5 * self.level.noise() / (counted as f64).sqrt();
        let apart = 0.5 * (after - experiment.before);
        let since = self.shift(index) * self.stale(&self.arms[index], totals).sqrt();
        let arm = &mut self.arms[index];
        arm.observe(value, noise.hypot(apart), since);
        arm.seen = totals.seconds;
        let (plan, pinned, Belief { mu, sigma }) = (arm.plan, arm.pinned, arm.belief);
        arm.undecided = if mu.abs() < 2.0 * sigma {
            arm.undecided + 1
        } else {
            0
        };
        let incumbent = self.cost().unwrap_or(1e-3);
        let saved = (1.0 - mu.exp()) * self.remaining(totals);
        let switch = mu + sigma < -LEAST_SWITCH && saved > 1.0;
        let pinned = if pinned { " on CPUs of their own" } else { "" };
        let (cost, change) = (Time(incumbent * mu.exp()), Change(mu.exp()));
        let decided = if switch {
            "switch"
        } else {
            "keep the incumbent"
        };
        let text = format!(
            "{plan}{pinned} measured {cost}, incumbent {}: {change}, {decided}",
            Time(incumbent)
        );
        log.push(epoch.number, text);
        if switch {
            self.switch(index, incumbent);
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
        (old.belief, old.seen, old.measured) = (Belief::new(-mu, sigma), seen, true);
        self.arms[index].belief = Belief::CERTAIN;
        self.incumbent = index;
        self.switches += 1;
        self.settled = false;
        self.level.restart(Some(cost.ln() + mu));
        self.latest = None;
        self.watched.clear();
        self.drift = Drift::default();
        self.units = 1;
        self.neighbours(index);
    }

    /// Puts units of the incumbent into windows for the drift test: of three at least, or they could be a spike, and
    /// longer in a long stream, since what is over by then is not worth a search.
    fn watch(&mut self, costs: &[f64], totals: &Totals) -> Option<Drifted> {
        let cost = self.cost().filter(|_| !self.fixed)?;
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
    fn reopen(&mut self, change: Drifted, (epoch, totals): (&Epoch, &Totals), log: &mut Log) {
        let plan = self.incumbent();
        let (from, to) = (Time(change.from.exp()), Time(change.to.exp()));
        log.push(
            epoch.number,
            format!("{plan} went from {from} to {to}: search again"),
        );
        self.drifts += 1;
        self.settled = false;
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

/// How much longer units took than if each had cost so much, in seconds.
fn beyond(seconds: &[f64], cost: f64) -> f64 {
    seconds.iter().sum::<f64>() - seconds.len() as f64 * cost
}
