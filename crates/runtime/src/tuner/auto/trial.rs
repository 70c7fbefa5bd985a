//! Epochs that measure another plan: how many units, which of them count, and when one is given up.

use std::time::Duration;

use super::super::api::{Epoch, Purpose};
use super::super::arm::Arm;
use super::super::search::{cutoff_ratio, probe_plan};
use super::{Auto, UNKNOWN_UNITS};
use crate::plan::Plan;

/// Time an epoch of a search aims at, and the most units it takes: enough for a median to be sharp, few enough that a
/// slow plan costs little.
const TRIAL_S: f64 = 0.4e-3;
const TRIAL_MOST: f64 = 16.0;
/// Units shorter than this (seconds) get two cold runs instead of one.
const SHORT_UNIT_S: f64 = 0.2e-3;
/// How long a farm or a pipeline of short units takes until all workers are there and each has what it uses again in
/// its own cache (seconds), and that in units: least and most.
const SETTLING_S: f64 = 0.4e-3;
const SETTLING_UNITS: (f64, f64) = (4.0, 64.0);
/// Groups of units abreast until the outer cache holds what lies side by side.
pub(super) const COLD_GROUPS: usize = 4;
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

impl Auto {
    /// The first unit of all is cold and nothing is known; it is run in small jobs and abandoned if it takes far
    /// longer than predicted.
    pub(super) fn first(&mut self, epoch: &mut Epoch) {
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
    pub(super) fn trial(&mut self, epoch: &mut Epoch, index: usize, cost: f64) {
        self.running = Some(index);
        self.trials_in_a_row += 1;
        let arm = &self.arms[index];
        let trial = trial_units(cost);
        let x = arm.belief(self.noise()).mu - self.offset;
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
        epoch.cutoff = limit.map(|limit| match epoch.purpose {
            Purpose::Probe => Duration::from_secs_f64(limit),
            _ => Duration::from_secs_f64(self.patient(limit)),
        });
    }

    /// Units of an arm's next epoch that do not count, or groups of those abreast.
    pub(super) fn cold(&self, index: usize, cost: f64) -> usize {
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
    pub(super) fn settles(&self, plan: &Plan, cost: f64) -> usize {
        if !plan.structure.flows() || cost >= SHORT_UNIT_S {
            return 0;
        }
        let (least, most) = SETTLING_UNITS;
        (SETTLING_S / cost).clamp(least, most) as usize
    }

    /// Units of the incumbent's next epoch that do not count.
    pub(super) fn settling(&self) -> u32 {
        let cost = self.cost().filter(|_| self.away);
        cost.map_or(0, |cost| self.settles(&self.incumbent(), cost) as u32)
    }

    /// A plan of this arm's structure runs.
    pub(super) fn is_warm(&self, index: usize) -> bool {
        self.arms[index].plan.structure == self.incumbent().structure
    }

    /// No plan of this arm's structure was ever run to the end of a unit.
    pub(super) fn new_structure(&self, index: usize) -> bool {
        let structure = self.arms[index].plan.structure;
        let known = |a: &Arm| a.probed.is_some() || a.measured() > 0;
        !self
            .arms
            .iter()
            .any(|a| a.plan.structure == structure && known(a))
    }

    /// Units in work at once: a unit's own time is so many times its share.
    pub(super) fn together(&self, plan: Plan) -> f64 {
        f64::from(self.model.at_once(&plan))
    }
}

/// Units of an epoch of a search.
pub(super) fn trial_units(cost: f64) -> u32 {
    (TRIAL_S / cost.max(1e-9)).clamp(1.0, TRIAL_MOST) as u32
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{arm_of, short};
    use crate::structure::FARM;
    use crate::structure::fixtures::TILED;

    #[test]
    fn first_units_of_a_farm_that_another_structure_interrupted_do_not_count() {
        let mut auto = short();
        auto.incumbent = arm_of(&auto, &FARM);
        assert_eq!(auto.settling(), 0);
        auto.away = true;
        assert_eq!(auto.settling(), 20);
        let tiled = arm_of(&auto, &TILED);
        assert_eq!(auto.cold(tiled, 20e-6), 2);
        auto.incumbent = tiled;
        assert_eq!(auto.settling(), 0);
        let farm = arm_of(&auto, &FARM);
        assert_eq!(auto.cold(farm, 20e-6), 20);
        assert_eq!(auto.cold(farm, 1e-6), 64);
        assert_eq!(auto.cold(farm, 1e-3), 1);
    }
}
