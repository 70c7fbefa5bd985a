//! Counting a board on a runtime: what a command line asks for.

#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evener_runtime::stream::{CancelToken, Progress, Report, StreamError};
use evener_runtime::{Choice, Runtime, Service, Topology};

use crate::checkpoint::{Checkpoint, ParseError};
use crate::division::{Division, Units};
use crate::error::Error;
use crate::save::CheckpointFile;
use crate::service::Search;
use crate::starts::Starts;
use crate::tally::Tally;

/// A count that could not begin or did not run to its end. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The board is too large.
    #[error(transparent)]
    Board(#[from] Error),
    /// The checkpoint's file cannot be used.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// The file is no checkpoint of this board.
    #[error("{name}: {cause}")]
    Checkpoint {
        /// The file.
        name: String,
        /// What is wrong with it.
        cause: ParseError,
    },
    /// The run failed.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl SessionError {
    /// Whether what was asked for can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            SessionError::Board(_) => true,
            SessionError::Stream(error) => error.is_request(),
            _ => false,
        }
    }
}

/// A checkpoint that cannot be written says so itself.
fn of_stream(error: StreamError) -> SessionError {
    match error {
        StreamError::Sink {
            unit,
            written,
            cause,
        } => match cause.downcast::<evener_files::Error>() {
            Ok(error) => SessionError::File(*error),
            Err(cause) => SessionError::Stream(StreamError::Sink {
                unit,
                written,
                cause,
            }),
        },
        other => SessionError::Stream(other),
    }
}

/// A board to count, from the beginning or from a checkpoint.
pub struct Session {
    starts: Arc<Starts>,
    service: Search,
    checkpoint: Checkpoint,
    file: Option<(CheckpointFile, Duration)>,
}

/// What can be chosen about a run; everything has a default.
#[derive(Default)]
pub struct Options<'a> {
    /// Which plan.
    pub plan: Choice,
    /// Pins the number of workers.
    pub workers: Option<u32>,
    /// Ends the run early; a checkpoint has what is finished.
    pub cancel: CancelToken,
    /// Called now and then with how far the run is.
    pub on_progress: Option<OnProgress<'a>>,
    /// Called when a checkpoint cannot be written, with why, and not again before one could be. The run goes on.
    pub on_problem: Option<OnProblem<'a>>,
}

/// What is called with the progress of a run.
pub type OnProgress<'a> = Box<dyn FnMut(&Progress, Far) + Send + 'a>;

/// What is called with why a checkpoint was not written.
pub type OnProblem<'a> = Box<dyn FnMut(&evener_files::Error) + Send + 'a>;

/// How far a count is, in estimated work from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Far {
    /// Of the board.
    pub board: f64,
    /// Of what was left when this run began.
    pub run: f64,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// Ways to place the queens, if all was searched.
    pub total: Option<u128>,
    /// What is finished, by ranges of starts.
    pub checkpoint: Checkpoint,
    /// How far it is.
    pub far: Far,
    /// Starts that an earlier run had finished.
    pub resumed: u64,
    /// Why the last checkpoint could not be written.
    pub problem: Option<evener_files::Error>,
    /// What the stream did.
    pub report: Report,
}

impl Session {
    /// A board of `n` x `n`. With a checkpoint's file it goes on where that ends, and writes it each time so long has
    /// passed, and at its end; the file stays.
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
        let service = Search::new(Arc::clone(&starts), Topology::detect().simd);
        Ok(Session {
            starts,
            service,
            checkpoint,
            file,
        })
    }

    /// How far an earlier run came.
    pub fn far(&self) -> Far {
        Far {
            board: self.starts.share(self.checkpoint.done()),
            run: 0.0,
        }
    }

    /// Searches what is left, until all is done or the run is cancelled.
    ///
    /// # Errors
    /// There is no such plan for this, the file cannot be written, or a kernel failed.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Outcome, SessionError> {
        let Session {
            starts,
            service,
            checkpoint,
            file,
        } = self;
        let resumed = checkpoint.done();
        let far = {
            let (starts, before) = (Arc::clone(&starts), starts.share(resumed));
            move |done: u64| {
                let board = starts.share(done);
                let left = 1.0 - before;
                let run = if left > 0.0 {
                    (board - before) / left
                } else {
                    1.0
                };
                Far { board, run }
            }
        };
        let done = Arc::new(AtomicU64::new(resumed));
        let (file, every) = file.map_or((None, Duration::MAX), |(file, every)| (Some(file), every));
        let mut tally = Tally {
            checkpoint,
            file,
            every,
            done: Arc::clone(&done),
            problem: None,
            on_problem: options.on_problem,
            saved: Instant::now(),
        };
        let mut stream = runtime
            .stream(Units::new(Division::new(starts, resumed)))
            .through(service)
            .plan(options.plan)
            .workers(options.workers)
            .cancel(options.cancel)
            .named("units", "parts");
        if let Some(mut on_progress) = options.on_progress {
            let far = far.clone();
            stream = stream.on_progress(move |progress| {
                on_progress(progress, far(done.load(Ordering::Relaxed)));
            });
        }
        let report = stream.into(&mut tally).map_err(of_stream)?;
        let Tally {
            checkpoint,
            problem,
            ..
        } = tally;
        Ok(Outcome {
            total: checkpoint.is_complete().then(|| checkpoint.solutions()),
            far: far(checkpoint.done()),
            checkpoint,
            resumed,
            problem,
            report,
        })
    }
}

impl fmt::Display for Session {
    /// A few lines: what is searched, how, and what is kept.
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
