//! While another process is there: where workers run, and what units take all along.
//!
//! Left to the operating system, it is on the processor of a worker for some dozen milliseconds; for the next it has one
//! to itself, and the workers share those that are left. Then a plan on fewer workers is as fast as one on all or
//! faster, and before it was far slower: two plans compared in either time say nothing about both.

use super::Auto;
use crate::plan::{Dispatch, Plan};

/// Seconds of units from which on their mean counts.
const ALL_ALONG_S: f64 = 0.1;
/// Seconds after which a process that seems to have gone has gone.
const GONE_S: f64 = 1.0;
/// Seconds of a unit from which on workers keep to processors: a stalled job of a shorter one holds up so many that
/// nothing is gained.
const LONG_S: f64 = 0.15e-3;

/// What incumbents on as many workers as were used then took since a process came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Company {
    workers: u32,
    seconds: f64,
    units: f64,
    /// Units took long when it came.
    long: bool,
    /// When (seconds of the stream) the machine became faster again.
    left: Option<f64>,
}

impl Company {
    /// The process is there, or went a moment ago.
    fn is_here(&self, now: f64) -> bool {
        self.left.is_none_or(|left| now < left + GONE_S)
    }
}

impl Auto {
    /// A process has come, or seems to have gone.
    pub(super) fn keep_company(&mut self, now: f64) {
        let workers = self.incumbent().workers;
        let long = self.cost().is_some_and(|cost| cost > LONG_S);
        match &mut self.company {
            Some(company) if !self.shared => _ = company.left.get_or_insert(now),
            Some(company) if company.is_here(now) => company.left = None,
            company if self.shared => {
                *company = Some(Company {
                    workers,
                    seconds: 0.0,
                    units: 0.0,
                    long,
                    left: None,
                });
            }
            _ => {}
        }
    }

    /// Whether each worker of a plan is to keep to a processor of its own: where all processors have a worker and a
    /// process is there. It is beside one of them then, and never has a processor to itself while two workers share
    /// one, as the operating system would have it by turns. Units have to be long, and the others have to take over
    /// what that worker does not get to; where each has a share of its own, all would wait for it.
    pub(super) fn spreads(&self, plan: &Plan, now: f64) -> bool {
        let here = |company: Company| company.is_here(now) && company.long;
        let here = self.company.is_some_and(here);
        let takes_over = plan.structure.flows() || plan.dispatch == Dispatch::Steal;
        here && takes_over && f64::from(plan.workers) >= self.model.cpus()
    }

    /// Takes units of the incumbent.
    pub(super) fn accompany(&mut self, costs: &[f64]) {
        let workers = self.incumbent().workers;
        if let Some(company) = self.company.as_mut().filter(|c| c.workers == workers) {
            company.seconds += costs.iter().sum::<f64>();
            company.units += costs.len() as f64;
        }
    }

    /// Whether a plan that takes `cost` (log) takes less than incumbents on more workers did all along, as far as is
    /// known.
    pub(super) fn is_less_all_along(&self, plan: &Plan, cost: f64) -> bool {
        let known = self
            .company
            .filter(|c| c.seconds > ALL_ALONG_S && plan.workers < c.workers);
        known.is_none_or(|c| cost < (c.seconds / c.units).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::auto;
    use super::*;
    use crate::structure::FARM;
    use crate::tuner::drift::Change;

    #[test]
    fn a_process_that_is_back_soon_had_not_gone() {
        let mean = |auto: &Auto| auto.company.map(|c| c.seconds / c.units);
        let up = Change { from: 0.0, to: 0.5 };
        let down = Change { from: 0.5, to: 0.0 };
        let mut auto = auto();
        auto.accompany(&[1.0; 8]);
        assert_eq!(mean(&auto), None);
        auto.share(&up, 1.0);
        auto.accompany(&[3.0; 8]);
        auto.share(&down, 2.0);
        auto.accompany(&[1.0; 8]);
        auto.share(&up, 2.9);
        auto.accompany(&[2.0; 8]);
        assert_eq!(mean(&auto), Some(2.0));
        auto.share(&down, 3.0);
        auto.share(&up, 4.1);
        auto.accompany(&[3.0; 8]);
        assert_eq!(mean(&auto), Some(3.0));
    }

    #[test]
    fn workers_keep_to_processors_while_a_process_is_there_and_all_have_one() {
        let mut auto = auto();
        let many = Plan {
            dispatch: Dispatch::Steal,
            ..auto.incumbent()
        };
        let few = Plan { workers: 1, ..many };
        assert!(!auto.spreads(&many, 1.0));
        let came = Change { from: 0.0, to: 0.5 };
        auto.level.restart(Some(20e-6_f64.ln()));
        auto.share(&came, 1.0);
        assert!(!auto.spreads(&many, 1.0));
        auto.company = None;
        auto.level.restart(Some(1e-3_f64.ln()));
        auto.share(&came, 1.0);
        assert!(auto.spreads(&many, 1.0) && !auto.spreads(&few, 1.0));
        let shares = Plan {
            dispatch: Dispatch::Mailbox,
            ..many
        };
        let farm = Plan {
            structure: &FARM,
            ..shares
        };
        assert!(!auto.spreads(&shares, 1.0) && auto.spreads(&farm, 1.0));
        auto.share(&Change { from: 0.5, to: 0.0 }, 2.0);
        assert!(auto.spreads(&many, 2.9) && !auto.spreads(&many, 3.1));
    }

    #[test]
    fn only_fewer_workers_are_measured_by_what_more_took_for_long_enough() {
        let mut auto = auto();
        let many = auto.incumbent();
        let few = Plan { workers: 1, ..many };
        auto.share(&Change { from: 0.0, to: 0.5 }, 1.0);
        auto.accompany(&[1e-3; 90]);
        assert!(auto.is_less_all_along(&few, 2e-3_f64.ln()));
        auto.accompany(&[1e-3; 20]);
        assert!(!auto.is_less_all_along(&few, 1.01e-3_f64.ln()));
        assert!(auto.is_less_all_along(&few, 0.99e-3_f64.ln()));
        assert!(auto.is_less_all_along(&many, 2e-3_f64.ln()));
    }
}
