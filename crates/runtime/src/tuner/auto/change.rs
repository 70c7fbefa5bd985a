//! When the machine changes: noticing it, and what is still believed then.

use std::time::Duration;

use crate::plan::Plan;

use super::super::Totals;
use super::super::arm::Noise;
use super::super::decision::{Log, Reason};
use super::super::drift::Change;
use super::super::math::median;
use super::{Auto, seconds};

/// Units in a window of the drift test, and its length as a share of the time gone by, up to so many seconds: what is
/// over sooner than the operating system's next time slice is not worth a search in a stream that has gone on for long.
const WINDOW_LEAST: usize = 16;
const WINDOW_SHARE: f64 = 1.0 / 256.0;
const WINDOW_MOST_S: f64 = 4e-3;

/// Seconds that the machine is expected to stay as it is, after the first change and after any: least.
pub(super) const STAYS_FIRST_S: f64 = 1.0;
const STAYS_LEAST_S: f64 = 5e-3;
/// A machine that stays as it is for less (seconds) changes back before a search has paid for itself.
const RESTLESS_S: f64 = 0.15;

impl Auto {
    /// The measurements in an epoch's costs: those of a group of units that overlap are one. Takes the scratch space.
    pub(super) fn measurements(&mut self, plan: Plan, costs: &[Duration]) -> Vec<f64> {
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.extend(costs.iter().map(|&c| seconds(c)));
        if plan.structure.overlaps() {
            values.dedup();
        }
        values
    }

    /// Puts units of the incumbent into windows for the drift test. A window of fewer than three could be a spike, so
    /// those of short epochs wait for the next.
    pub(super) fn watch(&mut self, costs: &[f64], trial: u32, elapsed: f64) -> Option<Change> {
        let length = (WINDOW_SHARE * elapsed).min(WINDOW_MOST_S);
        let units = self.cost().map_or(0.0, |cost| length / cost);
        let window = (trial as usize).clamp(3, WINDOW_LEAST).max(units as usize);
        let noise = 1.25 * self.level.noise() / (window as f64).sqrt();
        let mut found = None;
        for cost in costs {
            self.watched.push(cost.ln());
            if self.watched.len() >= window {
                if let Some(x) = median(&mut self.watched) {
                    found = self.drift.push(x, noise).or(found);
                }
                self.watched.clear();
            }
        }
        found
    }

    /// The machine has changed: what was known of others is in doubt, the more the more they differ.
    pub(super) fn reopen(&mut self, change: Change, number: u64, totals: &Totals, log: &mut Log) {
        let plan = self.incumbent();
        let (from, to) = (change.from.exp(), change.to.exp());
        self.drifts += 1;
        let stayed = (totals.seconds - self.changed).max(STAYS_LEAST_S);
        let stays = match self.stays {
            Some(stays) => (stays * stayed).sqrt(),
            None => stayed.max(STAYS_FIRST_S),
        };
        let was_restless = self.stays.is_some_and(|stays| stays < RESTLESS_S);
        (self.stays, self.changed) = (Some(stays), totals.seconds);
        self.quiet.get_or_insert(change.from);
        let spread = self.spreads(&plan, totals.seconds);
        let came = self.share(&change, totals.seconds);
        let spreads = !spread && self.spreads(&plan, totals.seconds);
        self.level.restart(Some(change.to));
        self.latest = None;
        self.watched.clear();
        if stays < RESTLESS_S {
            if !was_restless {
                log.push(number, Reason::Restless { plan, from, to });
            }
            return;
        }
        log.push(number, Reason::Drift { plan, from, to });
        if spreads {
            let workers = plan.workers;
            log.push(number, Reason::Spread { workers });
        }
        self.forget_duels();
        self.budget.reopen(totals.seconds);
        self.neighbours(self.incumbent);
        let noise = self.noise();
        let size = (change.to - change.from).clamp(-1.5, 1.5);
        for index in 0..self.arms.len() {
            if index == self.incumbent {
                continue;
            }
            let other = self.arms[index].plan;
            // What hit the incumbent hit most likely all plans on as many workers, and not those on another number: on
            // fewer there is a processor for another process.
            let (part, least): (f64, f64) = if came && other.workers < plan.workers {
                (1.0, 0.25)
            } else if other.workers != plan.workers {
                (0.65, 0.25)
            } else if other.structure != plan.structure && !self.is_best_of_structure(index, noise)
            {
                // If the best has gained, others near that one are looked at then.
                (0.0, 0.04)
            } else if other.dispatch != plan.dispatch || other.grain < plan.grain {
                (0.1, 0.15)
            } else {
                (0.0, 0.12)
            };
            let sigma = least.max(0.5 * part * size.abs());
            self.arms[index].age(noise, -part * size, sigma);
        }
        self.unsettle();
    }

    /// No plan of an arm's structure on as many workers is believed to be faster.
    fn is_best_of_structure(&self, index: usize, noise: Noise) -> bool {
        let alike = |plan: &Plan| (plan.structure, plan.workers);
        let mu = self.arms[index].belief(noise).mu;
        let mut rivals = self
            .arms
            .iter()
            .filter(|arm| alike(&arm.plan) == alike(&self.arms[index].plan));
        rivals.all(|arm| arm.belief(noise).mu >= mu)
    }

    /// A plan that had lost is faster than it was by `shift` (log, negative). Where it runs on another number of
    /// workers than the incumbent, a core was given back, and the other plans on those workers have gained as well.
    pub(super) fn revive(&mut self, index: usize, shift: f64, totals: &Totals) {
        let noise = self.noise();
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

    pub(super) fn unsettle(&mut self) {
        self.settled = false;
        self.settled_tried = 0;
        self.units = 1;
    }
}
