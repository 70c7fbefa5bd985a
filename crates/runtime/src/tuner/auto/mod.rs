//! The state machine behind `Choice::Auto`: what the next epoch does.

mod change;
mod choose;
mod duel;
mod outcome;
mod pair;

use std::time::Duration;

use crate::plan::{Plan, Structure};

use self::duel::{Bias, Chill, Duel};
use self::pair::Pair;
use super::Totals;
use super::api::{Epoch, Gain, Purpose, SetupError, Summary, TunerSetup};
use super::arm::{Arm, Belief, Step};
use super::budget::Budget;
use super::decision::{Log, Reason};
use super::drift::Drift;
use super::level::Level;
use super::model::Model;
use super::search::{
    Outlook, REMEMBERED_SIGMA, STRUCTURE_SIGMA, add_neighbours, add_structures, cutoff_ratio,
    probe_plan,
};

/// Time an epoch of a search aims at, and the most units it takes: enough for a median to be sharp, few enough that a
/// slow plan costs little.
const TRIAL_S: f64 = 0.4e-3;
const TRIAL_MOST: f64 = 16.0;
/// Units shorter than this (seconds) get two cold runs instead of one.
const SHORT_UNIT_S: f64 = 0.2e-3;
/// How long a farm or a pipeline of short units takes until all workers are there and each has what it uses again in its own
/// cache (seconds), and that in units: least and most.
const SETTLING_S: f64 = 0.4e-3;
const SETTLING_UNITS: (f64, f64) = (8.0, 64.0);
/// Groups of units abreast until the outer cache holds what lies side by side.
const COLD_GROUPS: usize = 4;
/// Least cutoff in seconds: below, a timer interrupt would look like a hopeless plan.
const CUTOFF_LEAST_S: f64 = 30e-6;
/// The first unit of a structure may take this many times the incumbent's cost, and so many seconds more at least: it
/// pays for the structure's private memory.
const PROBE_CUTOFF: f64 = 2.0;
const PROBE_CUTOFF_LEAST_S: f64 = 100e-6;
/// The very first unit may take this many times the predicted cost, and at least this share of the stream, within
/// limits in seconds: it pays for threads that wake and memory that is touched.
const FIRST_CUTOFF: f64 = 5.0;
const FIRST_CUTOFF_SHARE: f64 = 0.006;
const FIRST_CUTOFF_LEAST_S: f64 = 0.5e-3;
const FIRST_CUTOFF_MOST_S: f64 = 10e-3;
/// Trials between two epochs of the incumbent.
const TRIALS_IN_A_ROW: u32 = 2;
/// A stream of unknown length is expected to go on as long as it has gone on, and at least for so many units.
const UNKNOWN_UNITS: u64 = 300;

/// The search and what it knows.
#[derive(Debug)]
pub(super) struct Auto {
    model: Model,
    length: Option<u64>,
    arms: Vec<Arm>,
    incumbent: usize,
    /// Logarithm of the incumbent's cost as arms count.
    offset: f64,
    /// Deviation of the logarithm of measured over predicted cost, from one structure to another.
    structure_sigma: f64,
    level: Level,
    /// The incumbent's cost (log) in the latest units of its latest epoch.
    latest: Option<f64>,
    pairs: Vec<Pair>,
    duel: Option<Duel>,
    duels: u32,
    /// Another structure ran after the incumbent's latest epoch.
    away: bool,
    biases: Vec<Bias>,
    chill: Chill,
    drift: Drift,
    /// Units of the incumbent (log) that do not make a window of the drift test yet.
    watched: Vec<f64>,
    budget: Budget,
    running: Option<usize>,
    /// Seconds to make a buffer for input and one for output.
    pair_s: f64,
    /// Units that can be in work at once without more of them.
    in_work: u32,
    /// Seconds that making memory for the epoch that runs took.
    preparation: f64,
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
    /// Seconds of the stream at the latest change of the machine, and how long it stays as it is, once it has changed.
    changed: f64,
    stays: Option<f64>,
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
        let trusted = setup.remembered == Some(start);
        let structure_sigma = if trusted {
            REMEMBERED_SIGMA
        } else {
            STRUCTURE_SIGMA
        };
        add_structures(&mut arms, &model, structure_sigma);
        let fallback = arms
            .iter()
            .skip(1)
            .filter(|a| a.plan.structure != start.structure && !a.plan.structure.overlaps())
            .min_by(|a, b| a.prior.mu.total_cmp(&b.prior.mu))
            .map_or(start, |a| a.plan);
        Ok(Auto {
            model,
            length: setup.units,
            arms,
            incumbent: 0,
            offset: 0.0,
            structure_sigma,
            level: Level::new(),
            latest: None,
            pairs: Vec::with_capacity(TRIALS_IN_A_ROW as usize),
            duel: None,
            duels: 0,
            away: false,
            biases: Vec::new(),
            chill: Chill::default(),
            drift: Drift::new(),
            watched: Vec::with_capacity(16),
            budget: Budget::default(),
            running: None,
            pair_s: 0.0,
            in_work: 1,
            preparation: 0.0,
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
            changed: 0.0,
            stays: None,
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
        if let Some(duel) = &self.duel {
            if let Some(index) = Self::turn(duel) {
                self.trial(&mut epoch, index, cost);
            }
            let units = self.side(&epoch.plan, totals).unwrap_or(trial);
            epoch.units = self.model.epoch_units(&epoch.plan, units);
            return epoch;
        }
        if self.level.len() < 2.max(trial as usize / 2) || self.trials_in_a_row >= TRIALS_IN_A_ROW {
            epoch.units = self.model.epoch_units(&plan, trial + self.settling());
            return epoch;
        }
        self.since_recheck += u32::from(self.settled || self.pairs.is_empty());
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
                if !self.pairs.is_empty() && !self.settled {
                    epoch.units = self.model.epoch_units(&plan, trial + self.settling());
                    return epoch;
                }
                self.settle(number, cost, log);
                again = self.recheck(totals, cost);
            }
            if let Some(index) = again {
                self.trial(&mut epoch, index, cost);
                if epoch.purpose == Purpose::Trial {
                    epoch.purpose = Purpose::Recheck;
                }
                return epoch;
            }
        }
        // The end of a stream is never far for a plan that went wrong in the middle of an epoch.
        let most = (self.remaining(totals) / 8.0).max(1.0) as u32;
        epoch.units = self
            .model
            .epoch_units(&plan, self.units.min(most).max(trial + self.settling()));
        epoch
    }

    /// The first unit of all is cold and nothing is known; it is run in small jobs and abandoned if it takes far
    /// longer than predicted.
    fn first(&mut self, epoch: &mut Epoch) {
        let plan = epoch.plan;
        epoch.plan = probe_plan(&self.model, plan);
        epoch.purpose = Purpose::Probe;
        epoch.units = self.model.epoch_units(&plan, 1);
        if self.fallback != plan {
            let predicted = self.model.seconds(&plan);
            let stream = predicted * self.length.unwrap_or(UNKNOWN_UNITS) as f64;
            let least =
                (FIRST_CUTOFF_SHARE * stream).clamp(FIRST_CUTOFF_LEAST_S, FIRST_CUTOFF_MOST_S);
            let limit = FIRST_CUTOFF * predicted * self.together(plan);
            epoch.cutoff = Some(Duration::from_secs_f64(limit.clamp(least, 1e6)));
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
            epoch.units = first + self.cold(index, cost) as u32 * self.model.group(&arm.plan);
            cutoff_ratio(arm, x).map(|ratio| (ratio * cost).max(cost + CUTOFF_LEAST_S))
        };
        epoch.units = self.model.epoch_units(&arm.plan, epoch.units);
        let together = self.together(arm.plan);
        if together > 1.0 {
            // Nothing is abandoned, so the limit need not be below what a spike may take; it only ends the epoch.
            epoch.cutoff = Some(Duration::from_secs_f64(12.0 * cost * together));
            return;
        }
        epoch.cutoff = limit.map(Duration::from_secs_f64);
    }

    /// Units of an arm's next epoch that do not count, or groups of those abreast.
    fn cold(&self, index: usize, cost: f64) -> usize {
        if self.model.group(&self.arms[index].plan) > 1 {
            return if self.is_warm(index) { 1 } else { COLD_GROUPS };
        }
        let first = match (self.arms[index].runs, cost < SHORT_UNIT_S) {
            (0, true) => 2,
            (0, false) | (_, true) => 1,
            (_, false) => 0,
        };
        let settles = self.settles(&self.arms[index].plan, cost);
        if self.is_warm(index) {
            first
        } else {
            first.max(settles)
        }
    }

    /// Units under a plan that do not count after another structure ran.
    fn settles(&self, plan: &Plan, cost: f64) -> usize {
        if !plan.structure.flows() || cost >= SHORT_UNIT_S {
            return 0;
        }
        let (least, most) = SETTLING_UNITS;
        (SETTLING_S / cost).clamp(least, most) as usize
    }

    /// Units of the incumbent's next epoch that do not count.
    fn settling(&self) -> u32 {
        let cost = self.cost().filter(|_| self.away);
        cost.map_or(0, |cost| self.settles(&self.incumbent(), cost) as u32)
    }

    /// A plan of this arm's structure runs.
    fn is_warm(&self, index: usize) -> bool {
        self.arms[index].plan.structure == self.incumbent().structure
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

    /// Units in work at once: a unit's own time is so many times its share.
    fn together(&self, plan: Plan) -> f64 {
        f64::from(self.model.at_once(&plan))
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

    /// Units for which what is found out now is expected to hold: those to come before the machine changes again. The
    /// longer it has not, the longer it will not.
    fn horizon(&self, totals: &Totals) -> f64 {
        let remaining = self.remaining(totals);
        let stays = self.stays.map(|s| s.max(totals.seconds - self.changed));
        match (stays, self.cost()) {
            (Some(stays), Some(cost)) => remaining.min(stays / cost),
            _ => remaining,
        }
    }

    fn outlook(&self, totals: &Totals) -> Outlook {
        Outlook {
            offset: self.offset,
            noise: self.level.noise(),
            remaining: self.horizon(totals),
            trial: trial_units(self.cost().unwrap_or(1e-3)),
        }
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
        // What was measured before a change of the machine counts: what is believed now follows from it.
        let measured = self
            .arms
            .iter()
            .filter(|a| a.plan.structure == Structure::Sequential && a.known)
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
        // A speed-up of more than there are cpus would have to be seen to be believed.
        Some(Gain {
            factor: factor.min(self.model.cpus()),
            measured: false,
        })
    }
}

/// The structure that the model likes best; one that has several units in work only if there is no other.
fn safest_best(model: &Model) -> Option<Plan> {
    let plans = || model.structures().map(|s| model.best_plan(s));
    let least = |a: &Plan, b: &Plan| model.seconds(a).total_cmp(&model.seconds(b));
    plans()
        .filter(|p| !p.structure.overlaps())
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
