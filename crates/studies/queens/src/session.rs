//! Counting a board on a runtime, as `evener queens` does.

#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Progress, Report};
use evener_runtime::{Choice, Runtime, Service};

use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::CheckpointFile;
use crate::chosen;
use crate::division::{Division, Units};
use crate::service::Search;
use crate::session_error::{SessionError, of_stream};
use crate::sink::{CheckpointSink, OnProblem};
use crate::starts::Starts;

/// A board to count, from the beginning or from a checkpoint.
pub struct Session {
    starts: Arc<Starts>,
    service: Search,
    checkpoint: Checkpoint,
    file: Option<(CheckpointFile, Duration)>,
}

/// The options of a run. Each has a default.
#[derive(Default)]
pub struct Options<'a> {
    /// The plan.
    pub plan: Choice,
    /// The number of workers, if it is fixed.
    pub workers: Option<u32>,
    /// Ends the run early. A checkpoint has what is finished.
    pub cancel: CancelToken,
    /// Called now and then with the progress.
    pub on_progress: Option<OnProgress<'a>>,
    /// Called when a checkpoint cannot be written, and not again until one was written. The run goes on.
    pub on_problem: Option<OnProblem<'a>>,
}

/// A callback for the progress of a run.
pub type OnProgress<'a> = Box<dyn FnMut(&Progress, CountProgress) + Send + 'a>;

/// The progress of a count: shares of estimated work, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountProgress {
    /// Of the board.
    pub board: f64,
    /// Of the work that was left when the run began.
    pub run: f64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The number of solutions, if all was searched.
    pub total: Option<u128>,
    /// What is finished, by ranges of starts.
    pub checkpoint: Checkpoint,
    /// The progress at the end.
    pub progress: CountProgress,
    /// Starts that earlier runs had finished.
    pub resumed: u64,
    /// Why the last checkpoint could not be written, if so.
    pub problem: Option<evener_files::Error>,
    /// What the stream did.
    pub report: Report,
}

impl Session {
    /// A board of `n` x `n`. With the file of a checkpoint the count goes on from there, and writes it each time the
    /// duration has passed, and at the end. The file stays.
    ///
    /// # Errors
    /// The board is too large, or the file is no checkpoint of it.
    pub fn open(n: u32, file: Option<(&Path, Duration)>) -> Result<Session, SessionError> {
        let starts = Arc::new(Starts::new(n)?);
        let (checkpoint, file) = match file {
            None => (Checkpoint::new(&starts), None),
            Some((path, every)) => {
                let (file, checkpoint) = CheckpointFile::open(path, &starts)?;
                (checkpoint, Some((file, every)))
            }
        };
        let service = Search::new(Arc::clone(&starts), chosen::SEARCH.level());
        Ok(Session {
            starts,
            service,
            checkpoint,
            file,
        })
    }

    /// The progress of earlier runs.
    pub fn progress(&self) -> CountProgress {
        CountProgress {
            board: self.starts.share(self.checkpoint.done()),
            run: 0.0,
        }
    }

    /// Searches what is left, until all is finished or the run is cancelled.
    ///
    /// # Errors
    /// The plan is not possible, the file cannot be written, or a kernel failed.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Outcome, SessionError> {
        let resumed = self.checkpoint.done();
        let meter = ProgressMeter {
            starts: Arc::clone(&self.starts),
            before: self.starts.share(resumed),
        };
        let done = Arc::new(AtomicU64::new(resumed));
        let (file, every) = match self.file {
            Some((file, every)) => (Some(file), every),
            None => (None, Duration::MAX),
        };
        let mut sink = CheckpointSink {
            checkpoint: self.checkpoint,
            file,
            every,
            done: Arc::clone(&done),
            problem: None,
            on_problem: options.on_problem,
            saved: Instant::now(),
        };
        let mut stream = runtime
            .stream(Units::new(Division::new(self.starts, resumed)))
            .through(self.service)
            .plan(options.plan)
            .workers(options.workers)
            .cancel(options.cancel)
            .named("units", "parts");
        if let Some(mut on_progress) = options.on_progress {
            let meter = meter.clone();
            stream = stream.on_progress(move |progress| {
                on_progress(progress, meter.progress(done.load(Ordering::Relaxed)));
            });
        }
        let report = stream.into(&mut sink).map_err(of_stream)?;
        let CheckpointSink {
            checkpoint,
            problem,
            ..
        } = sink;
        Ok(Outcome {
            total: checkpoint.is_complete().then(|| checkpoint.solutions()),
            progress: meter.progress(checkpoint.done()),
            checkpoint,
            resumed,
            problem,
            report,
        })
    }
}

/// Turns finished starts into progress.
#[derive(Clone)]
struct ProgressMeter {
    starts: Arc<Starts>,
    /// The share of the board that was finished when the run began.
    before: f64,
}

impl ProgressMeter {
    fn progress(&self, done: u64) -> CountProgress {
        let board = self.starts.share(done);
        let left = 1.0 - self.before;
        let run = match left > 0.0 {
            true => (board - self.before) / left,
            false => 1.0,
        };
        CountProgress { board, run }
    }
}

impl fmt::Display for Session {
    /// A few lines: starts, kernel and checkpoint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (starts, done) = (self.starts.len(), self.checkpoint.done());
        write!(
            f,
            "starts  {starts}, {} rows inside the border filled",
            self.starts.depth()
        )?;
        if done > 0 {
            write!(f, "; {done} finished before")?;
        }
        write!(f, "\nkernel  {}", self.service.key())?;
        if let Some((file, every)) = &self.file {
            write!(
                f,
                "\nkept    {}, every {} s",
                file.name(),
                every.as_secs_f64()
            )?;
        }
        Ok(())
    }
}
