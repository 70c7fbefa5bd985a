//! The cost model: what a plan should cost before anybody measured it.
//!
//! A unit takes the larger of its arithmetic and its memory time, and every job and every pass costs something beside:
//! `max(ops / (ops_per_s * n), bytes / memory rate) * unevenness + jobs * job_s / workers + passes * pass_s`, where n is
//! the workers that run at once, `min(workers, cpus)`, and the memory rate is n times that of one worker alone, at most
//! that of all together. Those rates are of an outer cache, where there is one: bytes that it does not hold until they are
//! used again, because a plan has several units in work, take that time once more, and computing waits for it.
//! Where whole units run side by side nothing waits for a pass; in a pipeline the largest stage, by what the service says
//! of its steps, sets the pace. Else unevenness is what cutting a pass into few large jobs wastes in its last round. One worker neither wakes others nor
//! waits for them, so its passes are free.

use crate::plan::{Dispatch, Plan, Structure};
use crate::rates::Rates;
use crate::service::Shape;
use crate::stages;

use super::api::{SetupError, TunerSetup};

/// How much of the outer cache a plan may use before it loses what it uses again, and how much longer that takes from memory,
/// which no arithmetic hides.
const USABLE: f64 = 0.75;
const BEYOND: f64 = 1.0;
/// Units that the outer cache can hold for warming it to matter.
const HELD_LEAST: f64 = 1.0;
const HELD_MOST: f64 = 10.0;
/// How often the outer cache is filled until it holds what is used again: hardware does not just forget what is oldest.
const REFILLS: f64 = 6.0;
/// Units that filling it is given.
const WARM_LEAST: f64 = 8.0;
const WARM_MOST: f64 = 16.0;
/// Groups of units abreast that it is given: their planes are small, but others use the cache as well.
const WARM_GROUPS: u32 = 6;

/// Shapes and rates, and which plans they allow.
#[derive(Debug)]
pub(super) struct Model {
    shapes: Vec<Shape>,
    rates: Rates,
    dispatches: Vec<Dispatch>,
    workers: u32,
    cpus: f64,
    outer_cache: f64,
    pinned_workers: bool,
    live: bool,
    crowded: bool,
}

impl Model {
    pub(super) fn new(setup: &TunerSetup) -> Result<Model, SetupError> {
        if setup.shapes.is_empty() {
            return Err(SetupError::NoShape);
        }
        let mut dispatches = setup.dispatches.clone();
        if dispatches.is_empty() {
            dispatches.push(Dispatch::Fifo);
        }
        Ok(Model {
            shapes: setup.shapes.clone(),
            rates: setup.rates,
            dispatches,
            workers: setup
                .fixed_workers
                .unwrap_or(setup.workers)
                .clamp(1, setup.workers.max(1)),
            cpus: if setup.cpus >= 1.0 { setup.cpus } else { 1.0 },
            outer_cache: setup.outer_cache.unwrap_or(0) as f64,
            pinned_workers: setup.fixed_workers.is_some(),
            live: setup.live,
            crowded: setup.crowded,
        })
    }

    /// The plan a user named, completed with the service's defaults.
    pub(super) fn fixed(
        &self,
        structure: Structure,
        dispatch: Option<Dispatch>,
        grain: Option<u32>,
    ) -> Result<Plan, SetupError> {
        let shape = self
            .shape(structure)
            .ok_or_else(|| SetupError::NotOffered {
                asked: structure,
                offered: self
                    .shapes
                    .iter()
                    .map(|s| s.structure.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            })?;
        Ok(Plan {
            structure,
            dispatch: dispatch.unwrap_or(self.dispatch(structure)),
            grain: grain.unwrap_or(shape.default_grain).max(1),
            workers: self.workers,
        })
    }

    pub(super) fn shape(&self, structure: Structure) -> Option<&Shape> {
        self.shapes.iter().find(|s| s.structure == structure)
    }

    /// The structures the tuner may choose by itself.
    pub(super) fn structures(&self) -> impl Iterator<Item = Structure> + '_ {
        self.shapes.iter().map(|s| s.structure).filter(|s| match s {
            Structure::BackwardStore => false,
            Structure::Farm | Structure::Abreast => !self.live,
            // One worker alone has all stages, which is what a farm of one does.
            Structure::Pipeline => !self.live && self.workers > 1,
            _ => true,
        })
    }

    pub(super) fn dispatches(&self) -> &[Dispatch] {
        &self.dispatches
    }

    /// The flavour that plans of a structure begin with.
    pub(super) fn dispatch(&self, structure: Structure) -> Dispatch {
        let usual = Dispatch::usual(structure);
        let allowed = self.dispatches.contains(&usual);
        if allowed { usual } else { self.dispatches[0] }
    }

    /// Workers there are.
    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    /// Cpus that workers can run on at once, at least 1.
    pub(super) fn cpus(&self) -> f64 {
        self.cpus
    }

    /// The number of workers is not the tuner's to choose.
    pub(super) fn pinned_workers(&self) -> bool {
        self.pinned_workers
    }

    /// What further workers bring is uncertain.
    pub(super) fn crowded(&self) -> bool {
        self.crowded
    }

    /// Items of the longest pass, at least 1.
    pub(super) fn items(&self, structure: Structure) -> u32 {
        self.shape(structure)
            .and_then(|s| s.passes.iter().copied().max())
            .unwrap_or(1)
            .max(1)
    }

    /// The smallest and the largest grain worth trying: from the service's limit to one job for each worker.
    pub(super) fn grains(&self, structure: Structure, workers: u32) -> (u32, u32) {
        let least = self.shape(structure).map_or(1, |s| s.min_grain.max(1));
        let most = match structure {
            Structure::Farm => self.items(structure),
            // From a stage for each worker to two stages, which is the least that makes a pipeline.
            Structure::Pipeline => {
                let items = self.items(structure);
                let least = least.max(items.div_ceil(workers.max(1)));
                return (least, items.div_ceil(2).max(least));
            }
            _ => self.items(structure).div_ceil(workers.max(1)),
        };
        (least, most.max(least))
    }

    /// The structure's default plan on so many workers, in larger jobs where those are predicted to pay.
    pub(super) fn default_plan(&self, structure: Structure, workers: u32) -> Plan {
        let grain = self.shape(structure).map_or(1, |s| s.default_grain);
        let (least, most) = self.grains(structure, workers);
        let dispatch = self.dispatch(structure);
        let mut plan = Plan {
            structure,
            dispatch,
            grain: grain.clamp(least, most),
            workers,
        };
        // Units far smaller than the service thought of when it chose its default go into fewer jobs.
        loop {
            let larger = Plan {
                grain: plan.grain.saturating_mul(2).min(most),
                ..plan
            };
            if self.seconds(&larger) > 0.97 * self.seconds(&plan) {
                return plan;
            }
            plan = larger;
        }
    }

    /// The default plan on the number of workers that the model likes best.
    pub(super) fn best_plan(&self, structure: Structure) -> Plan {
        let full = self.default_plan(structure, self.workers);
        if self.pinned_workers {
            return full;
        }
        let mut best = full;
        let mut workers = self.workers;
        while workers / 2 >= self.least_workers(structure) {
            workers /= 2;
            let plan = self.default_plan(structure, workers);
            // A tie goes to more workers: they are the ones that help when the model is wrong.
            if self.seconds(&plan) < 0.98 * self.seconds(&best) {
                best = plan;
            }
        }
        best
    }

    /// Units until the outer cache holds what a plan uses again, where it can hold a unit but not all that were in flight
    /// under another plan. Of smaller units it holds all, and of larger ones nothing is left when the next one comes.
    fn warm_units(&self) -> Option<u32> {
        let bytes = self.shapes.iter().map(|shape| shape.work.bytes);
        let bytes = bytes.fold(f64::INFINITY, f64::min);
        let held = self.outer_cache / bytes;
        let some = (HELD_LEAST..HELD_MOST).contains(&held);
        some.then_some((REFILLS * held).clamp(WARM_LEAST, WARM_MOST) as u32)
    }

    /// Measurements under a plan until the outer cache holds what it uses again, where that takes a while: of units, or of
    /// groups of those abreast.
    pub(super) fn warm(&self, plan: &Plan) -> Option<u32> {
        match self.group(plan) {
            1 => self.warm_units(),
            _ => Some(WARM_GROUPS),
        }
    }

    /// Fewest workers that are worth trying.
    pub(super) fn least_workers(&self, structure: Structure) -> u32 {
        match structure {
            Structure::Pipeline => 2.min(self.workers),
            _ => 1,
        }
    }

    /// The plan can be run by this service on these workers.
    pub(super) fn allows(&self, plan: &Plan) -> bool {
        self.structures().any(|s| s == plan.structure)
            && self.dispatches.contains(&plan.dispatch)
            && (1..=self.items(plan.structure)).contains(&plan.grain)
            && (1..=self.workers).contains(&plan.workers)
            && (!self.pinned_workers || plan.workers == self.workers)
    }

    /// Jobs that one worker runs one after the other in a unit. A job that runs is not interrupted.
    pub(super) fn rounds(&self, plan: &Plan) -> f64 {
        // A unit that is in a pipeline goes through it to the end.
        if plan.structure == Structure::Pipeline {
            return 1.0;
        }
        let jobs = self
            .shape(plan.structure)
            .map_or(1.0, |shape| jobs(shape, plan.grain));
        (jobs / f64::from(plan.workers.max(1))).max(1.0)
    }

    /// Units in work at once: a unit's own time is so many times its share.
    pub(super) fn at_once(&self, plan: &Plan) -> u32 {
        match plan.structure {
            Structure::Abreast => self.shape(plan.structure).map_or(1, |s| s.units),
            _ if plan.structure.overlaps() => plan.workers,
            _ => 1,
        }
    }

    /// Units whose times are one: those abreast are begun and finished together.
    pub(super) fn group(&self, plan: &Plan) -> u32 {
        match plan.structure {
            Structure::Abreast => self.at_once(plan).max(1),
            _ => 1,
        }
    }

    /// Units of an epoch that should have `units`. Those that overlap are run in groups, or the workers would wait for
    /// one another at the end of each.
    pub(super) fn epoch_units(&self, plan: &Plan, units: u32) -> u32 {
        if plan.structure.flows() {
            units.max(2 * plan.workers)
        } else {
            units.max(1).next_multiple_of(self.group(plan))
        }
    }

    /// Predicted seconds of a unit.
    pub(super) fn seconds(&self, plan: &Plan) -> f64 {
        self.work_seconds(plan) + self.overhead_seconds(plan)
    }

    /// Predicted seconds to make the memory a structure needs.
    pub(super) fn prepare_seconds(&self, structure: Structure) -> f64 {
        let fresh = self.shape(structure).map_or(0.0, |s| s.work.fresh);
        fresh.max(0.0) / positive(self.rates.fresh_bytes_per_s)
    }

    /// The share of a unit's time that handing out jobs is predicted to take, 0 to 1.
    pub(super) fn overhead(&self, plan: &Plan) -> f64 {
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
        match plan.structure {
            Structure::Pipeline => work * largest_stage(shape, plan),
            Structure::Farm => work,
            _ => work * self.unevenness(shape, plan),
        }
    }

    /// How much longer the bytes of a unit take where those of all units in work are more than the outer cache holds, in the
    /// time they take otherwise.
    fn beyond(&self, shape: &Shape, plan: &Plan) -> f64 {
        let in_work = f64::from(self.at_once(plan)) * shape.work.bytes;
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
        // Each stage of a pipeline takes a unit from one ring and puts it into another, which is about what a job costs.
        let jobs = match plan.structure {
            Structure::Pipeline => f64::from(stages_of(shape, plan)),
            _ => jobs(shape, plan.grain),
        };
        let job = self.rates.job_s.max(0.0) * jobs / workers;
        let alone = plan.workers <= 1 || plan.structure.flows();
        let barriers = if alone {
            0.0
        } else {
            shape.passes.len().max(1) as f64
        };
        (job + barriers * self.rates.pass_s.max(0.0)) / f64::from(shape.units.max(1))
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

/// What tests of the tuner begin with.
#[cfg(test)]
pub(super) fn setup(workers: u32, shapes: Vec<Shape>) -> TunerSetup {
    TunerSetup {
        shapes,
        rates: Rates {
            ops_per_s: 1e9,
            bytes_per_s: 1e10,
            bytes_per_s_together: 1e10,
            fresh_bytes_per_s: 3e9,
            job_s: 1e-6,
            pass_s: 5e-6,
        },
        workers,
        cpus: f64::from(workers),
        outer_cache: None,
        dispatches: Dispatch::ALL.to_vec(),
        units: None,
        live: false,
        remembered: None,
        choice: crate::plan::Choice::Auto,
        fixed_workers: None,
        crowded: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Work;

    fn model(workers: u32, shapes: Vec<Shape>) -> Model {
        Model::new(&setup(workers, shapes)).unwrap()
    }

    fn shape(structure: Structure, passes: Vec<u32>, ops: f64, bytes: f64) -> Shape {
        Shape {
            structure,
            passes,
            steps: Vec::new(),
            default_grain: 10,
            min_grain: 2,
            units: 1,
            work: Work {
                ops,
                bytes,
                fresh: 0.0,
            },
        }
    }

    #[test]
    fn arithmetic_divides_by_workers_and_memory_does_not() {
        let m = model(4, vec![shape(Structure::Tiled, vec![400], 4e6, 0.0)]);
        let plan = m.default_plan(Structure::Tiled, 4);
        assert!((m.seconds(&plan) - (1e-3 + 40.0 * 1e-6 / 4.0 + 5e-6)).abs() < 1e-9);
        let m = model(4, vec![shape(Structure::Tiled, vec![400], 0.0, 1e7)]);
        assert!((m.seconds(&plan) - (1e-3 + 10e-6 + 5e-6)).abs() < 1e-9);
    }

    #[test]
    fn plans_begin_with_the_usual_dispatch_where_that_is_allowed() {
        let both = || [Structure::Tiled, Structure::Farm].map(|s| shape(s, vec![400], 4e6, 0.0));
        let begun =
            |m: &Model| [Structure::Tiled, Structure::Farm].map(|s| m.best_plan(s).dispatch);
        let mut m = model(4, both().to_vec());
        assert_eq!(begun(&m), [Dispatch::Steal, Dispatch::Fifo]);
        let named = m.fixed(Structure::Tiled, None, None).unwrap();
        assert_eq!(named.dispatch, Dispatch::Steal);
        m.dispatches = vec![Dispatch::Mailbox];
        assert_eq!(begun(&m), [Dispatch::Mailbox; 2]);
    }

    #[test]
    fn workers_beyond_the_cpus_there_are_do_not_make_arithmetic_faster() {
        let mut m = model(8, vec![shape(Structure::Tiled, vec![400], 4e6, 0.0)]);
        m.cpus = 2.0;
        let seconds = |workers| m.work_seconds(&m.default_plan(Structure::Tiled, workers));
        assert!((seconds(2) / seconds(8) - 1.0).abs() < 1e-9);
        assert!((seconds(1) / seconds(8) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_pipeline_goes_at_the_pace_of_its_largest_stage() {
        let mut pipeline = shape(Structure::Pipeline, vec![4], 4e6, 0.0);
        (pipeline.min_grain, pipeline.default_grain) = (1, 1);
        let mut m = model(2, vec![pipeline]);
        let plan = m.default_plan(Structure::Pipeline, 2);
        assert_eq!(plan.grain, 2);
        // Two hand-overs of a unit, beside one another.
        assert!((m.seconds(&plan) - (2e-3 + 1e-6)).abs() < 1e-9);
        m.shapes[0].steps = vec![5.0, 1.0, 1.0, 1.0];
        assert!((m.work_seconds(&plan) - 4e-3 * 5.0 / 8.0).abs() < 1e-9);
        assert_eq!(m.rounds(&plan), 1.0);
        assert_eq!(m.best_plan(Structure::Pipeline).workers, 2);
        assert!(m.structures().any(|s| s == Structure::Pipeline));
        m.live = true;
        assert!(!m.structures().any(|s| s == Structure::Pipeline));
        (m.live, m.workers) = (false, 1);
        assert!(!m.structures().any(|s| s == Structure::Pipeline));
    }

    #[test]
    fn only_units_that_fit_the_outer_cache_but_not_many_times_warm_it() {
        let mut m = model(2, vec![shape(Structure::Tiled, vec![30], 2e6, 16e6)]);
        assert_eq!(m.warm_units(), None);
        m.outer_cache = 32e6;
        assert_eq!(m.warm_units(), Some(12));
        m.outer_cache = 64e6;
        assert_eq!(m.warm_units(), Some(16));
        m.outer_cache = 15e6;
        assert_eq!(m.warm_units(), None);
        m.outer_cache = 160e6;
        assert_eq!(m.warm_units(), None);
    }

    #[test]
    fn units_in_work_that_the_outer_cache_does_not_hold_take_longer() {
        let both = [Structure::Tiled, Structure::Farm].map(|s| shape(s, vec![1], 0.0, 16e6));
        let mut m = model(2, both.to_vec());
        let seconds = |m: &Model| {
            [Structure::Tiled, Structure::Farm].map(|s| m.work_seconds(&m.default_plan(s, 2)))
        };
        let unknown = seconds(&m);
        m.outer_cache = 48e6;
        assert_eq!(seconds(&m), unknown);
        m.outer_cache = 32e6;
        let [tiled, farm] = seconds(&m);
        assert_eq!(tiled, unknown[0]);
        assert_eq!(farm, 2.0 * unknown[1]);
        // Arithmetic does not hide it.
        m.shapes[1].work.ops = 8e6;
        assert!((m.work_seconds(&m.default_plan(Structure::Farm, 2)) - 5.6e-3).abs() < 1e-9);
    }

    #[test]
    fn a_last_round_half_empty_costs_time() {
        let m = model(2, vec![shape(Structure::Tiled, vec![30], 2e6, 0.0)]);
        // Three jobs of 10 on two workers: one runs two of them.
        let plan = Plan {
            grain: 10,
            ..m.default_plan(Structure::Tiled, 2)
        };
        assert!((m.work_seconds(&plan) - 1e-3 * 20.0 / 15.0).abs() < 1e-9);
    }

    #[test]
    fn tiny_units_are_divided_into_few_jobs() {
        let m = model(2, vec![shape(Structure::Tiled, vec![400], 2e4, 0.0)]);
        assert!(m.default_plan(Structure::Tiled, 2).grain >= 40);
        let m = model(2, vec![shape(Structure::Tiled, vec![400], 2e7, 0.0)]);
        assert_eq!(m.default_plan(Structure::Tiled, 2).grain, 10);
    }

    #[test]
    fn tiny_units_are_predicted_to_like_one_worker() {
        let m = model(8, vec![shape(Structure::Tiled, vec![40], 2e3, 0.0)]);
        assert_eq!(m.best_plan(Structure::Tiled).workers, 1);
        let m = model(8, vec![shape(Structure::Tiled, vec![4000], 2e7, 0.0)]);
        assert_eq!(m.best_plan(Structure::Tiled).workers, 8);
    }

    #[test]
    fn unmeasured_rates_leave_finite_predictions() {
        let mut m = model(2, vec![shape(Structure::Tiled, vec![40], 2e3, 0.0)]);
        m.rates = Rates {
            ops_per_s: 0.0,
            bytes_per_s: f64::NAN,
            bytes_per_s_together: f64::NAN,
            fresh_bytes_per_s: f64::NAN,
            job_s: -1.0,
            pass_s: 0.0,
        };
        let plan = m.default_plan(Structure::Tiled, 2);
        assert!(m.seconds(&plan).is_finite() && m.seconds(&plan) > 0.0);
    }

    #[test]
    fn a_structure_that_is_not_offered_is_named() {
        let m = model(2, vec![shape(Structure::Tiled, vec![40], 2e3, 0.0)]);
        let error = m
            .fixed(Structure::Farm, None, None)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "the service cannot run as 'farm'; one of: tiled");
    }
}
