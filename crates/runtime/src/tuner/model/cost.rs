//! The cost model: what a plan should cost before anybody measured it.
//!
//! A unit takes the larger of its arithmetic and its memory time, and every job and every pass costs something beside:
//! `max(ops / (ops_per_s * n), bytes / memory rate) * unevenness + jobs * job_s / workers + passes * pass_s`, where n
//! is the workers that run at once, `min(workers, cpus)`, and the memory rate is n times that of one worker alone, at
//! most that of all together. Those rates are of an outer cache, where there is one: bytes that it does not hold until
//! they are used again, because a plan has several units in work, take that time once more, and computing waits for it.
//! Where whole units run side by side, or lines of several units do, nothing waits for a pass; in a pipeline the largest
//! stage, by what the service says of its steps, sets the pace. Else unevenness is what cutting a pass into few large
//! jobs wastes in its last round. One worker neither wakes others nor waits for them, so its passes are free.

use crate::plan::Plan;
use crate::service::Shape;
use crate::stages;

use super::Model;
use crate::structure::{Flow, Structure};

/// How much of the outer cache a plan may use before it loses what it uses again, and how much longer that takes from
/// memory, which no arithmetic hides.
const USABLE: f64 = 0.75;
const BEYOND: f64 = 1.0;
/// What devices leave of a unit's time, as long as nothing is known of them.
const WITH_DEVICES: f64 = 0.5;
impl Model {
    /// Predicted seconds of a unit.
    pub(in super::super) fn seconds(&self, plan: &Plan) -> f64 {
        self.work_seconds(plan) + self.overhead_seconds(plan)
    }

    /// Predicted seconds to make the memory a structure needs.
    pub(in super::super) fn prepare_seconds(&self, structure: &'static Structure) -> f64 {
        let fresh = self.shape(structure).map_or(0.0, |s| s.work.fresh);
        fresh.max(0.0) / positive(self.rates.fresh_bytes_per_s)
    }

    /// The share of a unit's time that handing out jobs is predicted to take, 0 to 1.
    pub(in super::super) fn overhead(&self, plan: &Plan) -> f64 {
        self.overhead_seconds(plan) / self.seconds(plan)
    }

    fn work_seconds(&self, plan: &Plan) -> f64 {
        let Some(shape) = self.shape(plan.structure) else {
            return 1e-9;
        };
        let workers = f64::from(plan.workers.max(1));
        let at_once = workers.min(self.cpus);
        let arithmetic = shape.work.ops / (positive(self.rates.ops_per_s) * at_once);
        let memory = shape.work.bytes / self.memory_rate(at_once);
        let beyond = self.beyond(shape, plan) * memory;
        let work = arithmetic.max(memory).max(1e-9) + beyond;
        match plan.structure.flow {
            Flow::Pipeline => work * largest_stage(shape, plan),
            Flow::Farm | Flow::Wavefront if plan.devices > 0 => WITH_DEVICES * work,
            Flow::Farm | Flow::Wavefront => work,
            _ => work * self.unevenness(shape, plan),
        }
    }

    /// How much longer the bytes of a unit take where those of all units in work are more than the outer cache holds,
    /// in the time they take otherwise.
    fn beyond(&self, shape: &Shape, plan: &Plan) -> f64 {
        let in_work = f64::from(self.footprint(plan).in_work) * shape.work.bytes;
        let held = self.outer_cache == 0.0 || in_work <= USABLE * self.outer_cache;
        if held { 0.0 } else { BEYOND }
    }

    /// Bytes that so many workers move in a second, in a cache that all share or where they have none.
    fn memory_rate(&self, at_once: f64) -> f64 {
        let alone = positive(self.rates.bytes_per_s);
        (alone * at_once).min(positive(self.rates.bytes_per_s_together).max(alone))
    }

    fn overhead_seconds(&self, plan: &Plan) -> f64 {
        let Some(shape) = self.shape(plan.structure) else {
            return 0.0;
        };
        let workers = f64::from(plan.workers.max(1));
        // Each stage of a pipeline takes a unit from one ring and puts it into another, which is about what a job
        // costs.
        let jobs = match plan.structure.flow {
            Flow::Pipeline => f64::from(stages_of(shape, plan)),
            Flow::Farm => 1.0,
            // A worker goes on with its line where it can, and then a chunk is not handed out.
            Flow::Wavefront => shape.lines.iter().map(|&lines| f64::from(lines)).sum(),
            _ => jobs(shape, plan.grain),
        };
        let job = self.rates.job_s.max(0.0) * jobs / workers;
        let alone = plan.workers <= 1 || plan.structure.flows();
        let barriers = if alone {
            0.0
        } else {
            shape.passes.len().max(1) as f64
        };
        let together = match plan.structure.flow {
            Flow::Grouped => f64::from(shape.units.max(1)),
            _ => 1.0,
        };
        (job + barriers * self.rates.pass_s.max(0.0)) / together
    }

    /// Time of the rounds of all passes as a multiple of an even division, weighted by items.
    fn unevenness(&self, shape: &Shape, plan: &Plan) -> f64 {
        let workers = u64::from(plan.workers.max(1));
        let grain = u64::from(plan.grain.max(1));
        let (mut even, mut uneven) = (0.0, 0.0);
        for &items in &shape.passes {
            let items = u64::from(items.max(1));
            let rounds = items.div_ceil(grain).div_ceil(workers);
            let longest = (rounds * grain).min(items) as f64;
            let share = items as f64 / workers as f64;
            even += share;
            uneven += longest.max(share);
        }
        if even > 0.0 { uneven / even } else { 1.0 }
    }
}

/// Jobs of a unit.
fn jobs(shape: &Shape, grain: u32) -> f64 {
    shape
        .passes
        .iter()
        .map(|&items| f64::from(items.div_ceil(grain.max(1)).max(1)))
        .sum()
}

/// Stages that a unit goes through, in the longest of the pipelines side by side.
fn stages_of(shape: &Shape, plan: &Plan) -> u32 {
    let steps = shape.passes.first().copied().unwrap_or(1);
    let pipes = stages::pipelines(plan, steps);
    pipes.into_iter().max().unwrap_or(1)
}

/// Time of the largest stage as a multiple of an even division, by what the service says of the steps; of pipelines of
/// different lengths side by side, what they come to together.
fn largest_stage(shape: &Shape, plan: &Plan) -> f64 {
    let steps = shape.passes.first().copied().unwrap_or(1);
    let costs = stages::costs(&shape.steps, steps);
    let whole: f64 = costs.iter().sum();
    let units_per_time = |count: u32| {
        let ends = stages::divide(&costs, count as usize);
        whole / stages::largest(&costs, &ends).max(f64::MIN_POSITIVE)
    };
    let together: f64 = stages::pipelines(plan, steps)
        .into_iter()
        .map(units_per_time)
        .sum();
    let uneven = f64::from(plan.workers.max(1)) / together;
    if uneven.is_finite() {
        uneven.max(1.0)
    } else {
        1.0
    }
}

/// A rate that can be divided by. A rate nobody could measure makes all plans equal.
fn positive(rate: f64) -> f64 {
    if rate.is_finite() && rate > 0.0 {
        rate
    } else {
        1e9
    }
}

#[cfg(test)]
mod tests {
    use super::super::{model, shape};
    use super::*;
    use crate::rates::Rates;
    use crate::structure::FARM;
    use crate::structure::fixtures::{PIPELINE, TILED, WAVEFRONT};

    #[test]
    fn arithmetic_divides_by_workers_and_memory_does_not() {
        let m = model(4, vec![shape(&TILED, vec![400], 4e6, 0.0)]);
        let plan = m.default_plan(&TILED, 4);
        assert!((m.seconds(&plan) - (1e-3 + 40.0 * 1e-6 / 4.0 + 5e-6)).abs() < 1e-9);
        let m = model(4, vec![shape(&TILED, vec![400], 0.0, 1e7)]);
        assert!((m.seconds(&plan) - (1e-3 + 10e-6 + 5e-6)).abs() < 1e-9);
    }

    #[test]
    fn workers_beyond_the_cpus_there_are_do_not_make_arithmetic_faster() {
        let mut m = model(8, vec![shape(&TILED, vec![400], 4e6, 0.0)]);
        m.cpus = 2.0;
        let seconds = |workers| m.work_seconds(&m.default_plan(&TILED, workers));
        assert!((seconds(2) / seconds(8) - 1.0).abs() < 1e-9);
        assert!((seconds(1) / seconds(8) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_pipeline_goes_at_the_pace_of_its_largest_stage() {
        let mut pipeline = shape(&PIPELINE, vec![4], 4e6, 0.0);
        (pipeline.min_grain, pipeline.default_grain) = (1, 1);
        let mut m = model(2, vec![pipeline]);
        let plan = m.default_plan(&PIPELINE, 2);
        assert_eq!(plan.grain, 2);
        // Two hand-overs of a unit, beside one another.
        assert!((m.seconds(&plan) - (2e-3 + 1e-6)).abs() < 1e-9);
        m.shapes[0].steps = vec![5.0, 1.0, 1.0, 1.0];
        assert!((m.work_seconds(&plan) - 4e-3 * 5.0 / 8.0).abs() < 1e-9);
        assert_eq!(m.best_plan(&PIPELINE).workers, 2);
        assert!(m.structures().any(|s| *s == PIPELINE));
        m.live = true;
        assert!(!m.structures().any(|s| *s == PIPELINE));
        (m.live, m.workers) = (false, 1);
        assert!(!m.structures().any(|s| *s == PIPELINE));
    }

    #[test]
    fn chunks_of_a_wavefront_are_not_handed_out() {
        let mut wavefront = shape(&WAVEFRONT, vec![400, 20], 4e6, 0.0);
        wavefront.lines = vec![20, 1];
        let m = model(2, vec![wavefront]);
        let plan = m.default_plan(&WAVEFRONT, 2);
        // As small as the service wants it, and never a whole line.
        assert_eq!((plan.grain, m.grains(&WAVEFRONT, 2).1), (10, 10));
        assert!((m.seconds(&plan) - (2e-3 + 21.0 * 1e-6 / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn units_in_work_that_the_outer_cache_does_not_hold_take_longer() {
        let both = [&TILED, &FARM].map(|s| shape(s, vec![1], 0.0, 16e6));
        let mut m = model(2, both.to_vec());
        let seconds = |m: &Model| [&TILED, &FARM].map(|s| m.work_seconds(&m.default_plan(s, 2)));
        let unknown = seconds(&m);
        m.outer_cache = 48e6;
        assert_eq!(seconds(&m), unknown);
        m.outer_cache = 32e6;
        let [tiled, farm] = seconds(&m);
        assert_eq!(tiled, unknown[0]);
        assert_eq!(farm, 2.0 * unknown[1]);
        // Arithmetic does not hide it.
        m.shapes[1].work.ops = 8e6;
        assert!((m.work_seconds(&m.default_plan(&FARM, 2)) - 5.6e-3).abs() < 1e-9);
    }

    #[test]
    fn a_last_round_half_empty_costs_time() {
        let m = model(2, vec![shape(&TILED, vec![30], 2e6, 0.0)]);
        // Three jobs of 10 on two workers: one runs two of them.
        let plan = Plan {
            grain: 10,
            ..m.default_plan(&TILED, 2)
        };
        assert!((m.work_seconds(&plan) - 1e-3 * 20.0 / 15.0).abs() < 1e-9);
    }

    #[test]
    fn unmeasured_rates_leave_finite_predictions() {
        let mut m = model(2, vec![shape(&TILED, vec![40], 2e3, 0.0)]);
        m.rates = Rates {
            ops_per_s: 0.0,
            bytes_per_s: f64::NAN,
            bytes_per_s_together: f64::NAN,
            fresh_bytes_per_s: f64::NAN,
            job_s: -1.0,
            pass_s: 0.0,
        };
        let plan = m.default_plan(&TILED, 2);
        assert!(m.seconds(&plan).is_finite() && m.seconds(&plan) > 0.0);
    }
}
