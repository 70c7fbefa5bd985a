//! How fast this machine computes and moves data: the basis of predicted costs.

#[allow(unsafe_code)]
mod kernel;

use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::buffer::Aligned;
use crate::dispatch::{Batch, Caller, Pool};
use crate::plan::Dispatch;
use crate::topology::Simd;

/// Rates that turn predicted work into predicted time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Arithmetic operations on elements per second and worker, on data in the first-level cache, with vector
    /// instructions.
    pub ops_per_s: f64,
    /// Bytes per second that one worker alone moves to and from memory beyond its private cache, reads and writes
    /// together.
    pub bytes_per_s: f64,
    /// The same for all workers together.
    pub bytes_per_s_together: f64,
    /// Bytes per second of memory that the operating system clears and maps for one worker that touches it first. At
    /// most the typical rate.
    pub fresh_bytes_per_s: f64,
    /// Seconds to hand a job to a worker.
    pub job_s: f64,
    /// Seconds to end a pass: the barrier that waits for the last worker.
    pub pass_s: f64,
}

/// Cost of a job in seconds, as `evener bench dispatch` measures it.
const JOB_S: f64 = 0.3e-6;
/// Cost of a barrier in seconds, as `evener bench dispatch` measures it.
const PASS_S: f64 = 1.5e-6;

/// Elements of the arithmetic probe: 8 KiB, in any first-level cache.
const PROBE_ELEMENTS: usize = 2048;
/// Time of one timed run of the arithmetic probe; the best of [`PROBE_RUNS`] counts.
const PROBE_TIME: Duration = Duration::from_micros(100);
const PROBE_RUNS: usize = 4;
/// Runs of the memory probe on all workers. Other processes may hold a processor in one, so the best counts.
const TOGETHER_RUNS: usize = 2;
/// Bytes of the memory probe, beyond any private cache.
const STREAM_BYTES: usize = 4 << 20;
/// The memory probe is timed in pieces, so that one interruption does not count.
const STREAM_PIECE: usize = 256 << 10;
/// Limit of a timed pass of the memory probe.
const STREAM_TIME: Duration = Duration::from_micros(1500);

impl Rates {
    /// The rates of a typical machine of 2020 or later. For tests, and for decisions that must be reproducible.
    pub const fn typical() -> Rates {
        Rates {
            ops_per_s: 20e9,
            bytes_per_s: 10e9,
            bytes_per_s_together: 20e9,
            fresh_bytes_per_s: 3e9,
            job_s: JOB_S,
            pass_s: PASS_S,
        }
    }

    /// Measures this machine, first on the calling thread, then on all workers at once. It takes 2 ms with huge
    /// pages, and at most about 12 ms.
    ///
    /// A rate that cannot be measured, because the clock is too coarse, is taken from [`Rates::typical`].
    pub fn measure(pool: &Pool) -> Rates {
        let typical = Rates::typical();
        let mut own = Fresh::make();
        let bytes_per_s = measure_bytes(&mut own.probe).unwrap_or(typical.bytes_per_s);
        let together = measure_together(pool, own);
        // Pages that were in use lately come many times faster than pages that a host has to find for its guest first,
        // and it is not known which kind the next will be.
        let fresh = together
            .fresh
            .map(|fresh| fresh.min(typical.fresh_bytes_per_s));
        Rates {
            ops_per_s: measure_ops().unwrap_or(typical.ops_per_s),
            bytes_per_s,
            fresh_bytes_per_s: fresh.unwrap_or(typical.fresh_bytes_per_s),
            bytes_per_s_together: together
                .bytes
                .map_or(bytes_per_s, |together| together.max(bytes_per_s)),
            ..typical
        }
    }
}

/// Memory that is larger than a private cache, in the pages of a large buffer.
type Probe = Aligned<u64>;

/// A probe, and the rate at which its memory came.
struct Fresh {
    probe: Probe,
    fresh: Option<f64>,
}

impl Fresh {
    fn make() -> Fresh {
        let start = Instant::now();
        let probe = Probe::zeroed(STREAM_BYTES / size_of::<u64>());
        Fresh {
            probe,
            fresh: rate(STREAM_BYTES as f64, start.elapsed()),
        }
    }
}

/// What was measured of all workers at the same time.
struct Joint {
    /// Bytes they move in a second, in sum: the most of some runs.
    bytes: Option<f64>,
    /// The best rate at which memory came to any of them. Others may have been interrupted.
    fresh: Option<f64>,
}

/// Has all workers move memory at the same time. One of them uses `own`.
fn measure_together(pool: &Pool, own: Fresh) -> Joint {
    let workers = pool.workers() as u32;
    if workers == 1 {
        return Joint {
            bytes: None,
            fresh: own.fresh,
        };
    }
    let batch = Batch {
        dispatch: Dispatch::Mailbox,
        items: workers,
        grain: 1,
        workers,
        deadline: None,
        caller: Caller::Works,
    };
    let mut probes = vec![Mutex::new(Some(own))];
    probes.extend((1..workers).map(|_| Mutex::new(None)));
    let rates: Vec<Mutex<Option<f64>>> = (0..workers).map(|_| Mutex::default()).collect();
    // In the first run workers wake and touch their memory.
    let runs = (0..=TOGETHER_RUNS).map(|_| {
        let outcome = pool.run(&batch, &|_, jobs| {
            for job in jobs.map(|job| job as usize) {
                if let (Ok(mut probe), Ok(mut rate)) = (probes[job].lock(), rates[job].lock()) {
                    let probe = probe.get_or_insert_with(Fresh::make);
                    *rate = measure_bytes(&mut probe.probe);
                }
            }
        });
        outcome.ok()?;
        rates
            .iter()
            .map(|slot| *slot.lock().ok()?)
            .sum::<Option<f64>>()
    });
    let bytes = runs.skip(1).flatten().reduce(f64::max);
    let probes = probes
        .into_iter()
        .filter_map(|probe| probe.into_inner().ok()?);
    Joint {
        bytes,
        fresh: probes.filter_map(|probe| probe.fresh).reduce(f64::max),
    }
}

/// Operations per second of `x = x * a + b` over an array, multiplication and addition counted as one each.
fn measure_ops() -> Option<f64> {
    let level = Simd::detect();
    let mut data = vec![1.0f32; PROBE_ELEMENTS];
    let mut passes = 0u32;
    let rounds = |data: &mut [f32], rounds: u32| {
        let start = Instant::now();
        for _ in 0..rounds {
            kernel::multiply_add(level, black_box(data), 0.75, 0.25);
        }
        start.elapsed()
    };
    // Find how many passes fill the time, which also warms caches and clocks.
    let mut count = 16;
    while count < 1 << 20 {
        passes = count;
        if rounds(&mut data, count) * 2 > PROBE_TIME {
            break;
        }
        count *= 2;
    }
    let best = (0..PROBE_RUNS).map(|_| rounds(&mut data, passes)).min()?;
    black_box(&data);
    rate(2.0 * PROBE_ELEMENTS as f64 * f64::from(passes), best)
}

/// Bytes per second of a pass that reads and writes a buffer.
fn measure_bytes(data: &mut [u64]) -> Option<f64> {
    const PIECE: usize = STREAM_PIECE / size_of::<u64>();
    let start = Instant::now();
    let mut times = Vec::with_capacity(data.len() / PIECE);
    for piece in data.chunks_exact_mut(PIECE) {
        let begin = Instant::now();
        bump(piece);
        times.push(begin.elapsed());
        if start.elapsed() > STREAM_TIME {
            break;
        }
    }
    times.sort_unstable();
    rate(2.0 * STREAM_PIECE as f64, times[times.len() / 2])
}

fn bump(piece: &mut [u64]) {
    for value in black_box(piece) {
        *value = value.wrapping_add(1);
    }
}

fn rate(work: f64, time: Duration) -> Option<f64> {
    let rate = work / time.as_secs_f64();
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_rates_are_those_of_a_computer() {
        let rates = Rates::measure(&Pool::new(2).unwrap());
        assert!((1e8..1e13).contains(&rates.ops_per_s), "{rates:?}");
        assert!((1e8..1e12).contains(&rates.bytes_per_s), "{rates:?}");
        let most = Rates::typical().fresh_bytes_per_s;
        assert!((1e6..=most).contains(&rates.fresh_bytes_per_s), "{rates:?}");
        assert!(rates.bytes_per_s_together >= rates.bytes_per_s, "{rates:?}");
        assert_eq!((rates.job_s, rates.pass_s), (JOB_S, PASS_S));
    }

    #[test]
    fn memory_comes_as_fast_as_to_the_luckiest_worker() {
        let own = Fresh {
            fresh: Some(1.0),
            ..Fresh::make()
        };
        let together = measure_together(&Pool::new(2).unwrap(), own);
        assert!(together.fresh > Some(1e6), "{:?}", together.fresh);
    }

    #[test]
    fn measuring_is_quick() {
        // The best of several: other processes may hold the machine for longer than the measurement takes.
        let pool = Pool::new(2).unwrap();
        let best = (0..20)
            .map(|_| {
                let start = Instant::now();
                black_box(Rates::measure(&pool));
                start.elapsed()
            })
            .min();
        assert!(best < Some(Duration::from_millis(16)), "{best:?}");
    }

    #[test]
    fn no_rate_comes_from_no_time() {
        assert_eq!(rate(1.0, Duration::ZERO), None);
        assert_eq!(rate(3.0, Duration::from_secs(2)), Some(1.5));
    }

    #[test]
    fn rates_read_back() {
        let text = serde_json::to_string(&Rates::typical()).unwrap();
        assert_eq!(
            serde_json::from_str::<Rates>(&text).unwrap(),
            Rates::typical()
        );
    }
}
