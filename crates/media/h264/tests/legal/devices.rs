//! One stream, whatever devices do: found by them or by workers, right or wrong, and lost in its midst.

use std::sync::Arc;

use evener_devices::c::CDevice;
use evener_devices::opencl::{self, OpenCl};
use evener_devices::probe::probe;
use evener_runtime::device::Device;
use evener_runtime::device::sim::SimDevice;
use evener_runtime::{Runtime, Simd};

use crate::same_bytes::{configs, frames, in_order, streamed};

const WORKERS: [usize; 5] = [1, 2, 3, 5, 8];

/// Codes as many configurations as there are numbers of workers, each with a device of its own. Every `checks`th picture is
/// compared. Returns how many pictures the device searched in each, and why it was not used any more.
fn run(
    name: &str,
    device: impl Fn() -> Arc<dyn Device>,
    (workers, checks): (&[usize], u64),
) -> Vec<(u64, String)> {
    let frames = frames();
    let configs = configs();
    let runs = configs.iter().zip(workers).map(|(config, &workers)| {
        let builder = Runtime::builder().workers(workers).memory(false);
        let builder = builder.device_checks(checks);
        let runtime = builder.devices(vec![device()]).build().unwrap();
        let simd = Simd::detect();
        let (pictures, report) = streamed(&runtime, config, &frames, ("wavefront", simd));
        let same = pictures == in_order(config, &frames);
        assert!(same, "{workers} workers, {name}, {config:?}");
        let used = &report.devices[0];
        (used.units, used.lost.clone().unwrap_or_default())
    });
    runs.collect()
}

fn sim(description: &str) -> Arc<dyn Device> {
    Arc::new(SimDevice::parse(description).unwrap())
}

#[test]
fn devices_find_the_same() {
    let c: Arc<dyn Device> = Arc::new(CDevice::new());
    let mut devices = vec![sim("sim"), sim("sim:lanes=1,latency=1ms"), c];
    match opencl::list().map(|found| found.into_iter().next()) {
        Ok(Some(found)) => {
            let mut device = OpenCl::open(found).unwrap();
            device.info.exact = probe(&device).unwrap();
            devices.push(Arc::new(device));
        }
        Ok(None) => eprintln!("without OpenCL, which has no device; install pocl-opencl-icd"),
        Err(error) => eprintln!("without OpenCL: {error}; install pocl-opencl-icd"),
    }
    for device in devices {
        let name = format!("{device:?}");
        let used = run(&name, || Arc::clone(&device), (&WORKERS, 1000));
        assert!(used.iter().all(|(_, lost)| lost.is_empty()), "{used:?}");
        // A picture is for workers where all lanes are busy.
        let pictures: u64 = used.iter().map(|(units, _)| units).sum();
        assert!(pictures > 20, "{name}: {used:?}");
    }
}

#[test]
fn devices_that_fail_change_nothing() {
    for (faults, said) in [
        ("lost=1", "is lost"),
        ("lost=4", "is lost"),
        // Of a vector that is what no search finds; of a cost, something else than a core's.
        ("flip=1", " unit "),
        ("flip=4", " unit "),
        ("memory=10000", "no room for"),
    ] {
        let used = run(faults, || sim(&format!("sim:{faults}")), (&WORKERS, 1));
        let failed = used.iter().filter(|(_, lost)| lost.contains(said));
        // A short stream may be over before the device fails.
        assert!(failed.count() > 2, "{faults}: {used:?}");
    }
    // Each answer that is waited for in vain takes three seconds.
    let hangs = || sim("sim:lanes=1,hang=3");
    let used = run("hang", hangs, (&[2], 1));
    assert!(used[0].1.contains("did not answer"), "{used:?}");
    for slow in ["sim:unit=20ms", "sim:latency=30ms", "sim:drift=5x1000"] {
        run(slow, || sim(slow), (&WORKERS, 1000));
    }
}
