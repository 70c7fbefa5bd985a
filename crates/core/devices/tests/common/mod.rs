//! A program for tests of several devices.
#![allow(dead_code)]

use std::time::Duration;

use evener_runtime::device::{Arg, Arithmetic, Command, Lane, Launch, Program};

pub const PROGRAM: Program = Program {
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
    uint zero = seen[THREAD0] - i;
    out[i] = (uchar)(RINT(sample_blend((float)one[i], 200.0f, t)) + (float)add + (float)zero);
}
",
    needs: Arithmetic::ALL,
};

pub const LIMIT: Duration = Duration::from_secs(60);

/// A launch over 8 by 6 threads.
pub fn launch<'a>(kernel: &'static str, args: &'a [Arg]) -> Command<'a> {
    Command::Launch(Launch {
        kernel,
        args,
        groups: [2, 3],
        threads: [4, 2],
        units: 1,
        host: &|_| (),
    })
}

/// What `sample_mix` makes of a byte here.
pub fn mixed(byte: u8) -> u8 {
    let value = 0.25f32.mul_add(200.0 - f32::from(byte), f32::from(byte));
    value.round_ties_even() as u8 - 1
}

/// Runs `sample_mix` and checks what it writes.
pub fn mix(lane: &mut dyn Lane) {
    let [one, count, out] = [45, 4, 45].map(|bytes| lane.buffer(bytes).unwrap());
    let input: Vec<u8> = (0..45).collect();
    let (mut counted, mut output) = ([0; 4], [0; 44]);
    let [one_arg, count_arg, out_arg] = [one, count, out].map(Arg::Buffer);
    let args = [
        one_arg,
        count_arg,
        out_arg,
        Arg::F32(0.25),
        Arg::I32(-1),
        Arg::U32(45),
    ];
    let commands = &mut [
        Command::Upload {
            to: one,
            at: 0,
            from: &input[..20],
        },
        Command::Upload {
            to: one,
            at: 20,
            from: &input[20..],
        },
        Command::Upload {
            to: count,
            at: 0,
            from: &7u32.to_ne_bytes(),
        },
        launch("sample_mix", &args),
        launch("sample_mix", &args),
        Command::Download {
            from: count,
            at: 0,
            to: &mut counted,
        },
        Command::Download {
            from: out,
            at: 1,
            to: &mut output,
        },
    ];
    lane.run(commands, LIMIT).unwrap();
    assert_eq!(u32::from_ne_bytes(counted), 7 + 2 * 45);
    for (input, output) in input[1..].iter().zip(output) {
        assert_eq!(output, mixed(*input), "of {input}");
    }
}
