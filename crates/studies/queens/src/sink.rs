//! The sink of units: it adds up their solutions in order, and writes checkpoints.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_files::Error as FileError;
use evener_runtime::Sink;

use crate::checkpoint::{Checkpoint, Finished};
use crate::checkpoint_file::CheckpointFile;
use crate::service::{Search, Sums};

/// A callback for why a checkpoint was not written.
pub type OnProblem<'a> = Box<dyn FnMut(&evener_files::Error) + Send + 'a>;

/// Adds up units, and writes the sum to `file`, if there is one.
pub(crate) struct CheckpointSink<'a> {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) file: Option<CheckpointFile>,
    pub(crate) every: Duration,
    /// Finished starts, for reports of the progress.
    pub(crate) done: Arc<AtomicU64>,
    /// Why the last checkpoint was not written. The run goes on all the same, since days of work would be lost and a
    /// full disk may have space again for the next checkpoint.
    pub(crate) problem: Option<FileError>,
    pub(crate) on_problem: Option<OnProblem<'a>>,
    pub(crate) saved: Instant,
}

impl CheckpointSink<'_> {
    fn save(&mut self) {
        let Some(file) = &mut self.file else { return };
        let problem = file.write(&self.checkpoint).err();
        // Only the first failure in a row is reported, since the row may last for days.
        if let Some(problem) = &problem
            && self.problem.is_none()
            && let Some(tell) = &mut self.on_problem
        {
            tell(problem);
        }
        self.problem = problem;
        self.saved = Instant::now();
    }
}

impl Sink<Search> for CheckpointSink<'_> {
    type Error = FileError;

    /// Writes the file before the work, so that an error is noticed early.
    fn start(&mut self, _: &Search) -> Result<(), FileError> {
        let written = match &mut self.file {
            Some(file) => file.write(&self.checkpoint),
            None => Ok(()),
        };
        // The error ends the run, so the file is not written again.
        written.inspect_err(|_| self.file = None)
    }

    fn write(&mut self, unit: &Sums) -> Result<(), FileError> {
        self.checkpoint.add(Finished {
            starts: unit.range(),
            solutions: unit.solutions(),
        });
        self.done.store(self.checkpoint.done(), Ordering::Relaxed);
        if self.saved.elapsed() >= self.every {
            self.save();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FileError> {
        self.save();
        Ok(())
    }

    /// Saves what was finished before a failure.
    fn abort(&mut self) {
        self.save();
    }

    /// Writing a file may take long.
    fn inline(&self) -> bool {
        self.file.is_none()
    }
}
