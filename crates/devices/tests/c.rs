//! The C compiler as a device.

use std::time::Duration;

use evener_devices::c::CDevice;
use evener_runtime::device::{Arg, Arithmetic, Command, Device, DeviceError, Launch, Program};

const PROGRAM: Program = Program {
    name: "sample",
    source: "
static inline float sample_blend(float a, float b, float t) {
    return FMA(t, b - a, a);
}

KERNEL(sample_mix)(GLOBAL(const uchar) *one, GLOBAL(uint) *count, GLOBAL(uchar) *out, float t, int add, uint n) {
    LOCAL(uint) seen[4];
    uint i = GID1 * 8u + GID0;
    if (i >= n)
        return;
    seen[THREAD0] = i;
    ATOMIC_ADD(count, 1u);
    out[i] = (uchar)(RINT(sample_blend((float)one[i], 200.0f, t)) + (float)add + (float)(seen[THREAD0] - i));
}
",
    ptx: "",
    needs: Arithmetic::ALL,
};

fn launch<'a>(kernel: &'static str, args: &'a [Arg]) -> Command<'a> {
    Command::Launch(Launch {
        kernel,
        args,
        groups: [2, 3],
        threads: [4, 2],
        units: 1,
        host: &|_| (),
    })
}

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn kernels_run_over_the_whole_grid() {
    let device = CDevice::new();
    let mut lane = device.lane(&PROGRAM).unwrap();
    let [one, count, out] = [45, 4, 45].map(|bytes| lane.buffer(bytes).unwrap());
    let input: Vec<u8> = (0..45).collect();
    let (mut counted, mut output) = ([0; 4], [0; 45]);
    let args = [
        Arg::Buffer(one),
        Arg::Buffer(count),
        Arg::Buffer(out),
        Arg::F32(0.25),
        Arg::I32(-1),
        Arg::U32(45),
    ];
    let commands = &mut [
        Command::Upload {
            to: one,
            at: 0,
            from: &input,
        },
        Command::Upload {
            to: count,
            at: 0,
            from: &7u32.to_ne_bytes(),
        },
        launch("sample_mix", &args),
        Command::Download {
            from: count,
            at: 0,
            to: &mut counted,
        },
        Command::Download {
            from: out,
            at: 0,
            to: &mut output,
        },
    ];
    lane.run(commands, LIMIT).unwrap();
    assert_eq!(u32::from_ne_bytes(counted), 7 + 45);
    for (i, (input, output)) in input.iter().zip(output).enumerate() {
        let value = 0.25f32.mul_add(200.0 - f32::from(*input), f32::from(*input));
        assert_eq!(output, value.round_ties_even() as u8 - 1, "{i}");
    }
}

#[test]
fn arguments_of_other_types_are_refused() {
    let device = CDevice::new();
    let mut lane = device.lane(&PROGRAM).unwrap();
    let buffer = lane.buffer(64).unwrap();
    let right = [
        Arg::Buffer(buffer),
        Arg::Buffer(buffer),
        Arg::Buffer(buffer),
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
        assert!(
            matches!(
                error,
                DeviceError::Program {
                    program: "sample",
                    ..
                }
            ),
            "{error}"
        );
    }
    lane.run(&mut [launch("sample_mix", &right)], LIMIT)
        .unwrap();
    let error = lane
        .run(&mut [launch("sample_none", &[])], LIMIT)
        .unwrap_err();
    assert!(error.to_string().contains("sample_none"), "{error}");
}
