//! Wavefronts of which devices compute a pass: the same results, whatever the device does.

use std::sync::Arc;
use std::time::Duration;

use evener_runtime::device::sim::SimDevice;
use evener_runtime::device::{
    Arg, Arithmetic, Buffer, Command, DeviceError, HostMemory, Lane, Launch, OnDevice, Program,
    UnitLane,
};
use evener_runtime::{Choice, Plan, Report, Runtime};
use proptest::prelude::*;

use super::waves::*;
use super::{any_geometry, ragged, units, wave};
use crate::toy::{Script, within};

static PROGRAM: Program = Program {
    name: "waves",
    source: "",
    needs: Arithmetic::INTEGER,
};

const VALUE: usize = size_of::<u64>();

impl OnDevice<Numbered, Written> for Waves {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn begin<'a>(
        &'a self,
        mut lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<Numbered, Written> + 'a>, DeviceError> {
        let bytes = VALUE * self.searched(0).count();
        let values = lane.buffer(bytes)?;
        Ok(Box::new(WavesLane {
            waves: self,
            lane,
            values,
            bytes: vec![0; bytes],
        }))
    }

    fn is_right(&self, input: &Numbered, _: &Written) -> bool {
        let mut steps = self.searched(input.number);
        steps.all(|step| self.known(step) == self.value(step))
    }
}

struct WavesLane<'a> {
    waves: &'a Waves,
    lane: Box<dyn Lane>,
    values: Buffer,
    bytes: Vec<u8>,
}

impl UnitLane<Numbered, Written> for WavesLane<'_> {
    fn run(
        &mut self,
        inputs: &[&Numbered],
        outputs: &[&Written],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        assert_eq!((inputs.len(), outputs.len()), (1, 1));
        let unit = inputs[0].number;
        let steps: Vec<Step> = self.waves.searched(unit).collect();
        let (waves, to) = (self.waves, self.values);
        // The step before in its line is one of these, which no other reads yet.
        let host = |memory: &HostMemory| {
            let mut memory = memory.write(to);
            for (&step, bytes) in steps.iter().zip(memory.chunks_exact_mut(VALUE)) {
                waves.set(step, waves.value(step));
                bytes.copy_from_slice(&waves.known(step).to_ne_bytes());
            }
            steps.iter().for_each(|&step| waves.set(step, 0));
        };
        let launch = Command::Launch(Launch {
            kernel: "waves_search",
            args: &[Arg::Buffer(to)],
            groups: [1, 1],
            threads: [1, 1],
            units: 1,
            host: &host,
        });
        let down = Command::Download {
            from: to,
            at: 0,
            to: &mut self.bytes,
        };
        self.lane.run(&mut [launch, down], limit)?;
        let (values, _) = self.bytes.as_chunks::<VALUE>();
        for (&step, &value) in steps.iter().zip(values) {
            waves.set(step, u64::from_ne_bytes(value));
        }
        Ok(())
    }
}

fn runtime(sim: &str, workers: usize, checks: u64) -> Runtime {
    let device = SimDevice::parse(sim).unwrap();
    let builder = Runtime::builder().workers(workers).device_checks(checks);
    builder.devices(vec![Arc::new(device)]).build().unwrap()
}

fn service(geometry: Geometry, units: u64) -> Waves {
    let mut service = Waves::new(geometry, units);
    service.on_devices = true;
    service
}

/// Runs units on workers and a device, and compares what came out.
fn run(rt: &Runtime, service: &Waves, total: u64, choice: Choice) -> Report {
    let sink = Kept::default();
    let stream = rt.stream(units(total)).through(service.clone());
    let report = stream.plan(choice).into(sink.clone()).unwrap();
    assert_eq!(sink.values(), service.geometry.expected(total));
    service.check(total);
    report
}

fn fixed() -> Choice {
    "wavefront".parse().unwrap()
}

#[test]
fn a_lane_computes_whole_passes() {
    within(|| {
        for lanes in [1, 3] {
            let rt = runtime(&format!("sim:latency=1us,unit=1us,lanes={lanes}"), 2, 1000);
            let mut service = service(Geometry::default(), 100);
            // While workers decide a unit, the search of a later one waits.
            service.delay = Some(|at| Duration::from_micros(u64::from(at.pass == DECIDE) * 50));
            let report = run(&rt, &service, 100, fixed());
            let device = &report.devices[0];
            assert_eq!(device.lost, None);
            assert!(device.units > 50, "{device:?}");
            assert!(report.to_string().contains("2 workers + 1 device"));
        }
    });
}

#[test]
fn a_device_that_fails_costs_no_unit() {
    within(|| {
        for workers in [1, 2, 4] {
            for (fault, said) in [
                ("lost=1", "is lost"),
                ("lost=9", "is lost"),
                ("flip=1", "computed unit"),
                ("flip=9", "computed unit"),
                ("memory=1", "no room for"),
            ] {
                for behind in [false, true] {
                    let geometry = Geometry {
                        behind,
                        ..Geometry::default()
                    };
                    let mut service = service(geometry, 60);
                    service.delay = Some(|_| Duration::from_micros(20));
                    let rt = runtime(&format!("sim:unit=50us,{fault}"), workers, 1);
                    let report = run(&rt, &service, 60, fixed());
                    let lost = report.devices[0].lost.as_deref().unwrap_or_default();
                    assert!(lost.contains(said), "{fault}: {lost:?}");
                }
            }
        }
    });
}

#[test]
fn a_device_that_hangs_costs_time() {
    within(|| {
        let mut service = service(Geometry::default(), 60);
        service.delay = Some(|_| Duration::from_micros(20));
        let report = run(&runtime("sim:hang=5", 2, 1000), &service, 60, fixed());
        let lost = report.devices[0].lost.as_deref().unwrap_or_default();
        assert!(lost.contains("did not answer"), "{lost:?}");
    });
}

#[test]
fn a_wrong_bit_that_no_check_sees_would_be_seen() {
    within(|| {
        let rt = runtime("sim:unit=1us,lanes=1,flip=4", 2, u64::MAX);
        let mut service = service(Geometry::default(), 60);
        service.delay = Some(|at| Duration::from_micros(u64::from(at.pass == DECIDE) * 50));
        let sink = Kept::default();
        let stream = rt.stream(units(60)).through(service.clone());
        stream.plan(fixed()).into(sink.clone()).unwrap();
        assert_ne!(sink.values(), service.geometry.expected(60));
    });
}

/// On two workers, where a search takes each 15 ms and all else next to nothing.
fn tuned(sim: &str) -> Report {
    let geometry = Geometry {
        rows: 3,
        columns: 2,
        behind: true,
        ..Geometry::default()
    };
    let mut service = service(geometry, 200);
    service.delay = Some(|at| Duration::from_micros(u64::from(at.pass == SEARCH) * 5000));
    // Some milliseconds, so that what is predicted for a unit is more than what it takes to hand out its lines.
    service.work.ops = 5e8;
    run(&runtime(sim, 2, 1000), &service, 200, Choice::Auto)
}

#[test]
fn the_tuner_finds_a_device_that_helps() {
    let report = within(|| tuned("sim:latency=20us,unit=50us"));
    assert_eq!(
        report.plan.map(|plan| plan.devices),
        Some(1),
        "{report}, {:#?}",
        report.decisions
    );
    assert!(report.devices[0].units > 50, "{report}");
}

#[test]
fn the_tuner_leaves_a_slow_device_alone() {
    let report = within(|| tuned("sim:unit=150ms"));
    assert_eq!(report.plan.map(|plan| plan.devices), Some(0), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Devices come and go between epochs, and get lost in one.
    #[test]
    fn switching_devices_changes_nothing(
        geometry in any_geometry(),
        plans in prop::collection::vec((1..=9u32, 1..=4u32, 0..2u32, 1..6u32), 1..6),
        lanes in 1..4u32,
        lost in prop::option::of(1..60u32),
    ) {
        within(move || {
            let total = 60;
            let mut service = service(geometry, total);
            service.delay = Some(ragged);
            let plans: Vec<(Plan, u32)> = plans
                .iter()
                .map(|&(grain, workers, devices, units)| {
                    (Plan { devices, ..wave(grain, workers) }, units)
                })
                .collect();
            let lost = lost.map_or(String::new(), |at| format!(",lost={at}"));
            let rt = runtime(&format!("sim:unit=30us,lanes={lanes}{lost}"), 4, 5);
            let sink = Kept::default();
            let source = Units { delay: Duration::from_millis(2), ..units(total) };
            let stream = rt.stream(source).through(service.clone());
            let report = stream.scheduled_by(Script::new(&plans)).into(sink.clone()).unwrap();
            assert_eq!(report.units, total);
            service.check(total);
            assert_eq!(sink.values(), geometry.expected(total));
        });
    }
}
