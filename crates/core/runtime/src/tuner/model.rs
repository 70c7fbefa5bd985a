//! The cost model: the predicted cost of a plan before it is measured.
//!
//! A unit takes the longer of its arithmetic time and its memory time. Every job and every pass adds a cost:
//!
//! `max(ops / (ops_per_s * n), bytes / memory rate) * unevenness + jobs * job_s / workers + passes * pass_s`
//!
//! where n is the number of workers that run at once, `min(workers, cpus)`. The memory rate is n times that of one
//! worker alone, but at most that of all together. Unevenness is the loss from cutting a pass into few large jobs, in
//! its last round. One worker neither wakes others nor waits for them, so its passes are free. If units flow, none
//! waits for a pass; in a pipeline the largest stage determines the rate.
//!
//! The rates were measured in milliseconds and on other data. So they are wrong more often than the shapes are, and
//! then they are wrong for all plans: [`Model::fit`] corrects them with measured plans.

use super::candidates::STRUCTURE_SIGMA;
use crate::plan::{Dispatch, Plan};
use crate::rates::Rates;
use crate::service::Shape;
use crate::stages;
use crate::structure::{Flow, Structure};

/// What devices leave of a unit's time, as long as nothing is known of them.
pub(super) const WITH_DEVICES: f64 = 0.5;
/// How much of the outer cache units in work may use. Beyond, their bytes come from memory once more, which no
/// arithmetic hides.
const USABLE: f64 = 0.75;
/// The service's shapes on this machine.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) shapes: Vec<Shape>,
    pub(super) rates: Rates,
    /// How many times as long as by these rates things take.
    pub(super) slower: Slower,
    pub(super) dispatches: Vec<Dispatch>,
    /// Workers there are, and cpus that they can run on at once, both at least 1.
    pub(super) workers: u32,
    pub(super) cpus: f64,
    /// Bytes; 0 if unknown.
    pub(super) outer_cache: f64,
    pub(super) devices: u32,
    /// What devices leave of a unit's time.
    pub(super) with_devices: f64,
    /// The number of workers is not the tuner's to choose.
    pub(super) pinned_workers: bool,
    pub(super) live: bool,
    /// What further workers bring is uncertain.
    pub(super) crowded: bool,
}

/// Factors of the time that arithmetic and memory take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slower {
    pub(super) arithmetic: f64,
    pub(super) memory: f64,
}

/// The parts of a plan's time, in seconds by the rates as they were measured.
struct Terms {
    arithmetic: f64,
    memory: f64,
    /// Memory that comes once more.
    beyond: f64,
    /// What that takes as a multiple of an even division.
    uneven: f64,
    overhead: f64,
}

impl Terms {
    fn seconds(&self, slower: Slower) -> f64 {
        let arithmetic = self.arithmetic * slower.arithmetic;
        let memory = self.memory * slower.memory;
        let work = arithmetic.max(memory).max(1e-9) + self.beyond * slower.memory;
        work * self.uneven + self.overhead
    }

    fn rests_on_memory(&self, slower: Slower) -> bool {
        self.memory * slower.memory > self.arithmetic * slower.arithmetic
    }
}

impl Slower {
    pub(super) const NOT: Slower = Slower {
        arithmetic: 1.0,
        memory: 1.0,
    };
}

impl Model {
    /// Predicted seconds of a unit.
    pub(super) fn seconds(&self, plan: &Plan) -> f64 {
        let terms = self.terms(plan);
        terms.map_or(1e-9, |terms| terms.seconds(self.slower))
    }

    /// The share of a unit's time that handing out jobs is predicted to take, 0 to 1.
    pub(super) fn overhead(&self, plan: &Plan) -> f64 {
        let terms = self.terms(plan);
        terms.map_or(0.0, |terms| terms.overhead / terms.seconds(self.slower))
    }

    /// Predicted seconds to make the memory a structure needs.
    pub(super) fn prepare_seconds(&self, structure: &'static Structure) -> f64 {
        let fresh = self.shape(structure).map_or(0.0, |s| s.work.fresh);
        fresh.max(0.0) / positive(self.rates.fresh_bytes_per_s)
    }

    /// Corrects the rates by the seconds that units took under plans. A rate is off by the median of the errors (log) of
    /// the plans that rest on it, and of one more: a plan predicted right, or as nearly so as those allow. So a single
    /// plan takes up to [`STRUCTURE_SIGMA`] of its error itself, and of several no one that is an exception counts.
    pub(super) fn fit(&mut self, measured: &[(Plan, f64)]) {
        let terms = measured.iter();
        let terms = terms.filter_map(|(plan, seconds)| Some((self.terms(plan)?, *seconds)));
        let terms: Vec<(Terms, f64)> = terms.collect();
        let factor = |slower: Slower, memory: bool, now: f64| {
            let resting = terms
                .iter()
                .filter(|(t, _)| t.rests_on_memory(slower) == memory);
            let error = |(t, seconds): &(Terms, f64)| (now * seconds / t.seconds(slower)).ln();
            let mut errors: Vec<f64> = resting.map(error).collect();
            errors.sort_unstable_by(f64::total_cmp);
            let (Some(least), Some(most)) = (errors.first(), errors.last()) else {
                return 1.0;
            };
            let far = 2.0 * STRUCTURE_SIGMA;
            errors.push(0_f64.clamp(least - far, most + far));
            errors.sort_unstable_by(f64::total_cmp);
            let middle = (errors.len() - 1) / 2..=errors.len() / 2;
            let count = middle.clone().count() as f64;
            (errors[middle].iter().sum::<f64>() / count).exp()
        };
        // Which rate a plan rests on depends on both, so the second round may find another.
        self.slower = Slower::NOT;
        for _ in 0..2 {
            self.slower = Slower {
                arithmetic: factor(self.slower, false, self.slower.arithmetic),
                memory: factor(self.slower, true, self.slower.memory),
            };
        }
    }

    fn terms(&self, plan: &Plan) -> Option<Terms> {
        let shape = self.shape(plan.structure)?;
        let at_once = f64::from(plan.workers.max(1)).min(self.cpus);
        let memory = shape.work.bytes / self.memory_rate(at_once);
        let in_work = f64::from(self.footprint(plan).in_work) * shape.work.bytes;
        let held = self.outer_cache == 0.0 || in_work <= USABLE * self.outer_cache;
        Some(Terms {
            arithmetic: shape.work.ops / (positive(self.rates.ops_per_s) * at_once),
            memory,
            beyond: if held { 0.0 } else { memory },
            uneven: match plan.structure.flow {
                Flow::Pipeline => largest_stage(shape, plan),
                Flow::Farm | Flow::Wavefront if plan.devices > 0 => self.with_devices,
                Flow::Farm | Flow::Wavefront => 1.0,
                Flow::Divided | Flow::Grouped => unevenness(shape, plan),
            },
            overhead: self.overhead_seconds(shape, plan),
        })
    }

    /// Bytes that so many workers move in a second, in a cache that all share or where they have none.
    fn memory_rate(&self, at_once: f64) -> f64 {
        let alone = positive(self.rates.bytes_per_s);
        (alone * at_once).min(positive(self.rates.bytes_per_s_together).max(alone))
    }

    fn overhead_seconds(&self, shape: &Shape, plan: &Plan) -> f64 {
        let jobs = match plan.structure.flow {
            // Each stage takes a unit from one ring and puts it into another, which is about what a job costs.
            Flow::Pipeline => f64::from(stages_of(shape, plan)),
            Flow::Farm => 1.0,
            // A worker goes on with its line where it can, and then a chunk is not handed out.
            Flow::Wavefront => shape.lines.iter().map(|&lines| f64::from(lines)).sum(),
            Flow::Divided | Flow::Grouped => jobs(shape, plan.grain),
        };
        let job = self.rates.job_s.max(0.0) * jobs / f64::from(plan.workers.max(1));
        let barriers = match plan.workers <= 1 || plan.structure.flows() {
            true => 0.0,
            false => shape.passes.len().max(1) as f64,
        };
        let units = f64::from(self.footprint(plan).group);
        (job + barriers * self.rates.pass_s.max(0.0)) / units
    }
}

/// Time of the rounds of all passes as a multiple of an even division, weighted by items.
fn unevenness(shape: &Shape, plan: &Plan) -> f64 {
    let (workers, grain) = (u64::from(plan.workers.max(1)), u64::from(plan.grain.max(1)));
    let (mut even, mut uneven) = (0.0, 0.0);
    for &items in &shape.passes {
        let items = u64::from(items.max(1));
        let rounds = items.div_ceil(grain).div_ceil(workers);
        let share = items as f64 / workers as f64;
        even += share;
        uneven += ((rounds * grain).min(items) as f64).max(share);
    }
    if even > 0.0 { uneven / even } else { 1.0 }
}

/// Jobs of a unit.
fn jobs(shape: &Shape, grain: u32) -> f64 {
    let of_pass = |&items: &u32| f64::from(items.div_ceil(grain.max(1)).max(1));
    shape.passes.iter().map(of_pass).sum()
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
    let pipes = stages::pipelines(plan, steps).into_iter();
    let together: f64 = pipes.map(units_per_time).sum();
    let uneven = f64::from(plan.workers.max(1)) / together;
    if uneven.is_finite() {
        uneven.max(1.0)
    } else {
        1.0
    }
}

/// A rate that can be divided by. A rate that could not be measured makes all plans equal.
fn positive(rate: f64) -> f64 {
    let usable = rate.is_finite() && rate > 0.0;
    if usable { rate } else { 1e9 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::Rates;
    use crate::structure::fixtures::{PIPELINE, TILED, WAVEFRONT};
    use crate::structure::{FARM, SEQUENTIAL};
    use crate::tuner::plans::{model, shape};

    impl Model {
        fn work_seconds(&self, plan: &Plan) -> f64 {
            self.seconds(plan) * (1.0 - self.overhead(plan))
        }
    }

    /// Two structures on arithmetic, one on memory.
    fn three() -> (Model, [Plan; 3]) {
        let shapes = [
            (&SEQUENTIAL, 8e6, 0.0),
            (&TILED, 4e6, 0.0),
            (&FARM, 1e6, 4e7),
        ];
        let shapes = shapes.map(|(s, ops, bytes)| shape(s, vec![400], ops, bytes));
        let m = model(2, shapes.to_vec());
        let plans = [&SEQUENTIAL, &TILED, &FARM].map(|s| m.default_plan(s, 2));
        (m, plans)
    }

    #[test]
    fn a_rate_that_is_wrong_is_corrected_for_all_plans_that_rest_on_it() {
        let (mut m, plans) = three();
        let before = plans.map(|plan| m.work_seconds(&plan));
        m.fit(&[(plans[0], 3.0 * before[0])]);
        let times: Vec<f64> = (0..3)
            .map(|i| m.work_seconds(&plans[i]) / before[i])
            .collect();
        assert!((times[0] - 3_f64.sqrt()).abs() < 0.01, "{times:?}");
        assert!((times[1] / times[0] - 1.0).abs() < 0.01, "{times:?}");
        assert!((times[2] - 1.0).abs() < 1e-9, "{times:?}");
        m.fit(&[(plans[2], 3.0 * before[2])]);
        let times: Vec<f64> = (0..3)
            .map(|i| m.work_seconds(&plans[i]) / before[i])
            .collect();
        assert!(
            (times[2] - 3_f64.sqrt()).abs() < 0.01 && (times[0] - 1.0).abs() < 1e-9,
            "{times:?}"
        );
    }

    #[test]
    fn a_rate_that_is_wrong_by_far_makes_no_plan_look_like_the_better_one() {
        let (mut m, plans) = three();
        let before = plans.map(|plan| m.work_seconds(&plan));
        m.fit(&[(plans[0], 1000.0 * before[0])]);
        let after = m.work_seconds(&plans[1]) / before[1];
        assert!(
            (after.ln() - 1000_f64.ln() + STRUCTURE_SIGMA).abs() < 0.01,
            "{after}"
        );
    }

    #[test]
    fn a_plan_that_is_an_exception_moves_no_rate() {
        let (mut m, plans) = three();
        let before = plans.map(|plan| m.seconds(&plan));
        m.fit(&[(plans[0], 50.0 * before[0]), (plans[1], 1.1 * before[1])]);
        assert!(m.seconds(&plans[1]) < 1.2 * before[1]);
    }

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
        assert!((tiled - unknown[0]).abs() < 1e-9);
        assert!((farm - 2.0 * unknown[1]).abs() < 1e-9);
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
