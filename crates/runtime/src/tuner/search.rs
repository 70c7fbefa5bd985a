//! Which plans are looked at, and what looking at one is worth.
//!
//! Structures compete as arms of a bandit whose index is the expected improvement over the rest of the stream less the
//! expected price of trying. Dispatch, grain and workers are searched around plans that have proved good, one step at
//! a time: another dispatch, half or twice the grain, half or twice or one more or one fewer workers.

use crate::plan::Plan;

use super::arm::{Arm, Belief, Noise, Step};
use super::math::{expected_improvement, normal_cdf};
use super::model::Model;

/// Plans considered at all; a search never gets near it.
const MOST_ARMS: usize = 64;
/// Deviation of the logarithm of measured over predicted cost, from one structure to another.
pub(super) const STRUCTURE_SIGMA: f64 = 0.65;
/// The same when one of them won on an earlier day.
pub(super) const REMEMBERED_SIGMA: f64 = 0.4;
/// How much a step changes the cost beyond what the model predicts, and how much more where handing out jobs is what
/// the time goes to.
const DISPATCH_SIGMA: (f64, f64) = (0.03, 0.4);
const GRAIN_SIGMA: (f64, f64) = (0.05, 0.4);
const WORKERS_SIGMA: (f64, f64) = (0.15, 0.4);
/// The same where others compute on the workers' processors.
const CROWDED_SIGMA: (f64, f64) = (0.5, 0.4);
/// A structure that is slower by so much (log) than predicted may be faster on fewer workers.
const SLOWER_THAN_PREDICTED: f64 = 0.2;
/// Expected improvements below this share of the cost are not worth a measurement.
const LEAST_GAIN: f64 = 0.002;
/// Measurements of one plan in one search; one that is still undecided then is as good as the incumbent.
const ENOUGH: u32 = 8;
/// One that looks faster by so much (log) gets twice as many.
const PROMISING: f64 = -0.01;
/// What the first unit under a structure, and under another plan of one, costs beside its time, in units.
const COLD_STRUCTURE: f64 = 0.6;
const COLD_STEP: f64 = 0.15;

/// Adds the default plan of every structure that `arms` does not have yet. The first arm is where the search starts.
pub(super) fn add_structures(arms: &mut Vec<Arm>, model: &Model, sigma: f64) {
    let start = arms[0].plan;
    for structure in model.structures() {
        let plan = model.best_plan(structure);
        let mu = (model.seconds(&plan) / model.seconds(&start)).ln();
        add(arms, plan, Step::Structure, Belief { mu, sigma });
    }
}

/// Adds the plans one step away from arm `base`, whose belief they start from.
pub(super) fn add_neighbours(arms: &mut Vec<Arm>, model: &Model, base: usize, belief: Belief) {
    let from = arms[base].plan;
    let mut step = |plan: Plan, step: Step, (least, overhead): (f64, f64)| {
        let predicted = (model.seconds(&plan) / model.seconds(&from)).ln();
        let share = model.overhead(&from).max(model.overhead(&plan));
        let sigma = least + overhead * share;
        let sigma = (sigma * sigma + belief.sigma * belief.sigma).sqrt();
        add(
            arms,
            plan,
            step,
            Belief {
                mu: belief.mu + predicted,
                sigma,
            },
        );
    };
    if from.workers > 1 && !from.structure.overlaps() {
        for &dispatch in model.dispatches() {
            step(Plan { dispatch, ..from }, Step::Dispatch, DISPATCH_SIGMA);
        }
    }
    let (least, most) = model.grains(from.structure, from.workers);
    // One job for each worker divides a pass evenly, which no step of two need come near.
    for grain in [from.grain / 2, from.grain.saturating_mul(2), most] {
        let grain = grain.clamp(least, most);
        step(Plan { grain, ..from }, Step::Grain, GRAIN_SIGMA);
    }
    if !model.pinned_workers() {
        let w = from.workers;
        let sigma = if model.crowded() {
            CROWDED_SIGMA
        } else {
            WORKERS_SIGMA
        };
        for workers in [w / 2, w - 1, w + 1, w.saturating_mul(2), 1, model.workers()] {
            let workers = workers.clamp(model.least_workers(from.structure), model.workers());
            // One worker alone is handed nothing: all dispatches are the same to it.
            let dispatch = if workers == 1 {
                model.dispatch(from.structure)
            } else {
                from.dispatch
            };
            let (least, most) = model.grains(from.structure, workers);
            let same = from.grain.clamp(least, most);
            let own = model.default_plan(from.structure, workers).grain;
            let plan = |grain| Plan {
                workers,
                grain,
                dispatch,
                ..from
            };
            let better = 0.97 * model.seconds(&plan(same)) > model.seconds(&plan(own));
            step(plan(if better { own } else { same }), Step::Workers, sigma);
        }
    }
}

/// Adds the plans of arm `base` on half its workers and on one, for a structure that beside the incumbent, whose cost
/// (log) is `offset`, is slower than predicted. Either it is so on any number of workers, or workers keep one another
/// from going faster, as where one needs what lies in another's cache and the host has their processors far apart. That
/// cannot be told apart but by running it, so the truth is somewhere between.
pub(super) fn add_fewer(
    arms: &mut Vec<Arm>,
    model: &Model,
    base: usize,
    (incumbent, offset): (Plan, f64),
    mu: f64,
) {
    let from = arms[base].plan;
    let predicted = |plan: &Plan| (model.seconds(plan) / model.seconds(&incumbent)).ln();
    let beyond = mu - offset - predicted(&from);
    if beyond < SLOWER_THAN_PREDICTED || model.pinned_workers() {
        return;
    }
    let least = model.least_workers(from.structure);
    for workers in [from.workers / 2, 1] {
        if !(least..from.workers).contains(&workers) {
            continue;
        }
        let plan = model.default_plan(from.structure, workers);
        let prior = Belief {
            mu: offset + predicted(&plan) + 0.5 * beyond,
            sigma: 0.5 * beyond,
        };
        match arms.iter_mut().find(|arm| is_near(&arm.plan, &plan)) {
            Some(arm) if arm.runs == 0 => arm.prior = prior,
            Some(_) => {}
            None => add(arms, plan, Step::Workers, prior),
        }
    }
}

/// Adds an arm unless its plan is there already, or one that differs by a little of grain.
fn add(arms: &mut Vec<Arm>, plan: Plan, step: Step, prior: Belief) {
    if arms.len() < MOST_ARMS && !arms.iter().any(|arm| is_near(&arm.plan, &plan)) {
        arms.push(Arm::new(plan, step, prior));
    }
}

/// Two plans differ by a little of grain at most.
fn is_near(a: &Plan, b: &Plan) -> bool {
    let (less, more) = (a.grain.min(b.grain), a.grain.max(b.grain));
    let grain = a.grain;
    *a == Plan { grain, ..*b } && f64::from(more) < 1.25 * f64::from(less)
}

/// What the search knows when it values an arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Logarithm of the incumbent's cost, as arms count.
    pub(super) offset: f64,
    pub(super) noise: Noise,
    /// Units expected to follow.
    pub(super) remaining: f64,
    /// Units of a trial epoch.
    pub(super) trial: u32,
}

/// The value of one more measurement of an arm, in units of time the incumbent takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth {
    /// Expected saving over the rest of the stream.
    pub(super) gain: f64,
    /// Expected loss by measuring.
    pub(super) loss: f64,
    /// The plan's cost as a multiple of the incumbent's, as believed.
    pub(super) ratio: f64,
}

impl Worth {
    pub(super) fn net(&self) -> f64 {
        self.gain - self.loss
    }

    /// What is tried first: the most saved for the time put at risk, because that time is what runs out.
    pub(super) fn score(&self) -> f64 {
        self.net() / (self.loss + 2.0)
    }
}

/// Values an arm; `None` when it is certainly not worth a measurement.
pub(super) fn worth(model: &Model, arm: &Arm, outlook: &Outlook) -> Option<Worth> {
    let belief = arm.belief(outlook.noise);
    let x = belief.mu - outlook.offset;
    if arm.round >= if x < PROMISING { 2 * ENOUGH } else { ENOUGH } {
        return None;
    }
    let fluke = arm.fluke(outlook.noise.unit);
    let hoped = expected_improvement(arm.prior.mu - outlook.offset, arm.prior.sigma);
    let improvement = expected_improvement(x, belief.sigma).max(fluke * hoped);
    if improvement < LEAST_GAIN {
        return None;
    }
    let epochs = if arm.measured() == 0 { 1.5 } else { 1.0 };
    let units = epochs * f64::from(model.epoch_units(&arm.plan, outlook.trial));
    let mut mean = (x + 0.5 * belief.sigma * belief.sigma).exp();
    let cutoff = cutoff_ratio(arm, x).unwrap_or(f64::INFINITY);
    mean = mean.min(cutoff.min(4.0));
    // A unit that is cut off is lost from its begin: the incumbent does it again.
    let lost = normal_cdf((x - cutoff.ln()) / belief.sigma.max(1e-9));
    let cold = match (arm.runs, arm.step) {
        (0, Step::Structure) => COLD_STRUCTURE,
        (0, _) => COLD_STEP,
        _ => 0.0,
    };
    Some(Worth {
        gain: improvement * (outlook.remaining - 2.0 * units).max(0.0),
        loss: (mean - 1.0).max(0.0) * units + lost + cold,
        ratio: x.exp(),
    })
}

/// How many times the incumbent's cost a warm unit under trial may take; `x` is the logarithm of what it should take.
/// A plan that was measured and is not much slower has no limit: a spike costs less than a second attempt.
pub(super) fn cutoff_ratio(arm: &Arm, x: f64) -> Option<f64> {
    match (arm.measured(), arm.step) {
        (0, Step::Structure | Step::Start) => Some(2.2),
        (0, _) => Some((2.0 * x.exp()).clamp(3.0, 6.0)),
        _ if x < 0.7 => None,
        _ => Some(4.0),
    }
}

/// The plan that a structure is run under the first time: jobs small enough that a hopeless one is soon given up.
pub(super) fn probe_plan(model: &Model, plan: Plan) -> Plan {
    const ROUNDS: u32 = 32;
    // Smaller jobs would be more stages, and be no sooner given up.
    if plan.structure.flows() {
        return plan;
    }
    let (least, _) = model.grains(plan.structure, plan.workers);
    let small = model.items(plan.structure) / (ROUNDS * plan.workers);
    Plan {
        grain: small.max(least).min(plan.grain).max(1),
        ..plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Choice, Dispatch};
    use crate::rates::Rates;
    use crate::service::{Shape, Work};
    use crate::structure::fixtures::{EXPERIMENT, TILED};
    use crate::structure::{FARM, SEQUENTIAL};
    use crate::tuner::api::TunerSetup;

    fn model(workers: u32, fixed_workers: Option<u32>, live: bool) -> Model {
        let shape = |structure, passes: Vec<u32>, ops| Shape {
            structure,
            passes,
            steps: Vec::new(),
            default_grain: 34,
            min_grain: 8,
            units: 1,
            work: Work {
                ops,
                ..Work::default()
            },
        };
        Model::new(&TunerSetup {
            shapes: vec![
                shape(&SEQUENTIAL, vec![1080; 3], 6e6),
                shape(&EXPERIMENT, vec![1080], 1e3),
                shape(&TILED, vec![1080], 2e6),
                shape(&FARM, vec![1], 2e6),
            ],
            rates: Rates {
                ops_per_s: 1e9,
                bytes_per_s: 1e10,
                bytes_per_s_together: 1e10,
                fresh_bytes_per_s: 3e9,
                job_s: 3e-7,
                pass_s: 2e-6,
            },
            workers,
            cpus: f64::from(workers),
            outer_cache: None,
            dispatches: Dispatch::ALL.to_vec(),
            units: None,
            live,
            remembered: None,
            choice: Choice::Auto,
            fixed_workers,
            crowded: false,
        })
        .unwrap()
    }

    fn arms(model: &Model) -> Vec<Arm> {
        let start = Belief {
            mu: 0.0,
            sigma: 0.01,
        };
        let mut arms = vec![Arm::new(model.best_plan(&TILED), Step::Start, start)];
        add_structures(&mut arms, model, STRUCTURE_SIGMA);
        add_neighbours(&mut arms, model, 0, start);
        arms
    }

    #[test]
    fn the_experiment_is_never_a_candidate_and_farm_not_when_live() {
        let found = |live| {
            arms(&model(4, None, live))
                .iter()
                .map(|a| a.plan.structure)
                .collect::<Vec<_>>()
        };
        assert!(!found(false).contains(&&EXPERIMENT));
        assert!(found(false).contains(&&FARM));
        assert!(!found(true).contains(&&FARM));
    }

    #[test]
    fn a_structure_slower_than_predicted_may_be_faster_on_fewer_workers() {
        let fewer = |model: &Model, slower: f64| {
            let incumbent = model.best_plan(&FARM);
            let tiled = model.best_plan(&TILED);
            let predicted = (model.seconds(&tiled) / model.seconds(&incumbent)).ln();
            let belief = Belief {
                mu: predicted + slower,
                sigma: 0.05,
            };
            let mut arms = vec![Arm::new(tiled, Step::Structure, belief)];
            add_fewer(&mut arms, model, 0, (incumbent, 0.0), belief.mu);
            arms.drain(1..)
                .map(|arm| {
                    let plain = (model.seconds(&arm.plan) / model.seconds(&incumbent)).ln();
                    (arm.plan.workers, arm.prior.mu - plain, arm.prior.sigma)
                })
                .collect::<Vec<_>>()
        };
        let four = model(4, None, false);
        assert_eq!(fewer(&four, 0.1), []);
        let found = fewer(&four, 0.9);
        assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), [2, 1]);
        // Between what is predicted and what that would be if it were as wrong.
        assert!(found.iter().all(|f| (f.1 - 0.45).abs() < 1e-9));
        assert!(found.iter().all(|f| (f.2 - 0.45).abs() < 1e-9));
        assert_eq!(fewer(&model(4, Some(4), false), 0.9), []);
        assert_eq!(fewer(&model(1, None, false), 0.9), []);
    }

    #[test]
    fn neighbours_differ_in_one_thing_and_stay_within_limits() {
        let model = model(4, None, false);
        let arms = arms(&model);
        let base = arms[0].plan;
        for arm in arms.iter().filter(|a| a.plan.structure == &TILED).skip(1) {
            let p = arm.plan;
            let differences = [
                p.dispatch != base.dispatch,
                p.grain != base.grain,
                p.workers != base.workers,
            ];
            assert_eq!(differences.iter().filter(|&&d| d).count(), 1, "{p}");
            assert!(
                (8..=270).contains(&p.grain) && (1..=4).contains(&p.workers),
                "{p}"
            );
        }
        let workers: Vec<u32> = arms.iter().map(|a| a.plan.workers).collect();
        assert!(workers.contains(&2) && workers.contains(&3) && workers.contains(&1));
    }

    #[test]
    fn pinned_workers_are_kept() {
        assert!(
            arms(&model(4, Some(3), false))
                .iter()
                .all(|a| a.plan.workers == 3)
        );
    }

    #[test]
    fn a_plan_predicted_hopeless_is_not_worth_a_short_stream() {
        let outlook = Outlook {
            offset: 0.0,
            noise: Noise {
                unit: 0.05,
                sample: 0.0,
            },
            remaining: 300.0,
            trial: 1,
        };
        let model = model(2, None, false);
        let plan = model.best_plan(&SEQUENTIAL);
        let arm = |mu| {
            Arm::new(
                plan,
                Step::Structure,
                Belief {
                    mu,
                    sigma: STRUCTURE_SIGMA,
                },
            )
        };
        let net = |mu, o: &Outlook| worth(&model, &arm(mu), o).map_or(f64::MIN, |w| w.net());
        assert!(net(0.0, &outlook) > 30.0);
        assert!(net(2.5f64.ln(), &outlook) > 0.0);
        assert!(net(6.0f64.ln(), &outlook) < 0.0);
        let short = Outlook {
            remaining: 20.0,
            ..outlook
        };
        assert!(net(2.5f64.ln(), &short) < 0.0);
    }

    #[test]
    fn the_first_run_of_a_structure_is_in_small_jobs() {
        let model = model(2, None, false);
        let plan = model.best_plan(&TILED);
        let probe = probe_plan(&model, plan);
        assert_eq!(probe.grain, 16);
        assert!(model.rounds(&probe) >= 32.0);
    }
}
