//! The plans that are candidates.

use super::arm::Arm;
use super::belief::Belief;
use super::model::{Model, WITH_DEVICES};
use crate::plan::{Dispatch, Plan};

/// Plans considered at all. Streams in virtual time have 56 at most.
const MOST_ARMS: usize = 64;
/// Deviation of the logarithm of measured over predicted cost: from one structure to another, with a device, and by a
/// step to another grain or dispatch, or to another number of workers, alone or where others compute on them.
pub(super) const STRUCTURE_SIGMA: f64 = 0.65;
const DEVICE_SIGMA: f64 = 1.0;
const STEP_SIGMA: f64 = 0.04;
const WORKERS_SIGMA: f64 = 0.15;
const CROWDED_SIGMA: f64 = 0.5;
/// How much larger the deviation of a step is where all time goes to handing out jobs.
const OVERHEAD_SIGMA: f64 = 0.4;

/// Adds the default plan of every structure that `arms` does not have yet. The first arm is where the search starts.
pub(super) fn add_structures(arms: &mut Vec<Arm>, model: &Model) {
    let start = arms[0].plan;
    for structure in model.structures() {
        let plan = model.best_plan(structure);
        let mu = (model.seconds(&plan) / model.seconds(&start)).ln();
        let belief = Belief::new(mu, STRUCTURE_SIGMA);
        add(arms, Arm::new(plan, false, true, belief));
    }
}

/// Adds the plans with all devices, whose units a second may be `known`, with the seconds of the incumbent's unit. What
/// is believed of them rests on what is known best of the same structure without devices.
pub(super) fn add_devices(arms: &mut Vec<Arm>, model: &mut Model, known: Option<(f64, f64)>) {
    let plans: Vec<Plan> = model.device_plans().collect();
    for plan in plans {
        let same = |arm: &&Arm| arm.plan.structure == plan.structure && arm.plan.devices == 0;
        let sigma = |arm: &Arm| arm.belief.sigma;
        let alike = arms.iter().filter(same);
        let best = alike.min_by(|a, b| sigma(a).total_cmp(&sigma(b)));
        let base = best.unwrap_or(&arms[0]);
        let alone = Plan { devices: 0, ..plan };
        let alone = base.belief.mu + (model.seconds(&alone) / model.seconds(&base.plan)).ln();
        let (left, sigma) = match known {
            Some((rate, cost)) => {
                let left = 1.0 / (1.0 + rate * cost * alone.exp());
                // Devices that do a small part of the work cannot be far from what is predicted.
                (left, sigma(base).hypot(DEVICE_SIGMA * (1.0 - left)))
            }
            None => (WITH_DEVICES, DEVICE_SIGMA),
        };
        model.with_devices = left;
        let belief = Belief::new(alone + left.ln(), sigma);
        add(arms, Arm::new(plan, false, false, belief));
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
        for &dispatch in &model.dispatches {
            let plan = Plan { dispatch, ..plan };
            add_step(arms, model, base, (plan, pinned), STEP_SIGMA);
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
            STEP_SIGMA,
        );
    }
    add_workers(arms, model, base);
}

/// Adds arm `base` on other numbers of workers.
pub(super) fn add_workers(arms: &mut Vec<Arm>, model: &Model, base: usize) {
    if model.pinned_workers {
        return;
    }
    let Arm { plan, pinned, .. } = arms[base];
    let w = plan.workers;
    let sigma = if model.crowded {
        CROWDED_SIGMA
    } else {
        WORKERS_SIGMA
    };
    for workers in [w / 2, w - 1, w + 1, w.saturating_mul(2), 1, model.workers] {
        let workers = workers.clamp(model.least_workers(plan.structure), model.workers);
        // One worker alone is handed nothing, so all dispatches are the same to it.
        let own = model.default_plan(plan.structure, workers);
        let dispatch = if workers == 1 {
            own.dispatch
        } else {
            plan.dispatch
        };
        let step = Plan { dispatch, ..own };
        add_step(arms, model, base, (step, pinned), sigma);
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
    add(
        arms,
        Arm::new(plan, pinned && may_pin(model, &plan), false, belief),
    );
}

/// Workers that keep to processors need one each, and each must be able to take over what another does not get to.
fn may_pin(model: &Model, plan: &Plan) -> bool {
    let takes_over = plan.structure.flows() || plan.dispatch == Dispatch::Steal;
    takes_over && f64::from(plan.workers) >= model.cpus
}

/// Adds an arm unless its plan is there already, or one that differs by a little of grain.
fn add(arms: &mut Vec<Arm>, arm: Arm) {
    let is_near = |other: &Arm| {
        let (a, b) = (arm.plan.grain, other.plan.grain);
        let same = Plan {
            grain: a,
            ..other.plan
        } == arm.plan
            && arm.pinned == other.pinned;
        same && f64::from(a.max(b)) < 1.25 * f64::from(a.min(b))
    };
    if arms.len() < MOST_ARMS && !arms.iter().any(is_near) {
        arms.push(arm);
    }
}
