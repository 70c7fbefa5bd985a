//! What trials of other structures do to the incumbent that runs after them.

use super::super::math::log_median;
use super::Auto;
use super::change::STAYS_FIRST_S;

/// What trials of other structures do to the incumbent that runs after them.
#[derive(Debug, Default)]
pub(super) struct Chill {
    /// Units of the incumbent since.
    since: u32,
    /// Its cost (log) when nothing had run before it for long.
    pub(super) warm: Option<f64>,
    /// Units lost since.
    lost: f64,
    /// Units that the latest trials lost in this way.
    usual: f64,
    /// The trial was a look at a plan that had lost before.
    recheck: bool,
}

impl Auto {
    /// Units that a trial of an arm is expected to lose after it is over.
    pub(super) fn aftermath(&self, index: usize) -> f64 {
        let other = self.arms[index].plan.structure != self.incumbent().structure;
        if other { self.chill.usual } else { 0.0 }
    }

    /// Units lost where workers wait for one another before the plan changes, to an arm's and back: half of what is in
    /// work but one, which costs do not show. A search that has long to pay for itself is not held up by that.
    pub(super) fn drained(&self, index: usize) -> f64 {
        let plans = [self.arms[index].plan, self.incumbent()];
        let long = self.stays.is_none_or(|stays| stays >= STAYS_FIRST_S);
        if long || plans[0] == plans[1] {
            return 0.0;
        }
        let flowing = plans.iter().filter(|plan| plan.structure.flows());
        let waits = flowing.map(|plan| 0.5 * f64::from(self.model.at_once(plan) - 1));
        waits.sum()
    }

    /// Another structure ran.
    pub(super) fn chilled(&mut self, recheck: bool) {
        let chill = &mut self.chill;
        if chill.since > 0 {
            chill.usual += 0.5 * (chill.lost - chill.usual);
        }
        (chill.since, chill.lost, chill.recheck) = (0, 0.0, recheck);
    }

    /// Takes units of the incumbent. How many of them warmed up, and say nothing about the machine.
    pub(super) fn warms(&mut self, costs: &[f64]) -> usize {
        let Some(units) = self.model.warm(&self.incumbent()) else {
            return 0;
        };
        let cold = (units.saturating_sub(self.chill.since) as usize).min(costs.len());
        self.chill.since = self.chill.since.saturating_add(costs.len() as u32);
        if let Some(warm) = self.chill.warm.map(f64::exp) {
            let noise = 2.0 * self.level.noise();
            let excess = |cost: &f64| (cost / warm - 1.0 - noise).clamp(0.0, 1.0);
            let group = f64::from(self.model.group(&self.incumbent()));
            let lost = group * costs[..cold].iter().map(excess).sum::<f64>();
            self.chill.lost += lost;
            self.budget.lose(lost * warm);
            if self.chill.recheck {
                self.recheck_lost += lost * warm;
            }
        }
        if self.chill.since >= units && costs.len() > cold {
            self.chill.warm = log_median(&costs[cold..]);
        }
        cold
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::decision::Log;
    use super::super::super::model::Model;
    use super::super::Auto;
    use super::super::fixtures::{abreast, auto};
    use crate::structure::fixtures::GROUPED;

    #[test]
    fn another_structure_begins_cold_in_its_predecessors_place() {
        let mut auto = auto();
        let units = auto.model.warm(&auto.incumbent()).unwrap() as usize;
        let costs = vec![1e-3; units + 4];
        assert_eq!(auto.warms(&costs), units);
        assert_eq!(auto.warms(&costs), 0);
        let here = auto.incumbent().structure;
        let other = auto.arms.iter().position(|a| a.plan.structure != here);
        auto.switch(other.unwrap(), -0.2, -0.2, 3, 1e-3);
        assert_eq!(auto.warms(&costs), units);
    }

    #[test]
    fn what_a_cold_group_loses_is_lost_by_each_of_its_units() {
        let setup = abreast();
        let model = Model::new(&setup).unwrap();
        let mut auto = Auto::new(model, &setup, &mut Log::new()).unwrap();
        assert_eq!(auto.incumbent().structure, &GROUPED);
        auto.chill.warm = Some(1e-3_f64.ln());
        assert_eq!(auto.warms(&[2e-3; 3]), 3);
        let lost = 24.0 * (1.0 - 2.0 * auto.level.noise());
        assert!((auto.chill.lost - lost).abs() < 1e-9, "{}", auto.chill.lost);
    }
}
