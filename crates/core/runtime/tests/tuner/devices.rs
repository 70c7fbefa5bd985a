//! Devices of a farm whose pace is known: of no use, of some in a long stream, and of much.

use std::time::Duration;

use evener_runtime::tuner::{Measured, Tuner, TunerSetup};
use evener_runtime::{Shape, Work};

use crate::frames::frames;
use crate::rng::Rng;
use crate::structures::{FARM, SEQUENTIAL};

/// Seconds of a unit on a worker.
const UNIT_S: f64 = 5e-3;

/// Units of a stream that ran with a device, which would compute `rate` a second, and whether the last did.
fn with_device(rate: f64, units: u64) -> (u64, bool) {
    let work = Work {
        ops: UNIT_S * 1e9,
        ..Work::default()
    };
    let shapes = [&SEQUENTIAL, &FARM].map(|structure| Shape::new(structure, vec![1], 1, work));
    let mut tuner = Tuner::new(TunerSetup {
        shapes: shapes.to_vec(),
        units: Some(units),
        ..frames(2, units, 1e-3, 1080, 0.2, &mut Rng::new(1)).setup()
    })
    .unwrap();
    let (mut done, mut with, mut told) = (0, 0, false);
    while done < units {
        if done > 50 && !told {
            tuner.devices(1, Some(rate));
            told = true;
        }
        let epoch = tuner.next();
        let plan = epoch.plan;
        let count = u64::from(epoch.units).min(units - done);
        let cores = f64::from(plan.workers) / UNIT_S;
        let cost = match plan.structure == &FARM {
            true => 1.0 / (cores + f64::from(plan.devices) * rate),
            false => UNIT_S,
        };
        let costs = vec![Duration::from_secs_f64(cost); count as usize];
        tuner.record(Measured::Units { costs: &costs });
        done += count;
        with += if plan.devices > 0 { count } else { 0 };
    }
    (with, tuner.incumbent().devices > 0)
}

#[test]
fn a_device_is_tried_where_it_can_be_of_use() {
    assert_eq!(with_device(5.0, 400), (0, false));
    assert!(with_device(50.0, 20_000).1);
    assert!(with_device(1000.0, 400).1);
}
