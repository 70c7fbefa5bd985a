//! Which plans are candidates.

use super::arm::Arm;
use super::belief::Belief;
use super::model::Model;
use crate::plan::{Dispatch, Plan};

/// Plans considered at all. Streams in virtual time have 56 at most.
const MOST_ARMS: usize = 64;
/// Deviation of the logarithm of measured over predicted cost, from one structure to another.
pub(super) const STRUCTURE_SIGMA: f64 = 0.65;
/// By how much (log) a step changes the cost beyond what the model predicts, and how much more where handing out jobs
/// is what the time goes to, or where others compute on the workers' processors.
const DISPATCH_SIGMA: f64 = 0.03;
const GRAIN_SIGMA: f64 = 0.05;
const WORKERS_SIGMA: f64 = 0.15;
/// How little is known of a device beforehand.
const DEVICE_SIGMA: f64 = 1.0;
const OVERHEAD_SIGMA: f64 = 0.4;
const CROWDED_SIGMA: f64 = 0.5;

/// Adds the default plan of every structure that `arms` does not have yet. The first arm is where the search starts.
pub(super) fn add_structures(arms: &mut Vec<Arm>, model: &Model) {
    let start = arms[0].plan;
    for structure in model.structures() {
        let plan = model.best_plan(structure);
        let mu = (model.seconds(&plan) / model.seconds(&start)).ln();
        add(
            arms,
            Arm::new(plan, false, true, Belief::new(mu, STRUCTURE_SIGMA)),
        );
    }
}

/// Adds the plans with all devices. The first arm is where the search started.
pub(super) fn add_devices(arms: &mut Vec<Arm>, model: &Model) {
    for plan in model.device_plans() {
        let same = |arm: &&Arm| arm.plan.structure == plan.structure && arm.plan.devices == 0;
        let base = arms
            .iter()
            .filter(same)
            .find(|arm| arm.measured)
            .unwrap_or(&arms[0]);
        let mu = base.belief.mu + (model.seconds(&plan) / model.seconds(&base.plan)).ln();
        add(
            arms,
            Arm::new(plan, false, false, Belief::new(mu, DEVICE_SIGMA)),
        );
    }
}

/// Adds the plans one step away from arm `base`: another dispatch, another grain, another number of workers, and, where
/// the machine has `slowed`, the same with each worker on a processor of its own.
pub(super) fn add_neighbours(arms: &mut Vec<Arm>, model: &Model, base: usize, slowed: bool) {
    let Arm { plan, pinned, .. } = arms[base];
    if slowed || pinned {
        add_step(arms, model, base, (plan, !pinned), WORKERS_SIGMA);
    }
    if plan.workers > 1 && !plan.structure.overlaps() {
        for &dispatch in model.dispatches() {
            let plan = Plan { dispatch, ..plan };
            add_step(arms, model, base, (plan, pinned), DISPATCH_SIGMA);
        }
    }
    let (least, most) = model.grains(plan.structure, plan.workers);
    // One job for each worker divides a pass evenly, which no step of two need come near.
    for grain in [most, plan.grain / 2, plan.grain.saturating_mul(2)] {
        let grain = grain.clamp(least, most);
        add_step(
            arms,
            model,
            base,
            (Plan { grain, ..plan }, pinned),
            GRAIN_SIGMA,
        );
    }
    add_workers(arms, model, base);
}

/// Adds arm `base` on other numbers of workers.
pub(super) fn add_workers(arms: &mut Vec<Arm>, model: &Model, base: usize) {
    if model.pinned_workers() {
        return;
    }
    let Arm { plan, pinned, .. } = arms[base];
    let w = plan.workers;
    let sigma = match model.crowded() {
        true => CROWDED_SIGMA,
        false => WORKERS_SIGMA,
    };
    for workers in [w / 2, w - 1, w + 1, w.saturating_mul(2), 1, model.workers()] {
        let workers = workers.clamp(model.least_workers(plan.structure), model.workers());
        let (least, most) = model.grains(plan.structure, workers);
        let same = Plan {
            workers,
            grain: plan.grain.clamp(least, most),
            // One worker alone is handed nothing: all dispatches are the same to it.
            dispatch: match workers {
                1 => model.dispatch(plan.structure),
                _ => plan.dispatch,
            },
            ..plan
        };
        let own = Plan {
            grain: model.default_plan(plan.structure, workers).grain,
            ..same
        };
        let better = model.seconds(&own) < 0.97 * model.seconds(&same);
        let plan = if better { own } else { same };
        add_step(arms, model, base, (plan, pinned), sigma);
    }
}

/// Adds a plan that is one step away from arm `base`, whose cost the model foretells but for `sigma` (log).
fn add_step(
    arms: &mut Vec<Arm>,
    model: &Model,
    base: usize,
    (plan, pinned): (Plan, bool),
    sigma: f64,
) {
    let Arm {
        plan: from, belief, ..
    } = arms[base];
    let predicted = (model.seconds(&plan) / model.seconds(&from)).ln();
    let overhead = model.overhead(&from).max(model.overhead(&plan));
    let sigma = belief.sigma.hypot(sigma + OVERHEAD_SIGMA * overhead);
    let belief = Belief::new(belief.mu + predicted, sigma);
    let pinned = pinned && may_pin(model, &plan);
    add(arms, Arm::new(plan, pinned, false, belief));
}

/// Workers that keep to processors need one each, and each must be able to take over what another does not get to.
fn may_pin(model: &Model, plan: &Plan) -> bool {
    let takes_over = plan.structure.flows() || plan.dispatch == Dispatch::Steal;
    takes_over && f64::from(plan.workers) >= model.cpus()
}

/// Adds an arm unless its plan is there already, or one that differs by a little of grain.
fn add(arms: &mut Vec<Arm>, arm: Arm) {
    let is_near = |other: &Arm| {
        let (less, more) = (
            arm.plan.grain.min(other.plan.grain),
            arm.plan.grain.max(other.plan.grain),
        );
        let same = Plan {
            grain: arm.plan.grain,
            ..other.plan
        } == arm.plan;
        same && arm.pinned == other.pinned && f64::from(more) < 1.25 * f64::from(less)
    };
    if arms.len() < MOST_ARMS && !arms.iter().any(is_near) {
        arms.push(arm);
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
