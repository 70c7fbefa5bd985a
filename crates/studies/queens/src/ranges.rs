//! A count in ranges of starts, which are searched wherever there is room: on other machines, in any order, some twice.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use evener_runtime::{Runtime, Sink};

use crate::checkpoint::{Checkpoint, Finished};
use crate::checkpoint_file::CheckpointFile;
use crate::chosen;
use crate::division::{Division, Units};
use crate::service::{Search, Sums};
use crate::session::{CountProgress, Options};
use crate::session_error::{SessionError, of_stream};
use crate::starts::Starts;

/// Searches below some starts of a board on the workers of a runtime. `None` if the run was cancelled, otherwise all
/// solutions there, times their weights: those of all ranges of a board add up to its total.
///
/// # Errors
/// The plan is not possible, or a kernel failed.
pub fn search_range(
    starts: &Arc<Starts>,
    range: Range<u64>,
    runtime: &Runtime,
    options: Options<'_>,
) -> Result<Option<u128>, SessionError> {
    let service = Search::new(Arc::clone(starts), chosen::SEARCH.level());
    let mut sum = Sum(0);
    let mut stream = runtime
        .stream(Units::new(Division::of(Arc::clone(starts), range)))
        .through(service)
        .plan(options.plan)
        .workers(options.workers)
        .cancel(options.cancel)
        .named("units", "parts");
    if let Some(mut on_progress) = options.on_progress {
        stream = stream.on_progress(move |progress| {
            let none = CountProgress {
                board: 0.0,
                run: 0.0,
            };
            on_progress(progress, none);
        });
    }
    let report = stream.into(&mut sum).map_err(of_stream)?;
    Ok((!report.cancelled).then_some(sum.0))
}

struct Sum(u128);

impl Sink<Search> for Sum {
    type Error = Infallible;

    fn write(&mut self, unit: &Sums) -> Result<(), Infallible> {
        self.0 += unit.solutions();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

/// What is known of a count in ranges. With a file, the ranges before the first that is missing are kept there, as a
/// checkpoint of [`Session`](crate::Session): either goes on from what the other wrote.
pub struct Ledger {
    starts: Arc<Starts>,
    checkpoint: Checkpoint,
    file: Option<CheckpointFile>,
    /// Ranges that are not begun, or not finished, by their first start.
    open: BTreeMap<u64, u64>,
    /// Ranges that were finished before one that comes first.
    waiting: BTreeMap<u64, Finished>,
}

impl Ledger {
    /// A board of `n` x `n` in ranges of about equal work, about `parts` of them, from the beginning or from a checkpoint.
    ///
    /// # Errors
    /// The board is too large, or the file is no checkpoint of it, or another run keeps it.
    pub fn open(n: u32, parts: u32, file: Option<&Path>) -> Result<Ledger, SessionError> {
        let starts = Arc::new(Starts::new(n)?);
        let (checkpoint, file) = match file {
            None => (Checkpoint::new(&starts), None),
            Some(path) => {
                let (mut file, checkpoint) = CheckpointFile::open(path, &starts)?;
                // Written before the work, so that an error is noticed early.
                file.write(&checkpoint)?;
                (checkpoint, Some(file))
            }
        };
        let division = Division::new(Arc::clone(&starts), checkpoint.done()).with_parts(parts);
        Ok(Ledger {
            open: division.map(|range| (range.start, range.end)).collect(),
            starts,
            checkpoint,
            file,
            waiting: BTreeMap::new(),
        })
    }

    /// The ranges that are not finished.
    pub fn open_ranges(&self) -> Vec<Range<u64>> {
        self.open.iter().map(|(&from, &to)| from..to).collect()
    }

    /// Notes what was found below a range; `false` if there is no such open range, and nothing is noted then. So a range that
    /// was searched twice counts once.
    pub fn add(&mut self, range: Range<u64>, solutions: u128) -> bool {
        if self.open.get(&range.start) != Some(&range.end) {
            return false;
        }
        self.open.remove(&range.start);
        let finished = Finished {
            starts: range.clone(),
            solutions,
        };
        self.waiting.insert(range.start, finished);
        while let Some(next) = self.waiting.remove(&self.checkpoint.done()) {
            self.checkpoint.add(next);
        }
        true
    }

    /// Writes the file, if there is one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&mut self) -> Result<(), SessionError> {
        match &mut self.file {
            Some(file) => Ok(file.write(&self.checkpoint)?),
            None => Ok(()),
        }
    }

    /// The number of solutions, if all ranges are finished.
    pub fn total(&self) -> Option<u128> {
        let all = self.checkpoint.is_complete();
        all.then(|| self.checkpoint.solutions())
    }

    /// The estimated share of the work that is done, from 0 to 1.
    pub fn share(&self) -> f64 {
        let left = self
            .open
            .iter()
            .map(|(&from, &to)| self.starts.share(to) - self.starts.share(from));
        1.0 - left.sum::<f64>()
    }
}
