//! Streams on cores and a simulated device: the same results, whatever the device does.

mod device_toy;

use std::sync::Arc;
use std::time::{Duration, Instant};

use device_toy::{Bytes, Collect, Counted, results};
use evener_runtime::device::sim::SimDevice;
use evener_runtime::device::{Device, DeviceError, DeviceInfo, Lane, Program};
use evener_runtime::stream::{Report, Schedule};
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::tuner::{Epoch, Measured, Purpose};
use evener_runtime::{Choice, Dispatch, Plan, Runtime};

fn runtime(sim: &str, checks: u64) -> Runtime {
    let device = SimDevice::parse(sim).unwrap();
    let builder = Runtime::builder().workers(2).device_checks(checks);
    builder.devices(vec![Arc::new(device)]).build().unwrap()
}

fn farm() -> Choice {
    "whole".parse().unwrap()
}

/// Runs units on two workers and the device, and compares what came out.
fn run(sim: &str, checks: u64, units: u64, choice: Choice) -> Report {
    let runtime = runtime(sim, checks);
    let mut collect = Collect::default();
    let stream = runtime.stream(Counted::new(units));
    let stream = stream.through(Bytes::taking(Duration::from_micros(300)));
    let report = stream.plan(choice).into(&mut collect).unwrap();
    assert!(collect.0 == results(units), "{sim}: results differ");
    report
}

#[test]
fn a_farm_has_devices_beside_its_workers() {
    let report = run("sim:latency=50us,unit=100us", 1000, 400, farm());
    let device = &report.devices[0];
    assert!(device.units > 100, "{device:?}");
    assert_eq!(device.lost, None);
    assert!(
        report.to_string().contains("2 workers + 1 device"),
        "{report}"
    );
}

#[test]
fn a_device_that_fails_costs_no_unit() {
    for (fault, said) in [
        ("lost=1", "is lost"),
        ("lost=20", "is lost"),
        ("flip=1", "computed unit"),
        ("flip=20", "computed unit"),
    ] {
        let report = run(&format!("sim:unit=100us,{fault}"), 1, 300, farm());
        let lost = report.devices[0].lost.as_deref().unwrap_or_default();
        assert!(lost.contains(said), "{fault}: {lost:?}");
    }
}

#[test]
fn a_device_without_memory_is_not_used() {
    let report = run("sim:memory=0.001", 1, 50, farm());
    let lost = report.devices[0].lost.as_deref().unwrap_or_default();
    assert!(lost.contains("no room for"), "{lost:?}");
    // With room for one lane there is one.
    let report = run("sim:memory=100000,unit=100us", 1, 100, farm());
    assert_eq!(report.devices[0].lost, None);
    assert!(report.devices[0].units > 0);
}

#[test]
fn a_wrong_bit_that_no_check_sees_would_be_seen() {
    // The comparison of this test notices what the device changes.
    let runtime = runtime("sim:unit=1us,lanes=1,flip=4", u64::MAX);
    let mut collect = Collect::default();
    let stream = runtime.stream(Counted::new(200));
    let stream = stream.through(Bytes::taking(Duration::from_millis(1)));
    stream.plan(farm()).into(&mut collect).unwrap();
    assert!(collect.0 != results(200));
}

#[test]
fn the_tuner_finds_a_device_that_helps() {
    let units = 3000;
    let report = run("sim:latency=50us,unit=30us", 1000, units, Choice::Auto);
    let share = report.devices[0].units as f64 / units as f64;
    assert!(share > 0.2, "{share}, {:#?}", report.decisions);
    assert_eq!(report.plan.map(|plan| plan.devices), Some(1));
}

/// A unit takes the device 200 ms, in which the cores do 200. Its first one is none of the stream, and there is no second.
#[test]
fn a_device_that_would_only_hold_others_up_gets_no_unit() {
    let (_, report) = seconds(Some("sim:unit=200ms"), 800, Choice::Auto);
    let device = &report.devices[0];
    assert_eq!((device.units, &device.lost), (0, &None));
    let with = |line: &&String| line.contains("+ 1 device");
    let said: Vec<&String> = report.decisions.iter().filter(with).collect();
    assert!(
        matches!(said[..], [line] if line.contains("predicted")),
        "{:#?}",
        report.decisions
    );
    assert!(report.plans.iter().all(|used| used.plan.devices == 0));
}

#[test]
fn a_device_whose_first_unit_fails_is_not_used() {
    for (fault, said) in [("lost=2", "is lost"), ("flip=1", "first unit wrong")] {
        let report = run(&format!("sim:unit=1ms,{fault}"), 1, 1500, Choice::Auto);
        let lost = report.devices[0].lost.as_deref().unwrap_or_default();
        assert!(lost.contains(said), "{fault}: {lost:?}");
        assert_eq!(report.devices[0].units, 0);
    }
}

/// One plan.
struct Always(Plan);

impl Schedule for Always {
    fn next(&mut self) -> Epoch {
        Epoch {
            number: 1,
            plan: self.0,
            units: 10,
            cutoff: None,
            fallback: self.0,
            pin_workers: false,
            purpose: Purpose::Fixed,
        }
    }

    fn record(&mut self, _: Measured<'_>) {}
    fn buffers(&mut self, _: Duration, _: u32) {}
    fn prepared(&mut self, _: Duration) {}
}

/// Memory that a structure keeps for one unit is not the trial's.
#[test]
fn a_device_is_tried_beside_units_that_are_divided() {
    let plan = Plan {
        structure: &SEQUENTIAL,
        dispatch: Dispatch::Fifo,
        grain: 1,
        workers: 1,
        devices: 0,
    };
    let mut collect = Collect::default();
    let runtime = runtime("sim:flip=1", 1);
    let stream = runtime.stream(Counted::new(500));
    let stream = stream.through(Bytes::taking(Duration::from_micros(300)));
    let stream = stream.scheduled_by(Always(plan));
    let report = stream.into(&mut collect).unwrap();
    assert!(collect.0 == results(500));
    assert!(report.devices[0].lost.is_some());
}

#[test]
fn a_stream_is_over_before_devices_are_opened() {
    let report = run("sim", 1000, 20, Choice::Auto);
    assert!(report.devices.is_empty());
}

#[test]
fn a_plan_without_a_farm_opens_no_device() {
    let report = run("sim", 1000, 400, "sequential".parse().unwrap());
    assert!(report.wall_s > 0.06, "{}", report.wall_s);
    assert!(report.devices.is_empty());
}

/// Buffers for units that lie on a device are made when it takes part. This stream is over before it is open.
#[test]
fn a_farm_without_devices_makes_no_buffers_for_them() {
    let report = run("sim", 1000, 60, Choice::Auto);
    assert!(
        report
            .plans
            .iter()
            .any(|used| used.plan.structure.name == "whole"),
        "{:#?}",
        report.decisions
    );
    assert!(report.memory.outputs <= 40, "{}", report.memory.outputs);
}

/// A driver that panics.
#[derive(Debug)]
struct Panics(SimDevice);

impl Device for Panics {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    fn lane(&self, _: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        panic!("a panic for a test")
    }
}

#[test]
fn a_driver_that_panics_is_no_device() {
    let device = Panics(SimDevice::parse("sim").unwrap());
    let builder = Runtime::builder().workers(2);
    let runtime = builder.devices(vec![Arc::new(device)]).build().unwrap();
    let mut collect = Collect::default();
    let stream = runtime.stream(Counted::new(20));
    let stream = stream.through(Bytes::taking(Duration::from_micros(300)));
    let report = stream.plan(farm()).into(&mut collect).unwrap();
    assert!(collect.0 == results(20));
    assert!(report.devices.is_empty());
}

#[test]
fn a_lost_device_is_left_alone_by_the_tuner() {
    let report = run("sim:unit=30us,lost=40", 1000, 3000, Choice::Auto);
    assert!(report.devices[0].lost.is_some());
    assert_eq!(
        report.plan.map(|plan| plan.devices),
        Some(0),
        "{:#?}",
        report.decisions
    );
}

const CORE: Duration = Duration::from_millis(2);

/// Runs units that a core takes 2 ms for; how long it took.
fn seconds(sim: Option<&str>, units: u64, choice: Choice) -> (f64, Report) {
    let runtime = match sim {
        Some(sim) => runtime(sim, u64::MAX),
        None => Runtime::builder().workers(2).build().unwrap(),
    };
    let stream = runtime.stream(Counted::new(units));
    let stream = stream.through(Bytes::taking(CORE)).plan(choice);
    let begin = Instant::now();
    let report = stream.into(evener_runtime::Discard).unwrap();
    (begin.elapsed().as_secs_f64(), report)
}

/// The speed of a stream, whole and in its last quarter, beside what two cores and a device of `speed` cores come to
/// together. It is to take about `length` seconds.
fn share_of_sum(speed: f64, length: f64) -> (f64, f64) {
    let unit = CORE.as_secs_f64() / speed;
    let (alone, _) = seconds(None, 1000, farm());
    let rate = 1000.0 / alone + 1.0 / unit;
    let units = (length * rate) as u64;
    let sim = format!("sim:latency=30us,unit={}us", unit * 1e6);
    let (took, report) = seconds(Some(&sim), units, Choice::Auto);
    let whole = units as f64 / rate / took;
    let last = 1.0 / rate / report.last_quarter.median_s;
    println!(
        "a device of {speed} cores: {:.1} % of the sum, {:.1} % in the last quarter; {} of {units} units in {took:.1} s",
        100.0 * whole,
        100.0 * last,
        report.devices.first().map_or(0, |device| device.units)
    );
    if std::env::var_os("TUNER_LOG").is_some() {
        report
            .decisions
            .iter()
            .for_each(|line| println!("  {line}"));
    }
    (whole, last)
}

/// Real time, so with room for a machine that is busy.
#[test]
fn cores_and_device_come_to_nearly_the_sum_of_their_speeds() {
    for speed in [0.5, 10.0] {
        let (whole, _) = share_of_sum(speed, 2.0);
        assert!(whole > 0.5, "{speed}: {whole}");
    }
}

/// `cargo test -p evener-runtime --test devices -- --ignored --nocapture`
#[test]
#[ignore = "measures for two minutes"]
fn figures() {
    for speed in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0] {
        share_of_sum(speed, 10.0);
    }
}

/// Two devices that only hold others up, by turns with none, in streams of 1 and 4 s.
#[test]
#[ignore = "measures for two minutes"]
fn useless_devices() {
    for sim in ["sim:latency=5ms,unit=20ms", "sim:latency=100us,unit=200ms"] {
        for (units, rounds) in [(1000, 7), (4000, 3)] {
            let mut ratios: Vec<f64> = (0..rounds)
                .map(|_| {
                    let (without, _) = seconds(None, units, Choice::Auto);
                    let (with, _) = seconds(Some(sim), units, Choice::Auto);
                    with / without
                })
                .collect();
            ratios.sort_by(f64::total_cmp);
            println!(
                "{sim}, {units} units: {:.3} of the time without, of {ratios:.3?}",
                ratios[rounds / 2]
            );
        }
    }
}
