//! The plans that a service's shapes allow on this machine, and the first plan of a structure.

use super::api::{SetupError, TunerSetup};
use super::model::{Model, Slower, WITH_DEVICES};
use crate::plan::{Dispatch, Plan};
use crate::service::Shape;
use crate::structure::{Flow, Structure};

/// Units that an experiment with devices needs for each worker and device at least: a device has several in work.
const DEVICE_UNITS: u32 = 6;
/// Groups until the outer cache holds what lies side by side.
const WARM_GROUPS: u32 = 3;
/// A plan with more jobs, or on more workers, must be so much faster by prediction.
const BETTER: f64 = 0.97;

/// What running a plan takes beside its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Footprint {
    /// Units in work at once: a unit's own time is so many times its share.
    pub(super) in_work: u32,
    /// Units that are begun and end together, whose times are one.
    pub(super) group: u32,
    /// Units that one measurement needs at least, and that warm it up.
    pub(super) least: u32,
    pub(super) warmup: u32,
}

impl Footprint {
    /// Units of an epoch that should have `units`.
    pub(super) fn round(&self, units: u32) -> u32 {
        units.max(self.least).next_multiple_of(self.group)
    }
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
            slower: Slower::NOT,
            dispatches,
            workers: setup
                .fixed_workers
                .unwrap_or(setup.workers)
                .clamp(1, setup.workers.max(1)),
            cpus: setup.cpus.max(1.0),
            outer_cache: setup.outer_cache.unwrap_or(0) as f64,
            devices: setup.devices,
            with_devices: WITH_DEVICES,
            pinned_workers: setup.fixed_workers.is_some(),
            live: setup.live,
            crowded: setup.crowded,
        })
    }

    /// The plan a user named, completed with what it would begin with otherwise: a plan without a grain is divided as
    /// well as is known before anything was measured.
    pub(super) fn fixed(
        &self,
        name: &str,
        dispatch: Option<Dispatch>,
        grain: Option<u32>,
    ) -> Result<Plan, SetupError> {
        let mut offered = self.shapes.iter().map(|s| s.structure);
        let Some(structure) = offered.clone().find(|s| s.name == name) else {
            let offered: Vec<_> = offered.by_ref().map(|s| s.name).collect();
            return Err(SetupError::NotOffered {
                asked: name.to_owned(),
                offered: offered.join(", "),
            });
        };
        let plan = self.default_plan(structure, self.workers);
        Ok(Plan {
            dispatch: dispatch.unwrap_or(plan.dispatch),
            grain: grain.unwrap_or(plan.grain).max(1),
            devices: match self.takes_devices(structure) {
                true => self.devices,
                false => 0,
            },
            ..plan
        })
    }

    pub(super) fn shape(&self, structure: &'static Structure) -> Option<&Shape> {
        self.shapes.iter().find(|s| s.structure == structure)
    }

    /// The structures the tuner may choose by itself.
    pub(super) fn structures(&self) -> impl Iterator<Item = &'static Structure> + '_ {
        self.shapes.iter().map(|s| s.structure).filter(|s| {
            let runs = match s.flow {
                Flow::Divided => true,
                Flow::Farm | Flow::Grouped => !self.live,
                // One worker alone has all stages, which is what a farm of one does.
                Flow::Pipeline => !self.live && self.workers > 1,
                Flow::Wavefront => !self.live || self.shape(s).is_some_and(Shape::suits_live),
            };
            s.automatic && runs
        })
    }

    /// The flavour that plans of a structure begin with.
    pub(super) fn dispatch(&self, structure: &'static Structure) -> Dispatch {
        let usual = structure.dispatch;
        let allowed = self.dispatches.contains(&usual);
        if allowed { usual } else { self.dispatches[0] }
    }

    fn takes_devices(&self, structure: &'static Structure) -> bool {
        self.shape(structure).is_some_and(Shape::takes_devices)
    }

    /// The plans with all devices.
    pub(super) fn device_plans(&self) -> impl Iterator<Item = Plan> + '_ {
        let with = self.structures().filter(|s| self.takes_devices(s));
        let with = with.filter(|_| self.devices > 0);
        with.map(|structure| Plan {
            devices: self.devices,
            ..self.default_plan(structure, self.workers)
        })
    }

    /// Items of the longest pass, at least 1.
    fn items(&self, structure: &'static Structure) -> u32 {
        let longest = |shape: &Shape| shape.passes.iter().copied().max();
        self.shape(structure).and_then(longest).unwrap_or(1).max(1)
    }

    /// The smallest and the largest grain worth trying: from the service's limit to one job for each worker.
    pub(super) fn grains(&self, structure: &'static Structure, workers: u32) -> (u32, u32) {
        let least = self.shape(structure).map_or(1, |s| s.min_grain.max(1));
        let most = match structure.flow {
            // A unit is one job.
            Flow::Farm => return (1, 1),
            // From a stage for each worker to two stages, which is the least that makes a pipeline.
            Flow::Pipeline => {
                let items = self.items(structure);
                let least = least.max(items.div_ceil(workers.max(1)));
                return (least, items.div_ceil(2).max(least));
            }
            // From a step to half a line: behind a whole one the next would wait to its end.
            Flow::Wavefront => self
                .shape(structure)
                .map_or(1, |s| steps_of_line(s).div_ceil(2)),
            Flow::Divided | Flow::Grouped => self.items(structure).div_ceil(workers.max(1)),
        };
        (least, most.max(least))
    }

    /// The structure's default plan on so many workers, in larger jobs where those are predicted to pay.
    pub(super) fn default_plan(&self, structure: &'static Structure, workers: u32) -> Plan {
        let grain = self.shape(structure).map_or(1, |s| s.default_grain);
        let (least, most) = self.grains(structure, workers);
        let dispatch = self.dispatch(structure);
        let mut plan = Plan {
            structure,
            dispatch,
            grain: grain.clamp(least, most),
            workers,
            devices: 0,
        };
        // Units far smaller than the service thought of when it chose its default go into fewer jobs.
        loop {
            let larger = Plan {
                grain: plan.grain.saturating_mul(2).min(most),
                ..plan
            };
            if self.seconds(&larger) > BETTER * self.seconds(&plan) {
                return plan;
            }
            plan = larger;
        }
    }

    /// The default plan on the number of workers that the model likes best.
    pub(super) fn best_plan(&self, structure: &'static Structure) -> Plan {
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
            if self.seconds(&plan) < BETTER * self.seconds(&best) {
                best = plan;
            }
        }
        best
    }

    /// Fewest workers that are worth trying.
    pub(super) fn least_workers(&self, structure: &'static Structure) -> u32 {
        match structure.flow {
            Flow::Pipeline => 2.min(self.workers),
            _ => 1,
        }
    }

    /// The plan can be run by this service on these workers.
    pub(super) fn allows(&self, plan: &Plan) -> bool {
        self.structures().any(|s| s == plan.structure)
            && self.dispatches.contains(&plan.dispatch)
            && (1..=self.items(plan.structure)).contains(&plan.grain)
            && (1..=self.workers).contains(&plan.workers)
            && plan.devices <= self.devices
            && (!self.pinned_workers || plan.workers == self.workers)
    }

    /// What running a plan takes beside its cost.
    pub(super) fn footprint(&self, plan: &Plan) -> Footprint {
        let together = self.shape(plan.structure).map_or(1, |s| s.units.max(1));
        let (in_work, group) = match plan.structure.flow {
            Flow::Divided => (1, 1),
            Flow::Grouped => (together, together),
            Flow::Wavefront => (together, 1),
            Flow::Farm | Flow::Pipeline => (plan.workers, 1),
        };
        Footprint {
            in_work,
            group,
            least: match plan.devices {
                0 => in_work,
                devices => DEVICE_UNITS * (plan.workers + devices),
            },
            warmup: match plan.structure.flow {
                Flow::Divided => 1,
                Flow::Grouped => WARM_GROUPS * group,
                _ => 0,
            },
        }
    }

    /// The structure that the model likes best; one that has several units in work only if there is no other.
    pub(super) fn safest(&self) -> Option<Plan> {
        let plans = || self.structures().map(|structure| self.best_plan(structure));
        let least = |a: &Plan, b: &Plan| self.seconds(a).total_cmp(&self.seconds(b));
        plans()
            .filter(|plan| !plan.structure.overlaps())
            .min_by(least)
            .or_else(|| plans().min_by(least))
    }
}

/// Steps of the longest line of a wavefront.
fn steps_of_line(shape: &Shape) -> u32 {
    let passes = shape.passes.iter().zip(&shape.lines);
    let steps = passes.map(|(&items, &lines)| items / lines.max(1));
    steps.max().unwrap_or(1)
}

/// What tests of the tuner begin with.
#[cfg(test)]
pub(super) fn setup(workers: u32, shapes: Vec<Shape>) -> TunerSetup {
    TunerSetup {
        shapes,
        rates: crate::rates::Rates {
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
        devices: 0,
        choice: crate::plan::Choice::Auto,
        fixed_workers: None,
        crowded: false,
    }
}

#[cfg(test)]
pub(super) fn model(workers: u32, shapes: Vec<Shape>) -> Model {
    Model::new(&setup(workers, shapes)).unwrap()
}

#[cfg(test)]
pub(super) fn shape(
    structure: &'static Structure,
    passes: Vec<u32>,
    ops: f64,
    bytes: f64,
) -> Shape {
    Shape {
        structure,
        passes,
        steps: Vec::new(),
        lines: Vec::new(),
        pass_names: Vec::new(),
        default_grain: 10,
        min_grain: 2,
        units: 1,
        device_pass: None,
        work: crate::service::Work {
            ops,
            bytes,
            fresh: 0.0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::FARM;
    use crate::structure::fixtures::{TILED, WAVEFRONT};

    #[test]
    fn plans_begin_with_the_usual_dispatch_where_that_is_allowed() {
        let both = || [&TILED, &FARM].map(|s| shape(s, vec![400], 4e6, 0.0));
        let begun = |m: &Model| [&TILED, &FARM].map(|s| m.best_plan(s).dispatch);
        let mut m = model(4, both().to_vec());
        assert_eq!(begun(&m), [Dispatch::Steal, Dispatch::Fifo]);
        let named = m.fixed("tiled", None, None).unwrap();
        assert_eq!(named.dispatch, Dispatch::Steal);
        m.dispatches = vec![Dispatch::Mailbox];
        assert_eq!(begun(&m), [Dispatch::Mailbox; 2]);
    }

    #[test]
    fn tiny_units_are_divided_into_few_jobs() {
        let m = model(2, vec![shape(&TILED, vec![400], 2e4, 0.0)]);
        assert!(m.default_plan(&TILED, 2).grain >= 40);
        let m = model(2, vec![shape(&TILED, vec![400], 2e7, 0.0)]);
        assert_eq!(m.default_plan(&TILED, 2).grain, 10);
    }

    #[test]
    fn a_named_plan_is_divided_as_one_that_is_found_unless_its_grain_is_named_too() {
        let m = model(2, vec![shape(&TILED, vec![400], 2e4, 0.0)]);
        let grain = |named| m.fixed("tiled", None, named).unwrap().grain;
        assert_eq!(grain(None), m.default_plan(&TILED, 2).grain);
        assert_eq!(grain(Some(10)), 10);
    }

    #[test]
    fn tiny_units_are_predicted_to_like_one_worker() {
        let m = model(8, vec![shape(&TILED, vec![40], 2e3, 0.0)]);
        assert_eq!(m.best_plan(&TILED).workers, 1);
        let m = model(8, vec![shape(&TILED, vec![4000], 2e7, 0.0)]);
        assert_eq!(m.best_plan(&TILED).workers, 8);
    }

    #[test]
    fn a_wavefront_is_cut_at_least_into_half_lines_and_has_all_its_units_in_work() {
        let waves = |units| Shape {
            lines: vec![20, 1],
            units,
            ..shape(&WAVEFRONT, vec![400, 30], 4e6, 0.0)
        };
        let m = model(4, vec![waves(7)]);
        assert_eq!(m.grains(&WAVEFRONT, 4), (2, 15));
        let plan = m.best_plan(&WAVEFRONT);
        assert_eq!((plan.workers, plan.grain), (4, 10));
        let footprint = m.footprint(&plan);
        assert_eq!((footprint.in_work, footprint.least), (7, 7));
        // The work is divided evenly, and 21 lines are handed out by four workers.
        assert!((m.seconds(&plan) - (1e-3 + 21e-6 / 4.0)).abs() < 1e-9);
        for (units, runs) in [(7, 0), (1, 1)] {
            let live = TunerSetup {
                live: true,
                ..setup(4, vec![waves(units)])
            };
            assert_eq!(Model::new(&live).unwrap().structures().count(), runs);
        }
    }

    #[test]
    fn a_structure_that_is_not_offered_is_named() {
        let m = model(2, vec![shape(&TILED, vec![40], 2e3, 0.0)]);
        let error = m.fixed("farm", None, None).unwrap_err().to_string();
        assert_eq!(error, "the service cannot run as 'farm'; one of: tiled");
    }
}
