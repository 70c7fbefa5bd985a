//! Whether a device's arithmetic gives the bits that a core gives.
//!
//! About a million cases for each primitive of the kernel dialect, many of them near the middle between two numbers,
//! are computed on both sides. A driver's promise is no proof: what a service needs and did not pass here is not run on
//! the device.

mod cases;
mod expected;

use std::time::Duration;

use evener_runtime::device::{
    Arg, Arithmetic, Buffer, Command, Device, DeviceError, Lane, Launch, Program,
};
use tracing::info;

use expected::{GROUPS, Group};

/// The kernels.
pub static PROGRAM: Program = Program {
    name: "probe",
    source: include_str!("../../kernels/probe.c"),
    needs: Arithmetic {
        integer: false,
        float: false,
        fma: false,
        divide: false,
        sqrt: false,
        convert: false,
    },
};

/// Cases in one launch.
const CASES: usize = 1 << 16;
/// Launches of each kernel.
const ROUNDS: u64 = 16;
/// The first one may compile.
const LIMIT: Duration = Duration::from_secs(60);

/// The arithmetic of `device` that gives the bits of a core. Takes a second or less, once the kernels are compiled.
///
/// # Errors
/// The device does not take the kernels, or is lost.
pub fn probe(device: &dyn Device) -> Result<Arithmetic, DeviceError> {
    let mut probe = Probe {
        name: &device.info().name,
        lane: device.lane(&PROGRAM)?,
        buffers: Vec::new(),
        results: vec![0; CASES * expected::MOST],
        exact: Arithmetic::ALL,
    };
    for results in [1, 1, 1, expected::MOST] {
        probe.buffers.push(probe.lane.buffer(4 * CASES * results)?);
    }
    for round in 0..ROUNDS {
        let cases = cases::round(round, CASES);
        for (cases, &to) in cases.iter().zip(&probe.buffers) {
            let from = bytes_of(cases);
            probe.lane.run(
                &mut [Command::Upload {
                    to,
                    at: 0,
                    from: &from,
                }],
                LIMIT,
            )?;
        }
        for group in GROUPS {
            // What is wrong once need not be looked at again.
            if *(group.of)(&mut probe.exact) {
                probe.group(group, &cases)?;
            }
        }
        probe.shared(&cases[0])?;
    }
    Ok(probe.exact)
}

struct Probe<'a> {
    name: &'a str,
    lane: Box<dyn Lane>,
    /// Three of cases, one of results.
    buffers: Vec<Buffer>,
    results: Vec<u32>,
    exact: Arithmetic,
}

impl Probe<'_> {
    /// Compares one kernel's results.
    fn group(&mut self, group: &Group, cases: &[Vec<u32>; 3]) -> Result<(), DeviceError> {
        let mut args: Vec<Arg> = self.buffers.iter().copied().map(Arg::Buffer).collect();
        args.push(Arg::U32(CASES as u32));
        self.run(
            group.kernel,
            &args,
            self.buffers[3],
            CASES * group.results.len(),
        )?;
        let mut wanted = [0; expected::MOST];
        let [a, b, c] = cases;
        for (i, case) in a
            .iter()
            .zip(b)
            .zip(c)
            .map(|((a, b), c)| [*a, *b, *c])
            .enumerate()
        {
            (group.expected)(case, &mut wanted);
            for (k, name) in group.results.iter().enumerate() {
                let (got, wanted) = (self.results[k * CASES + i], wanted[k]);
                if got != wanted && !(k < group.floats && both_nan(got, wanted)) {
                    info!(
                        "{}: {name} of {case:08x?} is {got:08x}, and {wanted:08x} on a core; \
                         {} will not be used",
                        self.name, group.about
                    );
                    *(group.of)(&mut self.exact) = false;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Memory of a group and sums that all threads add to; without them whole numbers are not of use either.
    fn shared(&mut self, cases: &[u32]) -> Result<(), DeviceError> {
        if !self.exact.integer {
            return Ok(());
        }
        let [from, sums, _, out] = self.buffers[..] else {
            unreachable!("four buffers were made");
        };
        let zeros = Command::Upload {
            to: sums,
            at: 0,
            from: &[0; 4 * 64],
        };
        self.lane.run(&mut [zeros], LIMIT)?;
        let args = [from, sums, out].map(Arg::Buffer);
        let args = [args[0], args[1], args[2], Arg::U32(CASES as u32)];
        self.run("probe_shared", &args, out, CASES)?;
        let own = cases.iter().zip(&self.results).enumerate();
        let mut same = own.map(|(i, (case, got))| {
            *got == case
                .wrapping_mul(3)
                .wrapping_add(i as u32 / THREADS * THREADS)
        });
        let mut exact = same.all(|same| same);
        let mut wanted = [0u32; 64];
        for case in cases {
            let sum = &mut wanted[(case >> 26) as usize];
            *sum = sum.wrapping_add(*case);
        }
        self.download(sums, 64)?;
        exact &= self.results[..64] == wanted;
        if !exact {
            info!("{}: memory of a group or atomic sums are wrong", self.name);
            self.exact.integer = false;
        }
        Ok(())
    }

    /// Runs a kernel over all cases and fetches as many results.
    fn run(
        &mut self,
        kernel: &'static str,
        args: &[Arg],
        from: Buffer,
        results: usize,
    ) -> Result<(), DeviceError> {
        let launch = Command::Launch(Launch {
            kernel,
            args,
            groups: [CASES as u32 / THREADS, 1],
            threads: [THREADS, 1],
            units: 1,
            host: &|_| (),
        });
        self.lane.run(&mut [launch], LIMIT)?;
        self.download(from, results)
    }

    fn download(&mut self, from: Buffer, results: usize) -> Result<(), DeviceError> {
        let mut bytes = vec![0; 4 * results];
        let download = Command::Download {
            from,
            at: 0,
            to: &mut bytes,
        };
        self.lane.run(&mut [download], LIMIT)?;
        for (result, bytes) in self.results.iter_mut().zip(bytes.as_chunks().0) {
            *result = u32::from_ne_bytes(*bytes);
        }
        Ok(())
    }
}

/// Threads of a group, as many as `own` in `probe_shared` has places.
const THREADS: u32 = 64;

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Which NaN a result is, is not defined.
fn both_nan(one: u32, other: u32) -> bool {
    f32::from_bits(one).is_nan() && f32::from_bits(other).is_nan()
}
