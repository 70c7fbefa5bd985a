//! Names of devices, and machines with drivers that are missing or do not work.
//!
//! Which drivers a process sees is settled when it starts, so these tests run this program again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use evener_devices::{list, open};
use evener_runtime::device::{DeviceError, DeviceKind};

/// Generous: a driver of cores loads a compiler of 100 MB.
const LONGEST: Duration = Duration::from_millis(500);

/// Runs the test `inner` of this program with other variables of the environment.
fn again(inner: &str, variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", inner, "--ignored", "--nocapture"]);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{wrong}");
    println!("{inner}: {text}");
    text
}

#[test]
#[ignore = "run by the others"]
fn names() {
    let begin = Instant::now();
    let device = open(None).unwrap();
    println!(
        "auto: {:?} in {:?}",
        device.map(|device| device.info().clone()),
        begin.elapsed()
    );
    assert!(begin.elapsed() < LONGEST / 5);
    let begin = Instant::now();
    let list = list();
    for device in &list.devices {
        println!("device {device:?}");
    }
    for driver in &list.drivers {
        println!("driver {driver}");
    }
    println!("list: in {:?}", begin.elapsed());
    assert!(begin.elapsed() < LONGEST);
    assert!(open(Some("none")).unwrap().is_none());
    let sim = open(Some("sim:speed=2")).unwrap().unwrap();
    assert_eq!(sim.info().kind, DeviceKind::Simulated);
    let error = open(Some("sim:speed=never")).unwrap_err();
    assert!(matches!(error, DeviceError::Description { .. }), "{error}");
    for wrong in ["cuda:77", "opencl:77", "Voodoo"] {
        let error = open(Some(wrong)).unwrap_err();
        println!("error {error}");
        assert!(matches!(
            error,
            DeviceError::Unknown { .. } | DeviceError::Driver { .. }
        ));
    }
}

#[test]
fn drivers_of_this_machine() {
    again("names", &[]);
}

#[test]
fn no_driver() {
    let folder = tempfile::tempdir().unwrap();
    let text = again("names", &[("OCL_ICD_VENDORS", folder.path())]);
    assert!(
        !text.contains("device DeviceInfo { name: \"opencl"),
        "{text}"
    );
    assert!(text.contains("driver OpenCL: no "), "{text}");
    assert!(
        text.contains("there is no device 'Voodoo'; there are auto, none, sim"),
        "{text}"
    );
}

#[test]
fn drivers_that_cannot_be_loaded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libOpenCL.so.1", "libcuda.so.1"] {
        fs::write(folder.path().join(name), "no library").unwrap();
    }
    let text = again("names", &[("LD_LIBRARY_PATH", folder.path())]);
    for line in ["driver OpenCL: ", "driver CUDA: ", "libcuda.so.1"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn drivers_that_lack_functions() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libOpenCL.so.1", "libcuda.so.1"] {
        library(&folder.path().join(name), "int nothing;");
    }
    let text = again("names", &[("LD_LIBRARY_PATH", folder.path())]);
    assert!(
        text.contains("driver OpenCL: it lacks clGetPlatformIDs"),
        "{text}"
    );
    assert!(text.contains("driver CUDA: it lacks cuInit"), "{text}");
}

/// Makes a library of a text in C.
fn library(path: &Path, text: &str) {
    let source = path.with_extension("c");
    fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-shared", "-fPIC", "-o"])
        .args([path, &source]);
    assert!(cc.status().unwrap().success());
}

#[test]
#[ignore = "run by another"]
fn environment() {
    let device = open(None).unwrap().map(|device| device.info().name.clone());
    println!("default {device:?}");
}

#[test]
fn the_environment_gives_the_default() {
    for (value, device) in [("none", "None"), ("sim", "Some(\"sim\")")] {
        let text = again("environment", &[("EVENER_DEVICE", Path::new(value))]);
        assert!(text.contains(&format!("default {device}")), "{text}");
    }
}
