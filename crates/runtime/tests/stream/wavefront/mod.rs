//! Lines of steps of several units on different workers.

mod waves;

use std::sync::atomic::Ordering;

use evener_runtime::{Dispatch, Plan, Runtime};

use self::waves::*;
use crate::structures::WAVEFRONT;
use crate::toy::{Fail, plan, within};

fn workers(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

fn wave(grain: u32, workers: u32) -> Plan {
    plan(&WAVEFRONT, Dispatch::Fifo, grain, workers)
}

#[test]
fn a_unit_by_itself_is_as_if_it_were_alone_in_its_stream() {
    within(|| {
        let rt = workers(4);
        for geometry in [
            Geometry::default(),
            Geometry {
                ahead: 2,
                ..Geometry::default()
            },
            Geometry {
                rows: 1,
                columns: 1,
                units: 1,
                ..Geometry::default()
            },
        ] {
            let expected = geometry.expected(1);
            for count in 1..=4 {
                for grain in [1, 2, 3, 7, 100] {
                    let service = Waves::new(geometry, 1);
                    let (input, output) = (Numbered::default(), Written::default());
                    let plan = wave(grain, count);
                    rt.execute(&service, &plan, &input, &output).unwrap();
                    assert_eq!(output.value.load(Ordering::Relaxed), expected[0]);
                    service.check(1);
                }
            }
        }
    });
}

#[test]
fn a_unit_by_itself_can_fail() {
    within(|| {
        for fail in [Fail::Error, Fail::Panic] {
            for pass in [SEARCH, DECIDE, FILTER, WRITE] {
                let mut service = Waves::new(Geometry::default(), 1);
                let at = Step {
                    unit: 0,
                    pass,
                    line: 0,
                    step: 3,
                };
                service.fail = Some((at, fail));
                let (input, output) = (Numbered::default(), Written::default());
                let error = workers(3)
                    .execute(&service, &wave(2, 3), &input, &output)
                    .unwrap_err();
                let message = match fail {
                    Fail::Error => "unit 0 failed: the wave broke",
                    Fail::Panic => "unit 0 failed: panicked: the wave fell",
                };
                assert_eq!(error.to_string(), message);
            }
        }
    });
}
