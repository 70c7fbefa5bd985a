//! CUDA on a driver that is made up: `cuda/driver.c`.
//!
//! Which driver a process has is settled when it starts, so these tests run this program again.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use common::{LIMIT, launch, mix};
use evener_devices::cuda::{self, Cuda};
use evener_devices::{list, open};
use evener_runtime::device::{Arg, Arithmetic, Command, Device, DeviceError, DeviceKind, Program};

/// The driver reads no PTX, so that of the probe will do.
const PROGRAM: Program = Program {
    name: "probe",
    ..common::PROGRAM
};

/// Runs the test `inner` of this program with the driver, which fails as `fault` says.
fn with_driver(inner: &str, fault: &str) {
    let folder = tempfile::tempdir().unwrap();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/driver.c");
    fs::write(folder.path().join("sample.c"), PROGRAM.source).unwrap();
    let mut cc = Process::new("cc");
    cc.args([
        "-std=gnu11",
        "-O2",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
    ]);
    cc.args(["-shared", "-fPIC", "-I"])
        .arg(&kernels)
        .arg("-I")
        .arg(folder.path());
    cc.arg("-o")
        .arg(folder.path().join("libcuda.so.1"))
        .arg(driver)
        .arg("-lm");
    assert!(cc.status().unwrap().success());
    let mut again = Process::new(std::env::current_exe().unwrap());
    again.args(["--exact", inner, "--ignored", "--nocapture"]);
    again
        .env("LD_LIBRARY_PATH", folder.path())
        .env("CUDA_FAULT", fault);
    // What is found about this device is not for others.
    again.env("XDG_CACHE_HOME", folder.path());
    let output = again.output().unwrap();
    let (text, wrong) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    println!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{wrong}"
    );
}

fn device() -> Cuda {
    Cuda::open(cuda::list().unwrap().swap_remove(0)).unwrap()
}

#[test]
#[ignore = "run by another"]
fn works() {
    let found = list().devices;
    assert_eq!(found[1].model, "Pretended B2");
    let mut device = open(Some("cuda:0")).unwrap().unwrap();
    for _ in 0..2 {
        let info = device.info().clone();
        println!("{info:?}");
        assert_eq!(
            (info.kind, info.memory, info.copy_engines, info.lanes),
            (DeviceKind::Gpu, 40 << 30, 3, 3)
        );
        assert_eq!(info.driver, "CUDA 12.4, capability 7.5");
        assert_eq!(info.exact, Arithmetic::ALL);
        mix(&mut *device.lane(&PROGRAM).unwrap());
        // From another thread too.
        std::thread::scope(|scope| {
            scope.spawn(|| mix(&mut *device.lane(&PROGRAM).unwrap()));
            let mut lane = device.lane(&PROGRAM).unwrap();
            scope.spawn(move || mix(&mut *lane));
        });
        // The second time by its model's name; the probe is not repeated.
        device = open(Some("d A1")).unwrap().unwrap();
    }
    assert_eq!(list().devices[0].exact, Arithmetic::ALL);
    let error = device.lane(&PROGRAM).unwrap().buffer(1 << 50).unwrap_err();
    assert_eq!(
        error,
        DeviceError::Memory {
            device: "cuda:0".to_owned(),
            bytes: 1 << 50
        }
    );
    let pages = device.page_lock().unwrap();
    let memory = vec![1u8; 1 << 16];
    assert!(pages.lock(memory.as_ptr().expose_provenance(), memory.len()));
    pages.unlock(memory.as_ptr().expose_provenance());
    let unknown = device.lane(&common::PROGRAM).map(|_| ()).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "cuda:0 does not take the kernels of sample: there is no PTX of this program"
    );
    let mut lane = device.lane(&PROGRAM).unwrap();
    let error = lane
        .run(&mut [launch("sample_none", &[])], LIMIT)
        .unwrap_err();
    assert!(matches!(error, DeviceError::Program { .. }), "{error}");
}

#[test]
fn it_works() {
    with_driver("works", "");
}

#[test]
#[ignore = "run by another"]
fn has_none() {
    let list = list();
    let driver = list
        .drivers
        .iter()
        .find(|error| error.to_string().starts_with("CUDA"));
    match std::env::var("CUDA_FAULT").unwrap().as_str() {
        "init" => {
            assert_eq!(driver.unwrap().to_string(), "CUDA: made up (999)");
            assert_eq!(open(Some("cuda:0")).unwrap_err(), *driver.unwrap());
        }
        _ => {
            assert_eq!(driver, None);
            let error = open(Some("cuda:0")).unwrap_err();
            assert!(matches!(error, DeviceError::Unknown { .. }), "{error}");
        }
    }
    assert!(list.devices.iter().all(|device| device.name != "cuda:0"));
}

#[test]
fn a_driver_that_fails_is_told() {
    with_driver("has_none", "init");
    with_driver("has_none", "none");
}

#[test]
#[ignore = "run by another"]
fn fails() {
    let device = device();
    let fault = std::env::var("CUDA_FAULT").unwrap();
    if fault == "ptx" {
        let error = device.lane(&PROGRAM).map(|_| ()).unwrap_err();
        let told = "cuda:0 does not take the kernels of probe: made up (218): ptxas: line 7";
        return assert_eq!(error.to_string(), told);
    }
    let mut lane = device.lane(&PROGRAM).unwrap();
    let buffer = match lane.buffer(64) {
        Ok(buffer) => buffer,
        Err(error) => {
            assert_eq!(fault, "memory");
            return assert_eq!(
                error,
                DeviceError::Memory {
                    device: "cuda:0".to_owned(),
                    bytes: 64
                }
            );
        }
    };
    let arg = Arg::Buffer(buffer);
    let args = [arg, arg, arg, Arg::F32(0.0), Arg::I32(0), Arg::U32(1)];
    let mut to = [0; 8];
    let commands = &mut [
        Command::Upload {
            to: buffer,
            at: 0,
            from: &[1; 64],
        },
        launch("sample_mix", &args),
        Command::Download {
            from: buffer,
            at: 0,
            to: &mut to,
        },
    ];
    let error = lane.run(commands, Duration::from_millis(30)).unwrap_err();
    println!("{error}");
    let right = match fault.as_str() {
        "launch" => matches!(error, DeviceError::Program { .. }),
        "hang" => matches!(error, DeviceError::Hung { .. }),
        _ => matches!(error, DeviceError::Lost { .. }),
    };
    assert!(right, "{fault}: {error}");
    let error = lane.run(&mut [], LIMIT).unwrap_err();
    assert!(matches!(error, DeviceError::Lost { .. }), "{error}");
}

#[test]
fn faults_are_errors() {
    for fault in ["memory", "ptx", "launch", "hang", "lost", "copy"] {
        with_driver("fails", fault);
    }
}
