//! The C compiler as a device.

mod common;

use common::{LIMIT, PROGRAM, launch, mix};
use evener_devices::c::CDevice;
use evener_runtime::device::{Arg, Device, DeviceError};

#[test]
fn kernels_run_over_the_whole_grid() {
    let device = CDevice::new();
    mix(&mut *device.lane(&PROGRAM).unwrap());
}

#[test]
fn arguments_of_other_types_are_refused() {
    let device = CDevice::new();
    let mut lane = device.lane(&PROGRAM).unwrap();
    let buffer = Arg::Buffer(lane.buffer(64).unwrap());
    let right = [
        buffer,
        buffer,
        buffer,
        Arg::F32(0.0),
        Arg::I32(0),
        Arg::U32(0),
    ];
    let mut with_float = right;
    with_float[5] = Arg::F32(0.0);
    let mut without_sign = right;
    without_sign[4] = Arg::U32(0);
    for args in [&with_float[..], &without_sign, &right[..5]] {
        let error = lane
            .run(&mut [launch("sample_mix", args)], LIMIT)
            .unwrap_err();
        let of_program = matches!(
            error,
            DeviceError::Program {
                program: "sample",
                ..
            }
        );
        assert!(of_program, "{error}");
    }
    lane.run(&mut [launch("sample_mix", &right)], LIMIT)
        .unwrap();
    let error = lane
        .run(&mut [launch("sample_none", &[])], LIMIT)
        .unwrap_err();
    assert!(error.to_string().contains("sample_none"), "{error}");
}
