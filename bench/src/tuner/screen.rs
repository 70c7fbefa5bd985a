//! Selects the fixed plans that are worth whole streams.

use evener_runtime::structure::FARM;
use evener_runtime::{Dispatch, Plan};
use serde::Serialize;

use super::stream::Bench;
use crate::error::Error;

/// A plan is left out if it costs more than this many times the best.
const NEAR: f64 = 1.5;
/// The same for the first estimate, when caches are cold.
const HOPELESS: f64 = 4.0;
/// Units of the first estimate of a plan, or groups of units that are computed together.
const FEW: u64 = 3;
/// Length of the second estimate, in seconds.
const LOOK_S: f64 = 0.04;
/// Times that the second estimate is made, in turns. The best counts, since other processes may disturb some.
const LOOKS: usize = 4;

/// A plan that was left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The plan.
    pub plan: Plan,
    /// Its time per unit as a multiple of the best plan's, from few frames.
    pub times_the_best: f64,
}

/// Plans that are near the best, the best first, and those that are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Screened {
    pub(super) near: Vec<Plan>,
    pub(super) left_out: Vec<LeftOut>,
    /// Seconds of a unit under the best, about.
    pub(super) best_s: f64,
}

/// Every structure with every dispatch flavour, in the service's default grain, on each of these numbers of workers.
pub(super) fn candidates(bench: &Bench<'_>, workers: &[u32]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for &workers in workers {
        for shape in &bench.shapes {
            // A single worker needs no dispatch, and a farm of one worker is `tiled`.
            let dispatches = match workers {
                1 if shape.structure == &FARM => &[],
                1 => &Dispatch::ALL[..1],
                _ => &Dispatch::ALL[..],
            };
            let plan = |&dispatch| bench.plan(shape.structure, dispatch, workers);
            plans.extend(dispatches.iter().filter_map(plan));
        }
    }
    plans
}

/// Finds the plans that cost at most [`NEAR`] times the best, from streams of at most `most` frames.
pub(super) fn screen(bench: &Bench<'_>, plans: Vec<Plan>, most: u64) -> Result<Screened, Error> {
    let mut costs = Vec::with_capacity(plans.len());
    for plan in plans {
        let run = bench.estimate(&plan, few(bench, &plan).min(most))?;
        costs.push((plan, run.seconds.into_iter().fold(f64::INFINITY, f64::min)));
    }
    let mut screened = Screened::default();
    let costs = screened.keep(costs, HOPELESS);
    let mut looks: Vec<(Plan, f64)> = costs.iter().map(|c| (c.0, f64::INFINITY)).collect();
    for _ in 0..LOOKS {
        for (look, (plan, cost)) in looks.iter_mut().zip(&costs) {
            let frames = (LOOK_S / cost.max(1e-7)) as u64;
            let few = few(bench, plan);
            let run = bench.estimate(plan, frames.clamp(few, most.max(few)))?;
            let warm = &run.seconds[run.seconds.len() / 2..];
            look.1 = look.1.min(warm.iter().sum::<f64>() / warm.len() as f64);
        }
    }
    screened.near = screened.keep(looks, NEAR).iter().map(|c| c.0).collect();
    Ok(screened)
}

/// Frames of the first estimate of a plan.
fn few(bench: &Bench<'_>, plan: &Plan) -> u64 {
    let shape = bench.shapes.iter().find(|s| s.structure == plan.structure);
    FEW * shape.map_or(1, |shape| u64::from(shape.units))
}

impl Screened {
    /// Leaves out the plans that cost more than `limit` times the best. Returns the others, the best first.
    fn keep(&mut self, mut costs: Vec<(Plan, f64)>, limit: f64) -> Vec<(Plan, f64)> {
        costs.sort_by(|a, b| a.1.total_cmp(&b.1));
        let best = costs.first().map_or(f64::INFINITY, |c| c.1);
        self.best_s = best;
        let (near, far): (Vec<_>, Vec<_>) = costs.into_iter().partition(|c| c.1 <= limit * best);
        self.left_out
            .extend(far.into_iter().map(|(plan, cost)| LeftOut {
                plan,
                times_the_best: cost / best,
            }));
        near
    }
}

#[cfg(test)]
mod tests {
    use evener_image::structures::TILED;

    use super::*;

    #[test]
    fn plans_far_from_the_best_are_left_out_and_named() {
        let plan = |grain| Plan {
            structure: &TILED,
            dispatch: Dispatch::Fifo,
            grain,
            workers: 2,
            devices: 0,
        };
        let mut screened = Screened::default();
        let costs = vec![(plan(1), 3.0), (plan(2), 2.0), (plan(3), 3.1)];
        let kept = screened.keep(costs, 1.5);
        assert_eq!(kept, [(plan(2), 2.0), (plan(1), 3.0)]);
        assert_eq!(screened.best_s, 2.0);
        let far = LeftOut {
            plan: plan(3),
            times_the_best: 1.55,
        };
        assert_eq!(screened.left_out, [far]);
    }
}
