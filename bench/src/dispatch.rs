//! What a job costs: evener's flavours of dispatch, compared with rayon and crossbeam-channel.
//!
//! All contestants run the same tasks, in the same numbers, on the same number of threads, the waiting one included. They
//! take turns within each round, so that a slow moment of the machine hits all. Rayon's batches start on one of its own
//! threads, as its documentation advises.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use evener_runtime::{Batch, Caller, Dispatch, JobPanic, Pool};
use rayon::prelude::*;
use serde::Serialize;

use crate::stats::median;

/// Tasks of a batch, except in the batch of two.
const TASKS: u32 = 1000;
/// Approximate length of a measurement.
const WINDOW: Duration = Duration::from_millis(4);
/// Task lengths tried, in nanoseconds: the first, and doublings of it.
const SHORTEST_NS: f64 = 4.0;
const LENGTHS: usize = 14;
/// Length of each of the two tasks whose split is timed.
const SPLIT_NS: f64 = 5000.0;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads, the one that waits included; 1 or more.
    pub workers: usize,
    /// Times everything is measured; the median is reported. 1 or more.
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            workers: std::thread::available_parallelism().map_or(1, |n| n.get()),
            rounds: 7,
        }
    }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There must be a round and a worker.
    #[error("{workers} workers, {rounds} rounds: choose at least 1 of each")]
    Options {
        /// Workers asked for.
        workers: usize,
        /// Rounds asked for.
        rounds: usize,
    },
    /// Evener's pool did not start.
    #[error(transparent)]
    Pool(#[from] evener_runtime::dispatch::Error),
    /// Rayon's pool did not start.
    #[error("rayon's pool did not start: {0}")]
    Rayon(#[from] rayon::ThreadPoolBuildError),
    /// A thread that receives from the channel did not start.
    #[error("a receiving thread did not start: {0}")]
    Thread(#[from] std::io::Error),
    /// A task panicked.
    #[error(transparent)]
    Panic(#[from] JobPanic),
}

/// Figures of one contestant: medians over the rounds, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DispatchRow {
    /// The contestant.
    pub name: &'static str,
    /// Wall-clock time per task of a batch of 1000 tasks that do nothing.
    pub empty_job_ns: f64,
    /// Wall-clock time of a batch of two such tasks on two workers.
    pub pair_ns: f64,
    /// What splitting a short unit of work costs: wall-clock time of a batch of two tasks of 5 µs on two workers,
    /// less 5 µs.
    pub split_ns: f64,
    /// METG(50 %): the shortest task with which the workers still do half of the work they do on their own; `None`
    /// when no length tried was long enough.
    pub metg_ns: Option<f64>,
    /// The figure above is the shortest length tried; the true one is lower.
    pub metg_is_bound: bool,
    /// Task lengths tried and the efficiency of each.
    pub efficiency: Vec<(f64, f64)>,
}

/// What [`run`] measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DispatchReport {
    /// Threads of each contestant.
    pub workers: usize,
    /// Times everything was measured.
    pub rounds: usize,
    /// One row for each contestant.
    pub rows: Vec<DispatchRow>,
}

impl fmt::Display for DispatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            workers, rounds, ..
        } = self;
        writeln!(
            f,
            "dispatch on {workers} workers, median of {rounds} rounds"
        )?;
        writeln!(
            f,
            "{:<18} {:>12} {:>14} {:>14} {:>12}",
            "", "empty job", "2 empty jobs", "10 µs split", "METG(50 %)"
        )?;
        for row in &self.rows {
            let metg = match row.metg_ns {
                Some(ns) if row.metg_is_bound => format!("< {}", Nanos(ns)),
                Some(ns) => Nanos(ns).to_string(),
                None => "none".to_owned(),
            };
            writeln!(
                f,
                "{:<18} {:>12} {:>14} {:>14} {metg:>12}",
                row.name,
                Nanos(row.empty_job_ns).to_string(),
                Nanos(row.pair_ns).to_string(),
                Nanos(row.split_ns).to_string(),
            )?;
        }
        Ok(())
    }
}

struct Nanos(f64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns < 1000.0 => write!(f, "{ns:.1} ns"),
            ns if ns < 1e6 => write!(f, "{:.2} \u{b5}s", ns / 1e3),
            ns => write!(f, "{:.2} ms", ns / 1e6),
        }
    }
}

/// Measures all contestants.
///
/// METG is defined as in Slaughter et al., *Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
/// Performance* (SC 2020), for tasks without dependences between them and a barrier after each 1000. Full
/// efficiency is what one thread achieves alone without any dispatch, times the number of workers.
///
/// # Errors
/// [`Error`] when a pool does not start or the options make no sense.
pub fn run(options: &Options) -> Result<DispatchReport, Error> {
    let Options { workers, rounds } = *options;
    if workers == 0 || rounds == 0 {
        return Err(Error::Options { workers, rounds });
    }
    let mut contestants = contestants(workers)?;
    let names: Vec<&'static str> = contestants.iter().map(|c| c.name()).collect();
    let mut empty = vec![Vec::new(); names.len()];
    let mut pair = vec![Vec::new(); names.len()];
    let mut split = vec![Vec::new(); names.len()];
    let mut efficiency = vec![vec![Vec::new(); LENGTHS]; names.len()];

    let mut lengths = vec![Vec::new(); LENGTHS];
    for _ in 0..rounds {
        for (i, contestant) in contestants.iter_mut().enumerate() {
            empty[i].push(contestant.nanos_per_batch(TASKS, 0)? / f64::from(TASKS));
            pair[i].push(contestant.nanos_per_batch(2, 0)?);
            let iterations = (SPLIT_NS / nanos_per_iteration()) as u32;
            let wall = contestant.nanos_per_batch(2, iterations)?;
            split[i].push(wall - nanos_per_task(iterations));
        }
        for step in 0..LENGTHS {
            // Measured anew each time, since the clock rate of the machine changes.
            let per_iteration = nanos_per_iteration();
            let iterations = (SHORTEST_NS * f64::from(1u32 << step) / per_iteration)
                .round()
                .max(1.0) as u32;
            let length = nanos_per_task(iterations);
            lengths[step].push(length);
            for (i, contestant) in contestants.iter_mut().enumerate() {
                let wall = contestant.nanos_per_batch(TASKS, iterations)?;
                efficiency[i][step].push(length * f64::from(TASKS) / (wall * workers as f64));
            }
        }
    }

    let rows = names.into_iter().enumerate().map(|(i, name)| {
        let points: Vec<(f64, f64)> = lengths
            .iter_mut()
            .map(|lengths| median(lengths))
            .zip(efficiency[i].iter_mut().map(|e| median(e)))
            .collect();
        let (metg_ns, metg_is_bound) = metg(&points, 0.5);
        DispatchRow {
            name,
            empty_job_ns: median(&mut empty[i]),
            pair_ns: median(&mut pair[i]),
            split_ns: median(&mut split[i]),
            metg_ns,
            metg_is_bound,
            efficiency: points,
        }
    });
    Ok(DispatchReport {
        workers,
        rounds,
        rows: rows.collect(),
    })
}

/// The shortest length from which on efficiency is at least `wanted`, interpolated over the logarithm of the
/// length, and whether that is only a bound. `points` are ordered by length.
fn metg(points: &[(f64, f64)], wanted: f64) -> (Option<f64>, bool) {
    let Some(below) = points
        .iter()
        .rposition(|&(_, efficiency)| efficiency < wanted)
    else {
        return (points.first().map(|&(length, _)| length), true);
    };
    let (low, high) = (points[below], points.get(below + 1));
    let between = |&(length, efficiency): &(f64, f64)| {
        let part = (wanted - low.1) / (efficiency - low.1);
        low.0 * (length / low.0).powf(part)
    };
    (high.map(between), false)
}

/// The body of a task: a chain of dependent multiplications, which a compiler cannot shorten.
#[inline(never)]
fn task(iterations: u32) {
    let mut x = 1u64;
    for _ in 0..iterations {
        x = black_box(x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(x);
}

fn nanos_per_iteration() -> f64 {
    const ITERATIONS: u32 = 100_000;
    let start = Instant::now();
    task(ITERATIONS);
    start.elapsed().as_nanos() as f64 / f64::from(ITERATIONS)
}

/// One task without dispatch, on this thread.
fn nanos_per_task(iterations: u32) -> f64 {
    let tasks = (1_000_000 / iterations.max(1)).max(20);
    let start = Instant::now();
    for _ in 0..tasks {
        task(black_box(iterations));
    }
    start.elapsed().as_nanos() as f64 / f64::from(tasks)
}

/// Something that can run tasks on several threads.
trait Contestant {
    fn name(&self) -> &'static str;

    /// Runs `batches` batches of `tasks` tasks, each batch to its end before the next begins.
    fn run(&mut self, batches: u32, tasks: u32, iterations: u32) -> Result<Duration, JobPanic>;

    /// Wall-clock time of a batch, over enough of them to fill the window.
    fn nanos_per_batch(&mut self, tasks: u32, iterations: u32) -> Result<f64, JobPanic> {
        // Warm-up of threads and cache lines.
        let mut batches = 1;
        let mut took = self.run(batches, tasks, iterations)?;
        while took < WINDOW / 4 {
            batches *= 4;
            took = self.run(batches, tasks, iterations)?;
        }
        let enough = WINDOW.as_secs_f64() / took.as_secs_f64() * f64::from(batches);
        let batches = (enough as u32).max(1);
        Ok(self.run(batches, tasks, iterations)?.as_nanos() as f64 / f64::from(batches))
    }
}

fn contestants(workers: usize) -> Result<Vec<Box<dyn Contestant>>, Error> {
    let pool = Arc::new(Pool::new(workers)?);
    let rayon = Arc::new(
        rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()?,
    );
    let mut all: Vec<Box<dyn Contestant>> = Vec::new();
    for dispatch in Dispatch::ALL {
        all.push(Box::new(Evener {
            pool: Arc::clone(&pool),
            dispatch,
        }));
    }
    all.push(Box::new(RayonIter {
        pool: Arc::clone(&rayon),
    }));
    all.push(Box::new(RayonScope { pool: rayon }));
    all.push(Box::new(Channel::new(workers)?));
    Ok(all)
}

struct Evener {
    pool: Arc<Pool>,
    dispatch: Dispatch,
}

impl Contestant for Evener {
    fn name(&self) -> &'static str {
        match self.dispatch {
            Dispatch::Fifo => "evener fifo",
            Dispatch::Mailbox => "evener mailbox",
            Dispatch::Steal => "evener steal",
        }
    }

    fn run(&mut self, batches: u32, tasks: u32, iterations: u32) -> Result<Duration, JobPanic> {
        let batch = Batch {
            dispatch: self.dispatch,
            items: tasks,
            grain: 1,
            workers: self.pool.workers() as u32,
            deadline: None,
            caller: Caller::Works,
        };
        let start = Instant::now();
        for _ in 0..batches {
            self.pool.run(&batch, &|_, _| task(black_box(iterations)))?;
        }
        Ok(start.elapsed())
    }
}

/// A parallel iterator that may be split down to single tasks.
struct RayonIter {
    pool: Arc<rayon::ThreadPool>,
}

impl Contestant for RayonIter {
    fn name(&self) -> &'static str {
        "rayon par_iter"
    }

    fn run(&mut self, batches: u32, tasks: u32, iterations: u32) -> Result<Duration, JobPanic> {
        Ok(self.pool.install(|| {
            let start = Instant::now();
            for _ in 0..batches {
                let all = (0..tasks).into_par_iter().with_max_len(1);
                all.for_each(|_| task(black_box(iterations)));
            }
            start.elapsed()
        }))
    }
}

/// A scope with a spawned closure per task.
struct RayonScope {
    pool: Arc<rayon::ThreadPool>,
}

impl Contestant for RayonScope {
    fn name(&self) -> &'static str {
        "rayon scope"
    }

    fn run(&mut self, batches: u32, tasks: u32, iterations: u32) -> Result<Duration, JobPanic> {
        Ok(self.pool.install(|| {
            let start = Instant::now();
            for _ in 0..batches {
                rayon::scope(|scope| {
                    for _ in 0..tasks {
                        scope.spawn(|_| task(black_box(iterations)));
                    }
                });
            }
            start.elapsed()
        }))
    }
}

/// What goes through the channel.
#[derive(Clone, Copy)]
struct Message {
    iterations: u32,
}

/// Threads that receive tasks from one bounded channel; the sender receives too when it has nothing to send.
struct Channel {
    sender: Option<Sender<Message>>,
    receiver: Receiver<Message>,
    ended: Arc<AtomicU32>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Channel {
    fn new(workers: usize) -> std::io::Result<Channel> {
        let (sender, receiver) = bounded::<Message>(1024);
        let ended = Arc::new(AtomicU32::new(0));
        let mut channel = Channel {
            sender: Some(sender),
            receiver,
            ended,
            threads: Vec::new(),
        };
        for _ in 1..workers {
            let (receiver, ended) = (channel.receiver.clone(), Arc::clone(&channel.ended));
            let work = move || {
                for message in receiver {
                    task(message.iterations);
                    ended.fetch_add(1, Ordering::Release);
                }
            };
            channel
                .threads
                .push(std::thread::Builder::new().spawn(work)?);
        }
        Ok(channel)
    }

    /// Runs one task on this thread, if there is any.
    fn help(&self) -> bool {
        let Ok(message) = self.receiver.try_recv() else {
            return false;
        };
        task(message.iterations);
        self.ended.fetch_add(1, Ordering::Release);
        true
    }
}

impl Contestant for Channel {
    fn name(&self) -> &'static str {
        "crossbeam-channel"
    }

    fn run(&mut self, batches: u32, tasks: u32, iterations: u32) -> Result<Duration, JobPanic> {
        let Some(sender) = &self.sender else {
            return Ok(Duration::ZERO);
        };
        let start = Instant::now();
        for _ in 0..batches {
            self.ended.store(0, Ordering::Relaxed);
            for _ in 0..tasks {
                let mut message = Message {
                    iterations: black_box(iterations),
                };
                while let Err(TrySendError::Full(back)) = sender.try_send(message) {
                    message = back;
                    self.help();
                }
            }
            while self.help() {}
            let mut spins = 0u32;
            while self.ended.load(Ordering::Acquire) < tasks {
                spins += 1;
                match spins % 1024 {
                    0 => std::thread::yield_now(),
                    _ => std::hint::spin_loop(),
                }
            }
        }
        Ok(start.elapsed())
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.sender = None;
        for thread in self.threads.drain(..) {
            // Tasks do not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metg_is_where_efficiency_crosses() {
        let points = [(1.0, 0.1), (2.0, 0.3), (4.0, 0.7), (8.0, 0.9)];
        let (length, bound) = metg(&points, 0.5);
        assert!((length.unwrap() - 8f64.sqrt()).abs() < 1e-9 && !bound);
        assert_eq!(metg(&points, 0.05), (Some(1.0), true));
        assert_eq!(metg(&points, 0.95), (None, false));
        // A dip counts: from the length on, every efficiency is high enough.
        let dip = [(1.0, 0.6), (2.0, 0.4), (4.0, 0.6)];
        assert!((metg(&dip, 0.5).0.unwrap() - 8f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn all_contestants_run_all_tasks() {
        let report = run(&Options {
            workers: 2,
            rounds: 1,
        })
        .unwrap();
        assert_eq!(report.rows.len(), 6);
        for row in &report.rows {
            assert!(row.empty_job_ns > 0.0 && row.pair_ns > 0.0, "{row:?}");
            assert_eq!(row.efficiency.len(), LENGTHS);
            assert!(
                row.efficiency
                    .iter()
                    .all(|&(length, e)| length > 0.0 && e > 0.0)
            );
        }
        assert_eq!(report.to_string().lines().count(), 8);
        let error = run(&Options {
            workers: 0,
            rounds: 1,
        })
        .unwrap_err();
        assert!(matches!(error, Error::Options { .. }));
    }
}
