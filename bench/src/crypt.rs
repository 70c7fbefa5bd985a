//! `evener bench crypt`: AES in counter mode over memory, its jobs handed out in every way.
//!
//! What a job size and a flavour of dispatch cost shows where jobs are many; what bounds them all is what the machine
//! can copy, which the same jobs do as well, in the same rounds.
#![forbid(unsafe_code)]

use std::time::Instant;

use evener_crypt::ctr::Ctr;
use evener_runtime::buffer::{Aligned, Rows};
use evener_runtime::dispatch::Caller;
use evener_runtime::{Batch, Dispatch, Pool, Topology};
use serde::Serialize;

use crate::error::Error;
use crate::stats::{distinct, median_of};
use crate::workers;
use evener_report::Table;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes encrypted at a time; rounded down to a multiple of the largest job.
    pub bytes: u64,
    /// Whether they are encrypted where they lie, or from one place to another.
    pub in_place: bool,
    /// Numbers of workers; 1 to all, doubled, when empty.
    pub workers: Vec<u32>,
    /// Bytes of a job.
    pub jobs: Vec<u32>,
    /// Times everything is measured.
    pub rounds: u32,
}

/// Bytes of a job unless others are asked for: 1 KiB to 1 MiB.
pub const JOBS: [u32; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// What the jobs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// AES-256 in counter mode.
    Ctr,
    /// The same traffic without arithmetic: copied, or changed where it lies.
    Copy,
    /// Nothing: what is left is handing out.
    Nothing,
}

/// What the thread does that hands jobs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dispatcher {
    /// It works as well: there are as many threads as workers.
    Busy,
    /// It waits: there is one thread more.
    Idle,
}

/// One way to hand out one kind of jobs.
#[derive(Clone, Debug, Serialize)]
pub struct CryptResult {
    /// What the jobs do.
    pub body: Body,
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// What the dispatching thread does.
    pub dispatcher: Dispatcher,
    /// Threads that compute.
    pub workers: u32,
    /// Bytes of a job.
    pub job: u32,
    /// Median over rounds, 10⁹ bytes a second.
    pub gb_per_s: f64,
    /// Seconds for all bytes, round by round.
    pub seconds: Vec<f64>,
}

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct CryptReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// How AES was computed.
    pub kernel: String,
    /// Bytes encrypted at a time.
    pub bytes: u64,
    /// Whether where they lay.
    pub in_place: bool,
    /// Times everything was measured.
    pub rounds: u32,
    /// Every combination.
    pub results: Vec<CryptResult>,
}

struct Memory {
    input: Option<Aligned<u8>>,
    output: Rows<u8>,
}

/// Measures; `progress` is told what comes next.
///
/// # Errors
/// There is no memory or no thread for it.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<CryptReport, Error> {
    let topology = Topology::detect();
    let largest = options.jobs.iter().copied().max().unwrap_or(1).max(1);
    let bytes = (options.bytes / u64::from(largest)).max(1) * u64::from(largest);
    let counts = match options.workers.as_slice() {
        [] => doubled(workers::all()),
        some => distinct(some.iter().copied()),
    };
    let ctr = Ctr::new(&[0x5a; 32], &[0xff; 16], evener_crypt::chosen::CTR.level())
        .map_err(|e| Error::Runtime(e.to_string()))?;
    let mut memory = Some(Memory::new(bytes, options.in_place)?);
    let mut results: Vec<CryptResult> = combinations(&counts, &options.jobs);
    let most = counts.iter().copied().max().unwrap_or(1) as usize;
    let pool = Pool::new(most + 1).map_err(|e| Error::Runtime(e.to_string()))?;
    for round in 0..options.rounds {
        for &job in &options.jobs {
            progress(&format!("round {}, jobs of {job} bytes", round + 1));
            let shaped = memory.take().map(|memory| memory.shaped(job));
            if let Some(memory) = &shaped {
                for result in results.iter_mut().filter(|r| r.job == job) {
                    let seconds = once(&pool, &ctr, memory, result)?;
                    result.seconds.push(seconds);
                }
            }
            memory = shaped;
        }
    }
    for result in &mut results {
        let seconds = median_of(result.seconds.iter().copied());
        result.gb_per_s = bytes as f64 / seconds / 1e9;
    }
    Ok(CryptReport {
        machine: topology.machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        kernel: ctr.variant().to_string(),
        bytes,
        in_place: options.in_place,
        rounds: options.rounds,
        results,
    })
}

/// 1, 2, 4 and on, and `most`.
fn doubled(most: u32) -> Vec<u32> {
    let powers = std::iter::successors(Some(1), |n| Some(n * 2));
    powers.take_while(|&n| n < most).chain([most]).collect()
}

/// Each flavour takes its turn beside the others; copies and empty jobs go by one flavour only.
fn combinations(workers: &[u32], jobs: &[u32]) -> Vec<CryptResult> {
    let mut all = Vec::new();
    for &job in jobs {
        for &workers in workers {
            let mut add = |body, dispatch, dispatcher| {
                all.push(CryptResult {
                    body,
                    dispatch,
                    dispatcher,
                    workers,
                    job,
                    gb_per_s: 0.0,
                    seconds: Vec::new(),
                });
            };
            for dispatch in Dispatch::ALL {
                add(Body::Ctr, dispatch, Dispatcher::Busy);
                add(Body::Ctr, dispatch, Dispatcher::Idle);
                add(Body::Nothing, dispatch, Dispatcher::Busy);
            }
            add(Body::Copy, Dispatch::Fifo, Dispatcher::Busy);
        }
    }
    all
}

impl Memory {
    fn new(bytes: u64, in_place: bool) -> Result<Memory, Error> {
        let too_much =
            || Error::Runtime(format!("no memory for {bytes} bytes; give fewer --bytes"));
        let len = usize::try_from(bytes).map_err(|_| too_much())?;
        let wanted = len.checked_mul(if in_place { 1 } else { 2 });
        // Where memory runs out later the process ends without a word.
        wanted
            .and_then(|wanted| Vec::<u8>::new().try_reserve_exact(wanted).ok())
            .ok_or_else(too_much)?;
        Ok(Memory {
            input: (!in_place).then(|| {
                let mut input = Aligned::zeroed(len);
                input.fill(0x5a);
                input
            }),
            output: Rows::zeroed(1, len),
        })
    }

    fn shaped(self, job: u32) -> Memory {
        Memory {
            output: self.output.reshaped(job as usize),
            ..self
        }
    }
}

/// Seconds for all bytes.
fn once(pool: &Pool, ctr: &Ctr, memory: &Memory, way: &CryptResult) -> Result<f64, Error> {
    let job = way.job as usize;
    let rows = memory.output.rows();
    let idle = way.dispatcher == Dispatcher::Idle;
    let batch = Batch {
        dispatch: way.dispatch,
        items: u32::try_from(rows).map_err(|_| Error::Runtime("too many jobs".into()))?,
        grain: 1,
        workers: way.workers + u32::from(idle),
        deadline: None,
        caller: if idle { Caller::Waits } else { Caller::Works },
    };
    let begin = Instant::now();
    let ran = pool.run(&batch, &|_, items| {
        let (from, to) = (items.start as usize, items.end as usize);
        if way.body == Body::Nothing {
            std::hint::black_box((from, to));
            return;
        }
        let mut output = memory.output.write(from..to);
        let at = from * job;
        let input = memory.input.as_ref().map(|all| &all[at..to * job]);
        match (way.body, input) {
            (Body::Ctr, Some(input)) => ctr.apply_to(at as u64, input, &mut output),
            (Body::Ctr, None) => ctr.apply(at as u64, &mut output),
            (_, Some(input)) => output.copy_from_slice(input),
            (_, None) => output.iter_mut().for_each(|byte| *byte ^= 0x5a),
        }
    });
    ran.map_err(|e| Error::Runtime(e.to_string()))?;
    Ok(begin.elapsed().as_secs_f64())
}

impl CryptReport {
    fn of(&self, body: Body, workers: u32, job: u32) -> impl Iterator<Item = &CryptResult> {
        self.results
            .iter()
            .filter(move |r| r.body == body && r.workers == workers && r.job == job)
    }

    /// Nanoseconds that handing out a job takes when it does nothing, by a thread that works too.
    fn handing_out(&self, way: &CryptResult) -> Option<f64> {
        let jobs = (self.bytes / u64::from(way.job)) as f64;
        let nothing = self.of(Body::Nothing, way.workers, way.job);
        nothing
            .filter(|r| r.dispatch == way.dispatch)
            .map(|r| median_of(r.seconds.iter().copied()) / jobs * 1e9)
            .next()
    }

    /// The figures as a table: a line for each number of workers, size of jobs and flavour.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        let encrypting = self.results.iter().filter(|r| r.body == Body::Ctr);
        for busy in encrypting.filter(|r| r.dispatcher == Dispatcher::Busy) {
            let idle = self
                .of(Body::Ctr, busy.workers, busy.job)
                .find(|r| r.dispatch == busy.dispatch && r.dispatcher == Dispatcher::Idle);
            let copy = self.of(Body::Copy, busy.workers, busy.job).next();
            let ratio = |other: Option<&CryptResult>| {
                other.map_or_else(String::new, |o| {
                    format!("{:.2}", busy.gb_per_s / o.gb_per_s)
                })
            };
            let job_ns = f64::from(busy.job) / busy.gb_per_s * f64::from(busy.workers);
            let share = self.handing_out(busy).map(|ns| {
                // All workers take part in handing out.
                let of_one = ns * f64::from(busy.workers);
                format!("{ns:.1} ({:.2} %)", 100.0 * of_one / job_ns)
            });
            rows.push(vec![
                busy.workers.to_string(),
                size(busy.job),
                busy.dispatch.to_string(),
                format!("{:.2}", busy.gb_per_s),
                idle.map_or_else(String::new, |i| format!("{:.2}", i.gb_per_s)),
                ratio(idle),
                ratio(copy),
                share.unwrap_or_default(),
            ]);
        }
        Table {
            title: "AES-256 in counter mode over memory",
            about: format!(
                "{} MiB {}, {}; GB/s, medians of {} rounds in which everything takes turns. Busy: the thread that hands \
                 jobs out works too, as one of the workers. Idle: it waits, beside as many workers. Of a copy: relative \
                 to the same jobs moving the same bytes without arithmetic.",
                self.bytes >> 20,
                if self.in_place {
                    "in place"
                } else {
                    "from one place to another"
                },
                self.kernel,
                self.rounds
            ),
            head: vec![
                "workers",
                "job",
                "dispatch",
                "busy",
                "idle",
                "busy/idle",
                "of a copy",
                "handing out, ns a job",
            ],
            rows,
        }
    }
}

/// A size as people write it.
pub(crate) fn size(bytes: u32) -> String {
    match bytes {
        mib if mib.is_multiple_of(1 << 20) => format!("{} MiB", mib >> 20),
        kib if kib.is_multiple_of(1 << 10) => format!("{} KiB", kib >> 10),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_and_encrypts_all() {
        let options = Options {
            bytes: 1 << 20,
            in_place: false,
            workers: vec![1, 2],
            jobs: vec![1 << 10, 64 << 10],
            rounds: 2,
        };
        let report = run(&options, &mut |_| ()).unwrap();
        assert_eq!(report.results.len(), 2 * 2 * (3 * 3 + 1));
        assert!(
            report
                .results
                .iter()
                .all(|r| r.seconds.len() == 2 && r.gb_per_s > 0.0)
        );
        assert_eq!(report.table().rows.len(), 2 * 2 * 3);
    }

    #[test]
    fn all_bytes_are_encrypted() {
        let ctr = Ctr::new(&[1; 32], &[2; 16], evener_runtime::Simd::detect()).unwrap();
        let pool = Pool::new(3).unwrap();
        for in_place in [false, true] {
            for way in combinations(&[2], &[4096]) {
                if way.body != Body::Ctr {
                    continue;
                }
                let mut memory = Memory::new(1 << 18, in_place).unwrap().shaped(4096);
                memory.output.as_mut_slice().fill(0x5a);
                once(&pool, &ctr, &memory, &way).unwrap();
                let mut expected = vec![0x5a; 1 << 18];
                ctr.apply(0, &mut expected);
                assert!(*memory.output.as_mut_slice() == *expected, "{way:?}");
            }
        }
    }

    #[test]
    fn workers_double_up_to_all() {
        assert_eq!(doubled(1), [1]);
        assert_eq!(doubled(2), [1, 2]);
        assert_eq!(doubled(6), [1, 2, 4, 6]);
    }
}
