//! Streams on cores and a simulated device: the same results, whatever the device does.

mod device_toy;

use std::sync::Arc;
use std::time::{Duration, Instant};

use device_toy::{Bytes, Collect, Counted, results};
use evener_runtime::device::sim::SimDevice;
use evener_runtime::stream::Report;
use evener_runtime::{Choice, Runtime};

fn runtime(sim: &str, checks: u64) -> Runtime {
    let device = SimDevice::parse(sim).unwrap();
    let builder = Runtime::builder().workers(2).device_checks(checks);
    builder.devices(vec![Arc::new(device)]).build().unwrap()
}

fn farm() -> Choice {
    "farm".parse().unwrap()
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
    let runtime = runtime("sim:unit=1us,lanes=1,flip=2", u64::MAX);
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
    assert!(share > 0.4, "{share}, {:#?}", report.decisions);
    assert_eq!(report.plan.map(|plan| plan.devices), Some(1));
}

#[test]
fn a_stream_is_over_before_devices_are_opened() {
    let report = run("sim", 1000, 20, Choice::Auto);
    assert!(report.devices.is_empty());
}

#[test]
fn a_lost_device_is_left_alone_by_the_tuner() {
    let report = run("sim:unit=30us,lost=40", 1000, 3000, Choice::Auto);
    assert!(report.devices[0].lost.is_some());
    assert_eq!(report.plan.map(|plan| plan.devices), Some(0));
}

/// How long a stream takes beside what cores and device come to together.
fn share_of_sum(speed: f64, units: u64) -> f64 {
    let core = Duration::from_millis(2);
    let unit = core.div_f64(speed);
    let sim = format!("sim:latency=30us,unit={}us", unit.as_secs_f64() * 1e6);
    let runtime = runtime(&sim, u64::MAX);
    let stream = runtime.stream(Counted::new(units));
    let stream = stream.through(Bytes::taking(core));
    let begin = Instant::now();
    let report = stream
        .plan(Choice::Auto)
        .into(evener_runtime::Discard)
        .unwrap();
    let took = begin.elapsed().as_secs_f64();
    let rate = 2.0 / core.as_secs_f64() + 1.0 / unit.as_secs_f64();
    let reached = units as f64 / rate / took;
    let last = 1.0 / rate / report.last_quarter.median_s;
    println!(
        "{speed} x: {:.1} % of the sum, {:.1} % in the last quarter, {} of {units} units, {report}",
        100.0 * reached,
        100.0 * last,
        report.devices.first().map_or(0, |device| device.units)
    );
    if std::env::var_os("TUNER_LOG").is_some() {
        report
            .decisions
            .iter()
            .for_each(|line| println!("  {line}"));
    }
    reached
}

/// Real time, so with room for a machine that is busy; figures are printed.
#[test]
fn cores_and_device_come_to_nearly_the_sum_of_their_speeds() {
    for (speed, units) in [(0.5, 3000), (2.0, 5000), (10.0, 12000), (50.0, 40000)] {
        let reached = share_of_sum(speed, units);
        assert!(reached > 0.5, "{speed}: {reached}");
    }
}
