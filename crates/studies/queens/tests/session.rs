//! Boards on a runtime: every plan and number of workers, and checkpoints between.

use std::sync::Arc;
use std::time::Duration;

use evener_devices::c::CDevice;
use evener_queens::{Options, Session, SessionError, Starts};
use evener_runtime::device::Device;
use evener_runtime::device::sim::SimDevice;
use evener_runtime::structure::{FARM, SEQUENTIAL};
use evener_runtime::{CancelToken, Choice, Dispatch, Runtime};
use evener_testing::Folder;

const TOTALS: [u128; 14] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712];

fn runtime(workers: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .memory(false)
        .build()
        .unwrap()
}

fn options(plan: Choice, workers: u32) -> Options<'static> {
    Options {
        plan,
        workers: Some(workers),
        ..Options::default()
    }
}

#[test]
fn every_plan_and_number_of_workers_has_the_same_total() {
    let runtime = runtime(4);
    let mut plans = vec![Choice::Auto];
    for structure in [&SEQUENTIAL, &FARM] {
        for dispatch in Dispatch::ALL {
            for grain in [None, Some(1), Some(1000)] {
                plans.push(Choice::Fixed {
                    structure: structure.to_string(),
                    dispatch: Some(dispatch),
                    grain,
                });
            }
        }
    }
    for n in [6, 12] {
        for plan in &plans {
            for workers in [1, 2, 3, 4] {
                let session = Session::open(n, None).unwrap();
                let outcome = session
                    .run(&runtime, options(plan.clone(), workers))
                    .unwrap();
                assert_eq!(
                    outcome.total,
                    Some(TOTALS[n as usize]),
                    "{plan:?}, {workers}"
                );
            }
        }
    }
}

/// Devices beside two workers, which are compared with a core often.
fn runtime_with(device: Arc<dyn Device>) -> Runtime {
    Runtime::builder()
        .workers(2)
        .memory(false)
        .devices(vec![device])
        .device_checks(10)
        .build()
        .unwrap()
}

#[test]
fn devices_beside_the_cores_have_the_same_total() {
    let sim = SimDevice::parse("sim:latency=20us,speed=50").unwrap();
    let devices: [Arc<dyn Device>; 2] = [Arc::new(sim), Arc::new(CDevice::new())];
    for device in devices {
        let runtime = runtime_with(device);
        for (n, total) in [(4, 2), (6, 4), (9, 352), (16, 14_772_512)] {
            for workers in [1, 2] {
                let session = Session::open(n, None).unwrap();
                let plan = "farm".parse().unwrap();
                let outcome = session.run(&runtime, options(plan, workers)).unwrap();
                assert_eq!(outcome.total, Some(total), "n {n}");
                let used = &outcome.report.devices;
                assert!(
                    n < 16 || used.iter().any(|d| d.units > 0),
                    "n {n}: {used:?}"
                );
            }
        }
    }
}

#[test]
fn a_lost_device_costs_no_solution() {
    for fault in ["lost=3", "flip=1", "memory=1"] {
        let sim = SimDevice::parse(&format!("sim:speed=50,{fault}")).unwrap();
        let runtime = runtime_with(Arc::new(sim));
        let session = Session::open(16, None).unwrap();
        let outcome = session.run(&runtime, options("farm".parse().unwrap(), 2));
        let outcome = outcome.unwrap();
        assert_eq!(outcome.total, Some(14_772_512), "{fault}");
        let lost = outcome.report.devices.iter().filter(|d| d.lost.is_some());
        assert_eq!(lost.count(), 1, "{fault}");
    }
}

#[test]
fn small_boards_and_those_without_solutions() {
    let runtime = runtime(2);
    for (n, total) in (0..).zip(TOTALS) {
        let outcome = Session::open(n, None)
            .unwrap()
            .run(&runtime, Options::default());
        let outcome = outcome.unwrap();
        assert_eq!(outcome.total, Some(total), "n {n}");
        assert_eq!(outcome.progress.run, 1.0, "n {n}");
    }
}

#[test]
fn a_run_that_was_ended_goes_on_under_another_plan() {
    let folder = Folder::new();
    let file = folder.path("checkpoint.txt");
    let runtime = runtime(2);
    let plans: [Choice; 4] =
        ["farm", "sequential", "auto", "farm/steal"].map(|p| p.parse().unwrap());
    let (mut runs, mut resumed) = (0, 0);
    let total = loop {
        let session = Session::open(13, Some((&file, Duration::ZERO))).unwrap();
        let cancel = CancelToken::new();
        let ends = cancel.clone();
        let outcome = session.run(
            &runtime,
            Options {
                plan: plans[runs % plans.len()].clone(),
                cancel,
                // Progress is told every tenth of a second at most, so a short run may not be ended.
                on_progress: Some(Box::new(move |_, _| ends.cancel())),
                ..Options::default()
            },
        );
        let outcome = outcome.unwrap();
        assert!(outcome.resumed >= resumed && outcome.problem.is_none());
        resumed = outcome.checkpoint.done();
        runs += 1;
        if let Some(total) = outcome.total {
            break total;
        }
        assert!(outcome.report.cancelled && runs < 1000);
    };
    assert_eq!(total, TOTALS[13]);
    // What is complete stays, and is not searched again.
    let session = Session::open(13, Some((&file, Duration::ZERO))).unwrap();
    let outcome = session.run(&runtime, Options::default()).unwrap();
    assert_eq!((outcome.total, outcome.report.units), (Some(total), 0));
    let names = std::fs::read_dir(file.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 1);
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn files_that_are_no_checkpoint_of_it_stay_as_they_are() {
    let folder = Folder::new();
    let file = folder.path("checkpoint.txt");
    let session = Session::open(12, Some((&file, Duration::ZERO))).unwrap();
    assert!(!file.exists(), "nothing is written before it runs");
    session.run(&runtime(1), Options::default()).unwrap();
    let written = std::fs::read(&file).unwrap();
    let refused = Session::open(11, Some((&file, Duration::ZERO))).err();
    assert!(matches!(refused, Some(SessionError::Checkpoint { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), written);
    for bytes in [&b""[..], b"\xff\xfe\x00", &written[..written.len() - 3]] {
        std::fs::write(&file, bytes).unwrap();
        let refused = Session::open(12, Some((&file, Duration::ZERO))).err();
        assert!(matches!(refused, Some(SessionError::Checkpoint { .. })));
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
    }
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn plans_that_there_are_not_are_refused() {
    let runtime = runtime(1);
    let session = Session::open(8, None).unwrap();
    let refused = session.run(&runtime, options("tiled".parse().unwrap(), 1));
    assert!(refused.unwrap_err().is_request());
    assert!(Session::open(31, None).err().unwrap().is_request());
    assert!(Starts::new(31).is_err());
}
