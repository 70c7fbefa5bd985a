//! Where units go: their solutions are added in order, and checkpoints written.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_files::Error as FileError;
use evener_runtime::Sink;

use crate::checkpoint::{Checkpoint, Finished};
use crate::save::CheckpointFile;
use crate::service::{Search, Sums};
use crate::session::OnProblem;

/// Adds up units; `file`, where there is one, follows.
pub(crate) struct Tally<'a> {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) file: Option<CheckpointFile>,
    pub(crate) every: Duration,
    /// Starts finished, for whoever tells how far it is.
    pub(crate) done: Arc<AtomicU64>,
    /// Why the last checkpoint was not written. A full disk is no reason to throw away days of work: the next time it
    /// may have room.
    pub(crate) problem: Option<FileError>,
    pub(crate) on_problem: Option<OnProblem<'a>>,
    pub(crate) saved: Instant,
}

impl Tally<'_> {
    fn save(&mut self) {
        let Some(file) = &mut self.file else { return };
        let problem = file.write(&self.checkpoint).err();
        // The first of a row, which may last for days.
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

impl Sink<Search> for Tally<'_> {
    type Error = FileError;

    /// So that a file that cannot be written is known before the work.
    fn start(&mut self, _: &Search) -> Result<(), FileError> {
        let written = match &mut self.file {
            Some(file) => file.write(&self.checkpoint),
            None => Ok(()),
        };
        // What is told by failing is not tried once more.
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

    /// What was finished before a failure is as good as any.
    fn abort(&mut self) {
        self.save();
    }

    /// A disk may take its time.
    fn inline(&self) -> bool {
        self.file.is_none()
    }
}
