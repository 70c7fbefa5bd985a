//! `evener bench queens`: one board cut into jobs in three ways, on as many workers as there are and, in virtual time,
//! on as many as there might be.
//!
//! The coarse splits were published before: a job for each square of half the first row, or for each two queens in the first
//! two rows. Both search the whole board with the same kernels, halved by the mirror image only. Constellations do less:
//! their classes leave out seven of eight images. Gains are relative to the same split on one worker. A shared FIFO hands
//! out coarse jobs. Constellations are a whole run of `evener queens --plan farm`.
#![forbid(unsafe_code)]

mod tables;

use std::sync::Mutex;
use std::time::Instant;

use evener_files::unpoisoned;
use evener_queens::{Counts, Jobs, Options as RunOptions, Searcher, Session, Split};
use evener_runtime::dispatch::Caller;
use evener_runtime::structure::FARM;
use evener_runtime::{Batch, Choice, Dispatch, Runtime, Simd, replay};
use serde::Serialize;

use crate::error::Error;
use crate::stats::{distinct, median_of, rotated};
use crate::workers;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of the boards.
    pub boards: Vec<u32>,
    /// Numbers of workers besides one; all there are when empty.
    pub workers: Vec<u32>,
    /// Ways to cut them.
    pub splits: Vec<Split>,
    /// Times everything is measured.
    pub rounds: u32,
}

/// Numbers of workers that are predicted.
pub const PREDICTED_WORKERS: [u32; 13] = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];

/// A board cut in one way.
#[derive(Clone, Debug, Serialize)]
pub struct SplitResult {
    /// Rows of the board.
    pub n: u32,
    /// How it is cut.
    pub split: &'static str,
    /// Its solutions.
    pub total: u128,
    /// Seconds of each job on one thread alone: the least over rounds, since other load only makes it longer.
    pub job_seconds: Vec<f64>,
    /// Whole runs.
    pub runs: Vec<Run>,
    /// Gains that follow from the jobs.
    #[serde(rename = "foreseen")]
    pub predicted: Vec<Prediction>,
}

/// Whole runs on some workers.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// So many.
    pub workers: u32,
    /// Round by round.
    pub seconds: Vec<f64>,
}

/// The predicted gain of equal workers over one worker.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prediction {
    /// So many.
    pub workers: u32,
    /// Times.
    pub gain: f64,
}

/// Everything that was measured, and what follows from it.
#[derive(Clone, Debug, Serialize)]
pub struct QueensReport {
    /// Processor, cores and SIMD level.
    pub machine: String,
    /// Version of evener.
    pub version: &'static str,
    /// Instructions of the kernels.
    pub simd: String,
    /// Times everything was measured.
    pub rounds: u32,
    /// Every board, cut in every way.
    pub results: Vec<SplitResult>,
}

/// Measures; `progress` is told what comes next.
///
/// # Errors
/// A board is too large, there is no thread for it, or ways differ in their totals.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<QueensReport, Error> {
    let workers = workers::with_one(&options.workers);
    let runtime = workers::runtime(&workers)?;
    let topology = runtime.topology();
    let mut report = QueensReport {
        machine: topology.machine_key(),
        version: env!("CARGO_PKG_VERSION"),
        simd: evener_queens::chosen::SEARCH.level().to_string(),
        rounds: options.rounds,
        results: Vec::new(),
    };
    let bench = Bench {
        runtime: &runtime,
        simd: evener_queens::chosen::SEARCH.level(),
    };
    for n in distinct(options.boards.iter().copied()) {
        let mut ways = Vec::new();
        for &split in &options.splits {
            let jobs = Jobs::new(split, n).map_err(failed)?;
            let result = SplitResult {
                n,
                split: split.name(),
                total: 0,
                job_seconds: vec![f64::INFINITY; jobs.len()],
                runs: workers
                    .iter()
                    .map(|&workers| Run {
                        workers,
                        seconds: Vec::new(),
                    })
                    .collect(),
                predicted: Vec::new(),
            };
            ways.push((split, jobs, result));
        }
        for round in 0..options.rounds {
            for (split, jobs, result) in &mut ways {
                progress(&format!("N = {n}, {}, round {}", split.name(), round + 1));
                bench.costs(jobs, result);
                for turn in rotated(result.runs.len(), round) {
                    let run = &mut result.runs[turn];
                    let (seconds, total) = bench.once(*split, n, jobs, run.workers)?;
                    run.seconds.push(seconds);
                    if total != result.total {
                        return Err(failed(format!(
                            "N = {n}: {total} and {} solutions",
                            result.total
                        )));
                    }
                }
            }
        }
        for (_, _, mut result) in ways {
            result.predicted = predict(&result.job_seconds);
            report.results.push(result);
        }
    }
    Ok(report)
}

fn failed(reason: impl ToString) -> Error {
    Error::Runtime(reason.to_string())
}

/// Gains by what jobs take.
fn predict(jobs: &[f64]) -> Vec<Prediction> {
    let all: f64 = jobs.iter().sum();
    let gain = |workers| {
        let last = replay::fifo(jobs.iter().copied(), workers as usize);
        let gain = if last > 0.0 { all / last } else { 1.0 };
        Prediction { workers, gain }
    };
    PREDICTED_WORKERS.map(gain).into()
}

/// What all measurements share.
struct Bench<'a> {
    runtime: &'a Runtime,
    simd: Simd,
}

impl Bench<'_> {
    /// What each job takes on this thread.
    fn costs(&self, jobs: &Jobs, result: &mut SplitResult) {
        let mut searcher = Searcher::new(self.simd);
        let mut all = Counts::default();
        for (job, least) in result.job_seconds.iter_mut().enumerate() {
            let begin = Instant::now();
            all += jobs.search(&mut searcher, job);
            *least = least.min(begin.elapsed().as_secs_f64());
        }
        result.total = all.solutions;
    }

    /// Seconds of all jobs on so many workers, and what they found.
    fn once(&self, split: Split, n: u32, jobs: &Jobs, workers: u32) -> Result<(f64, u128), Error> {
        if split == Split::Constellations {
            return self.farm(n, workers);
        }
        let batch = Batch {
            dispatch: Dispatch::Fifo,
            items: jobs.len() as u32,
            grain: 1,
            workers,
            deadline: None,
            caller: Caller::Works,
        };
        // A job takes longer than a lock by far.
        let idle: Mutex<Vec<Searcher>> = Mutex::new(Vec::new());
        let all = Mutex::new(Counts::default());
        let begin = Instant::now();
        let ran = self.runtime.pool().run(&batch, &|_, items| {
            let searcher = unpoisoned(idle.lock()).pop();
            let mut searcher = searcher.unwrap_or_else(|| Searcher::new(self.simd));
            for job in items {
                let found = jobs.search(&mut searcher, job as usize);
                *unpoisoned(all.lock()) += found;
            }
            unpoisoned(idle.lock()).push(searcher);
        });
        let seconds = begin.elapsed().as_secs_f64();
        ran.map_err(failed)?;
        let solutions = unpoisoned(all.lock()).solutions;
        Ok((seconds, solutions))
    }

    /// The same by the service itself.
    fn farm(&self, n: u32, workers: u32) -> Result<(f64, u128), Error> {
        let session = Session::open(n, None).map_err(failed)?;
        let options = RunOptions {
            plan: Choice::Fixed {
                structure: FARM.to_string(),
                dispatch: None,
                grain: None,
            },
            workers: Some(workers),
            ..RunOptions::default()
        };
        let begin = Instant::now();
        let outcome = session.run(self.runtime, options).map_err(failed)?;
        let seconds = begin.elapsed().as_secs_f64();
        let total = outcome.total.ok_or_else(|| failed("it was ended"))?;
        Ok((seconds, total))
    }
}

impl Run {
    /// Median over rounds, in seconds.
    pub fn median_s(&self) -> f64 {
        median_of(self.seconds.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_predicted_follows_from_the_largest_job_and_the_sum() {
        let gain = |jobs: &[f64], workers| {
            let all = predict(jobs);
            all.iter().find(|f| f.workers == workers).unwrap().gain
        };
        assert!((gain(&[1.0; 9], 8) - 4.5).abs() < 1e-9);
        assert!((gain(&[1.0; 9], 64) - 9.0).abs() < 1e-9);
        assert!((gain(&[1e-3; 6400], 64) - 64.0).abs() < 1e-6);
        assert_eq!(gain(&[], 4), 1.0);
    }

    #[test]
    fn every_way_is_measured() {
        let options = Options {
            boards: vec![3, 9],
            workers: vec![2],
            splits: Split::ALL.into(),
            rounds: 2,
        };
        let report = run(&options, &mut |_| ()).unwrap();
        assert_eq!(report.results.len(), 6);
        for result in &report.results {
            assert_eq!(result.total, if result.n == 9 { 352 } else { 0 });
            assert!(result.job_seconds.iter().all(|s| s.is_finite()));
            assert!(result.runs.iter().all(|run| run.seconds.len() == 2));
        }
    }
}
