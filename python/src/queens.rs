//! Counting the solutions of n queens.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evener_queens::{CountProgress, Ledger, Options, Session, SessionError, Starts, search_range};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::beside;
use crate::errors::{self, StreamError};
use crate::setup::Setup;

/// Counts the ways to place `n` queens on a board of n x n squares so that no queen attacks another. An interrupted
/// count resumes from the file `checkpoint`.
#[pyfunction]
#[pyo3(signature = (n, *, checkpoint=None, every=60.0, workers=None, progress=None))]
pub fn _queens(
    py: Python<'_>,
    n: u32,
    checkpoint: Option<PathBuf>,
    every: f64,
    workers: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<u128> {
    let setup = Setup::new("auto", workers, "auto")?;
    let every = Duration::try_from_secs_f64(every)
        .map_err(|_| PyValueError::new_err("every must be a number of seconds, 0 or more"))?;
    let total = beside::run(py, progress.as_ref(), |beside| {
        let file = checkpoint.as_deref().map(|path| (path, every));
        let session = Session::open(n, file).map_err(|error| request(&error))?;
        let options = Options {
            plan: setup.plan.clone(),
            workers: setup.workers,
            on_progress: beside
                .on_share()
                .map(|mut share| Box::new(move |_: &_, far: CountProgress| share(far.board)) as _),
            cancel: beside.cancel,
            on_problem: None,
        };
        let outcome = session.run(&setup.runtime()?, options);
        let outcome = outcome.map_err(|error| errors::of::<StreamError>(&error))?;
        PyResult::Ok(outcome.total)
    })??;
    total.ok_or_else(|| StreamError::new_err("the count was cancelled"))
}

/// Counts the weighted solutions below the starts from `begin` up to, but not including, `end`.
#[pyfunction]
pub fn _queens_range(
    py: Python<'_>,
    n: u32,
    begin: u64,
    end: u64,
    workers: Option<u32>,
) -> PyResult<u128> {
    let setup = Setup::new("auto", workers, "auto")?;
    let found = beside::run(py, None, |beside| {
        let starts = Starts::new(n).map_err(|error| request(&error.into()))?;
        if begin > end || end > starts.len() {
            let all = starts.len();
            return Err(PyValueError::new_err(format!(
                "{begin} to {end}: give a range of the {all} starts"
            )));
        }
        let options = Options {
            plan: setup.plan.clone(),
            workers: setup.workers,
            cancel: beside.cancel,
            ..Options::default()
        };
        let found = search_range(&Arc::new(starts), begin..end, &setup.runtime()?, options);
        found.map_err(|error| errors::of::<StreamError>(&error))
    })??;
    found.ok_or_else(|| StreamError::new_err("the count was cancelled"))
}

/// The state of a count in ranges, which several machines search.
#[pyclass(frozen, module = "evener._evener")]
pub struct _Ledger(Mutex<Ledger>);

impl _Ledger {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl _Ledger {
    #[new]
    fn new(n: u32, parts: u32, checkpoint: Option<PathBuf>) -> PyResult<_Ledger> {
        let ledger = Ledger::open(n, parts, checkpoint.as_deref());
        let ledger = ledger.map_err(|error| request(&error))?;
        Ok(_Ledger(Mutex::new(ledger)))
    }

    /// Returns the unfinished ranges.
    fn open_ranges(&self) -> Vec<(u64, u64)> {
        let ranges = self.ledger().open_ranges().into_iter();
        ranges.map(|range| (range.start, range.end)).collect()
    }

    /// Records the result of a range, once.
    fn add(&self, begin: u64, end: u64, solutions: u128) -> bool {
        self.ledger().add(begin..end, solutions)
    }

    /// Writes the checkpoint.
    fn save(&self) -> PyResult<()> {
        let saved = self.ledger().save();
        saved.map_err(|error| errors::of::<StreamError>(&error))
    }

    /// Returns the number of solutions, if all ranges are finished.
    fn total(&self) -> Option<u128> {
        self.ledger().total()
    }

    /// Returns the finished share of the work.
    fn share(&self) -> f64 {
        self.ledger().share()
    }
}

fn request(error: &SessionError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
