//! What a job takes on the calling worker, and handed to another one that is waited for.

use std::time::Instant;

use evener_runtime::dispatch::Caller;
use evener_runtime::{Batch, Dispatch, Pool};
use serde::Serialize;

use super::SUBPEL;
use super::work::{Job, Work};
use crate::error::Error;
use crate::stats::{median_of, rotated};

/// Jobs of a size that are timed in a round, at most.
const SAMPLES: usize = 200;
/// Empty jobs that are timed in a round.
const EMPTY: usize = 2000;

/// Jobs of one size and depth, one at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Single {
    /// What a job is.
    pub job: Job,
    /// The depth of refinement; a search has none.
    pub subpel: Option<u8>,
    /// Microseconds on the calling worker: the median of each round.
    pub own_us: Vec<f64>,
    /// Microseconds until the job is done that another worker was given.
    pub handed_us: Vec<f64>,
}

impl Single {
    /// Median over rounds on the calling worker, in microseconds.
    pub fn own(&self) -> f64 {
        median_of(self.own_us.iter().copied())
    }

    /// Median over rounds of a job that is handed over, in microseconds.
    pub fn handed(&self) -> f64 {
        median_of(self.handed_us.iter().copied())
    }
}

/// All that are timed.
pub(super) fn all(jobs: &[Job]) -> Vec<Single> {
    let single = |job, subpel| Single {
        job,
        subpel,
        own_us: Vec::new(),
        handed_us: Vec::new(),
    };
    let depths = |&job: &Job| match job {
        Job::Search => vec![single(job, None)],
        _ => SUBPEL.map(|depth| single(job, Some(depth))).to_vec(),
    };
    jobs.iter().flat_map(depths).collect()
}

/// Times all of them once.
pub(super) fn measure(work: &Work, pool: &Pool, all: &mut [Single]) -> Result<(), Error> {
    work.prepare(work.analysis(SUBPEL[0]));
    for single in all {
        let analysis = work.analysis(single.subpel.unwrap_or(SUBPEL[0]));
        let pairs = work.all_pairs(analysis);
        let count = work.jobs(analysis, single.job).min(SAMPLES);
        let run = |index| work.job(analysis, &pairs, single.job, index);
        let round = single.own_us.len() as u32;
        let own = rotated(count, round).map(|index| {
            micros(|| {
                run(index);
                Ok(())
            })
        });
        single.own_us.push(median(own)?);
        let handed = rotated(count, round).map(|index| handed(pool, &|| run(index)));
        single.handed_us.push(median(handed)?);
    }
    Ok(())
}

/// The median time of an empty job.
pub(super) fn empty(pool: &Pool, round: u32) -> Result<f64, Error> {
    median(rotated(EMPTY, round).map(|_| handed(pool, &|| ())))
}

fn median(times: impl Iterator<Item = Result<f64, Error>>) -> Result<f64, Error> {
    let times: Result<Vec<f64>, Error> = times.collect();
    Ok(median_of(times?))
}

fn micros(run: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let begin = Instant::now();
    run()?;
    Ok(begin.elapsed().as_secs_f64() * 1e6)
}

/// Microseconds until another worker has done a job, while this thread waits. An empty job goes with it, since a batch of
/// one is run by the thread that asks.
fn handed(pool: &Pool, job: &(dyn Fn() + Sync)) -> Result<f64, Error> {
    let batch = Batch {
        dispatch: Dispatch::Fifo,
        items: 2,
        grain: 1,
        workers: 2,
        deadline: None,
        caller: Caller::Waits,
    };
    micros(|| {
        let ran = pool.run(&batch, &|_, items| {
            if items.start == 0 {
                job();
            }
        });
        ran.map_err(|e| Error::Runtime(e.to_string()))?;
        Ok(())
    })
}
