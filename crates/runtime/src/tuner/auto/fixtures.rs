//! Streams and candidates that tests of the search begin with.

use super::super::api::TunerSetup;
use super::super::decision::Log;
use super::super::model::{Model, setup};
use super::Auto;
use crate::plan::{Dispatch, Plan};
use crate::service::{Shape, Work};
use crate::structure::fixtures::{BACKWARD, GROUPED, TILED};
use crate::structure::{FARM, Structure};

pub(super) fn shape(structure: &'static Structure) -> Shape {
    let work = Work {
        ops: 1e7,
        bytes: 16e6,
        fresh: 0.0,
    };
    Shape::new(structure, vec![64], 1, work)
}

/// A stream whose units are half of the outer cache.
pub(super) fn auto() -> Auto {
    let setup = TunerSetup {
        outer_cache: Some(32 << 20),
        units: Some(1000),
        ..setup(2, vec![shape(&TILED), shape(&FARM)])
    };
    let model = Model::new(&setup).unwrap();
    Auto::new(model, &setup, &mut Log::new()).unwrap()
}

/// A stream whose units are short and small.
pub(super) fn short() -> Auto {
    let small = |structure| {
        let work = Work {
            ops: 1e5,
            bytes: 1e5,
            fresh: 0.0,
        };
        Shape::new(structure, vec![64], 1, work)
    };
    let structures = [&TILED, &BACKWARD, &FARM];
    let setup = TunerSetup {
        outer_cache: Some(32 << 20),
        units: Some(3000),
        ..setup(2, structures.map(small).to_vec())
    };
    let model = Model::new(&setup).unwrap();
    let mut auto = Auto::new(model, &setup, &mut Log::new()).unwrap();
    auto.level.restart(Some(20e-6_f64.ln()));
    auto
}

pub(super) fn arm_of(auto: &Auto, structure: &'static Structure) -> usize {
    let mut plans = auto.arms.iter().map(|arm| arm.plan.structure);
    plans.position(|other| other == structure).unwrap()
}

/// Eight units abreast take as long as one.
pub(super) fn abreast() -> TunerSetup {
    let shape = Shape {
        units: 8,
        ..shape(&GROUPED)
    };
    let plan = Plan {
        structure: &GROUPED,
        dispatch: Dispatch::Fifo,
        grain: 8,
        workers: 2,
    };
    TunerSetup {
        units: Some(1000),
        remembered: Some(plan),
        ..setup(2, vec![self::shape(&TILED), shape])
    }
}
