//! OpenCL, where there is a driver.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{LIMIT, PROGRAM, launch, mix, mixed};
use evener_devices::opencl::{self, OpenCl};
use evener_runtime::device::{Arg, Arithmetic, Command, Device, DeviceError, Program};

/// The first device, or a line that says that there is none.
fn device() -> Option<OpenCl> {
    match opencl::list() {
        Ok(found) if !found.is_empty() => {
            Some(OpenCl::open(found.into_iter().next().unwrap()).unwrap())
        }
        Ok(_) => {
            evener_testing::skip("OpenCL has no device; install pocl-opencl-icd");
            None
        }
        Err(error) => {
            evener_testing::skip(format_args!("{error}; install pocl-opencl-icd"));
            None
        }
    }
}

#[test]
fn kernels_run_over_the_whole_grid() {
    let Some(device) = device() else { return };
    println!("{:?}", device.info());
    assert!(device.info().memory > 1 << 20);
    let mut lane = device.lane(&PROGRAM).unwrap();
    for _ in 0..3 {
        mix(&mut *lane);
    }
}

#[test]
fn lanes_run_beside_one_another() {
    let Some(device) = device() else { return };
    let device: Arc<dyn Device> = Arc::new(device);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut lane = device.lane(&PROGRAM).unwrap();
                for _ in 0..20 {
                    mix(&mut *lane);
                }
            });
        }
    });
}

#[test]
fn kernels_that_do_not_compile_are_errors() {
    let Some(device) = device() else { return };
    let wrong = Program {
        source: "KERNEL(wrong)(GLOBAL(uint) *out) { out[0] = nothing; }",
        ..PROGRAM
    };
    let error = device.lane(&wrong).map(|_| ()).unwrap_err();
    println!("{error}");
    assert!(matches!(error, DeviceError::Program { .. }) && error.to_string().contains("nothing"));
    // A kernel that is not there, one argument too few.
    for (kernel, args) in [("sample_none", &[][..]), ("sample_mix", &[Arg::F32(0.0)])] {
        let mut lane = device.lane(&PROGRAM).unwrap();
        let error = lane.run(&mut [launch(kernel, args)], LIMIT).unwrap_err();
        println!("{error}");
        assert!(matches!(error, DeviceError::Program { .. }), "{error}");
        // The lane cannot be used any more, and says so.
        let error = lane.run(&mut [], LIMIT).unwrap_err();
        assert!(matches!(error, DeviceError::Lost { .. }), "{error}");
    }
}

#[test]
fn too_much_memory_is_an_error() {
    let Some(device) = device() else { return };
    let mut lane = device.lane(&PROGRAM).unwrap();
    let error = lane.buffer(1 << 60).unwrap_err();
    assert!(
        matches!(error, DeviceError::Memory { bytes, .. } if bytes == 1 << 60),
        "{error}"
    );
    mix(&mut *lane);
}

#[test]
fn a_kernel_that_takes_too_long_is_told() {
    let Some(device) = device() else { return };
    let slow = Program {
        name: "slow",
        source: "
KERNEL(slow_count)(GLOBAL(uint) *out, uint n) {
    uint x = out[0];
    for (uint i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u ^ (x >> 3);
    out[0] = x;
}
",
        needs: Arithmetic::INTEGER,
    };
    let mut lane = device.lane(&slow).unwrap();
    let buffer = lane.buffer(4096).unwrap();
    let args = |n| [Arg::Buffer(buffer), Arg::U32(n)];
    let mut run = |n, limit| {
        let args = args(n);
        let mut launch = launch("slow_count", &args);
        if let Command::Launch(launch) = &mut launch {
            (launch.groups, launch.threads) = ([1, 1], [1, 1]);
        }
        let mut out = [7; 4];
        let up = Command::Upload {
            to: buffer,
            at: 0,
            from: &[1; 4096],
        };
        let down = Command::Download {
            from: buffer,
            at: 0,
            to: &mut out,
        };
        let begin = Instant::now();
        let result = lane.run(&mut [up, launch, down], limit);
        (result, begin.elapsed(), out)
    };
    // The first run may compile.
    run(10, LIMIT).0.unwrap();
    let limit = Duration::from_millis(50);
    let (result, took, out) = run(1_000_000_000, limit);
    println!("{took:?}");
    let name = device.info().name.clone();
    assert_eq!(
        result,
        Err(DeviceError::Hung {
            device: name,
            limit
        })
    );
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(out, [7; 4]);
    // Another lane still works; this one does not.
    assert!(matches!(run(1, LIMIT).0, Err(DeviceError::Lost { .. })));
    drop(lane);
    mix(&mut *device.lane(&PROGRAM).unwrap());
    assert_eq!(mixed(0), 50 - 1);
}
