//! The state machine behind `Choice::Auto`: what the next epoch does.

mod change;
mod chill;
mod choose;
mod company;
mod duel;
#[cfg(test)]
mod fixtures;
mod outcome;
mod pair;
mod shared;
mod trial;

use std::time::Duration;

use crate::plan::Plan;

use self::chill::Chill;
use self::company::Company;
use self::duel::{Bias, Duel};
use self::pair::Pair;
use self::trial::trial_units;
use super::Totals;
use super::api::{Epoch, Gain, Purpose, SetupError, Summary, TunerSetup};
use super::arm::{Arm, Belief, Noise, Step};
use super::budget::Budget;
use super::decision::{Log, Reason};
use super::drift::Drift;
use super::level::Level;
use super::model::Model;
use super::scatter::Scatter;
use super::search::{Outlook, REMEMBERED_SIGMA, STRUCTURE_SIGMA, add_neighbours, add_structures};
use crate::structure::SEQUENTIAL;

/// Trials between two epochs of the incumbent.
const TRIALS_IN_A_ROW: u32 = 2;
/// Epochs of a settled incumbent need not be shorter than that (seconds), however near the end is.
const LAST_EPOCHS_S: f64 = 3e-3;
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
    scatter: Scatter,
    /// The incumbent's cost (log) in the latest units of its latest epoch.
    latest: Option<f64>,
    pairs: Vec<Pair>,
    duel: Option<Duel>,
    duels: u32,
    /// Seconds that duels have cost, since the machine changed, where the incumbent was faster.
    duels_lost: f64,
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
    /// How many times as long as predicted that took where it was most.
    memory_takes: f64,
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
    /// The incumbent is there because the first plan was cut off; nobody chose it.
    fell_back: bool,
    switches: u32,
    drifts: u32,
    /// Seconds of the stream at the latest change of the machine, and how long it stays as it is, once it has changed.
    changed: f64,
    stays: Option<f64>,
    /// What the incumbent would cost (log) had the machine not changed, once it has.
    quiet: Option<f64>,
    /// The machine has become slower: another process has one of its processors for some of the time.
    shared: bool,
    /// What units took since one came.
    company: Option<Company>,
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
            scatter: Scatter::new(),
            latest: None,
            pairs: Vec::with_capacity(TRIALS_IN_A_ROW as usize),
            duel: None,
            duels: 0,
            duels_lost: 0.0,
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
            memory_takes: 1.0,
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
            fell_back: false,
            switches: 0,
            drifts: 0,
            changed: 0.0,
            stays: None,
            quiet: None,
            shared: false,
            company: None,
            tried: 0,
            scratch: Vec::with_capacity(256),
        })
    }

    pub(super) fn incumbent(&self) -> Plan {
        self.arms[self.incumbent].plan
    }

    /// What the next epoch does.
    pub(super) fn next(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Epoch {
        let epoch = self.choose(number, totals, log);
        Epoch {
            spread: self.spreads(&epoch.plan, totals.seconds),
            ..epoch
        }
    }

    fn choose(&mut self, number: u64, totals: &Totals, log: &mut Log) -> Epoch {
        let plan = self.incumbent();
        self.running = None;
        let mut epoch = Epoch {
            number,
            plan,
            units: 1,
            cutoff: None,
            fallback: plan,
            spread: false,
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
                    if self.goes_on_end(index, totals) {
                        let units = self.side(&plan, totals).unwrap_or(trial);
                        epoch.units = self.model.epoch_units(&plan, units);
                        return epoch;
                    }
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
        let most = (self.remaining(totals) / 8.0)
            .max(LAST_EPOCHS_S / cost)
            .max(1.0) as u32;
        epoch.units = self
            .model
            .epoch_units(&plan, self.units.min(most).max(trial + self.settling()));
        epoch
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
        // Some containers count fewer frames than they have.
        match self
            .length
            .and_then(|length| length.checked_sub(totals.units))
        {
            Some(rest) if rest > 0 => rest as f64,
            _ => totals.units.max(UNKNOWN_UNITS) as f64,
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

    fn noise(&self) -> Noise {
        Noise {
            unit: self.level.noise(),
            sample: self.scatter.deviation(),
        }
    }

    fn outlook(&self, totals: &Totals) -> Outlook {
        Outlook {
            offset: self.offset,
            noise: self.noise(),
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
            self.arms[index].belief(self.noise())
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
        let noise = self.noise();
        if self.incumbent().structure == &SEQUENTIAL {
            return Some(Gain {
                factor: 1.0,
                measured: true,
            });
        }
        // What was measured before a change of the machine counts: what is believed now follows from it.
        let measured = self
            .arms
            .iter()
            .filter(|a| a.plan.structure == &SEQUENTIAL && a.known)
            .map(|a| a.belief(noise).mu)
            .min_by(f64::total_cmp);
        if let Some(mu) = measured {
            return Some(Gain {
                factor: (mu - self.offset).exp(),
                measured: true,
            });
        }
        self.model.shape(&SEQUENTIAL)?;
        let sequential = self.model.seconds(&self.model.best_plan(&SEQUENTIAL));
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

/// Never zero, so that there is a logarithm.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::fixtures::short;
    use super::*;

    #[test]
    fn epochs_are_short_before_the_end_but_not_so_short_that_they_cost_more_than_they_could_save() {
        let units = |gone: u64| {
            let mut auto = short();
            auto.arms.truncate(1);
            auto.started = true;
            auto.level.take(&[20e-6; 32], 32);
            auto.units = 2500;
            let totals = Totals {
                units: gone,
                seconds: gone as f64 * 20e-6,
                ..Totals::default()
            };
            auto.next(99, &totals, &mut Log::new()).units
        };
        assert_eq!([1000, 2900].map(units), [250, 150]);
    }
}
