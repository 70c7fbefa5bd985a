//! Why a stream ended before its source did.

use std::error::Error as StdError;

use crate::error::Error;
use crate::plan::Plan;
use crate::structure::Structure;
use crate::tuner::SetupError;

/// An error of a source, a sink or a service, whatever its type; see [`StreamError::cause`].
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// A source or sink panicked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {0}")]
pub struct Panicked(pub String);

/// A stream that failed. The workers survive, and the runtime can be used again.
///
/// Units are counted from 0 in the order of the source. `written` is the number of units that the sink accepted
/// before; [`Stream::keep_partial`](super::Stream::keep_partial) decides whether the sink keeps them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The service or graph does not fit the source.
    #[error("{cause}")]
    Bind {
        /// The error.
        cause: BoxError,
    },
    /// Reading failed.
    #[error("reading unit {unit} failed: {cause}")]
    Source {
        /// The unit that could not be read.
        unit: u64,
        /// Units written.
        written: u64,
        /// The source's error.
        cause: BoxError,
    },
    /// Writing, or starting or finishing the output, failed.
    #[error("writing {} failed: {cause}", what(*.unit))]
    Sink {
        /// The unit that could not be written; `None` at the start or the end of the output.
        unit: Option<u64>,
        /// Units written.
        written: u64,
        /// The sink's error.
        cause: BoxError,
    },
    /// A kernel failed on a unit, or panicked.
    #[error("unit {unit} failed: {message}")]
    Unit {
        /// The unit.
        unit: u64,
        /// Units written.
        written: u64,
        /// The kernel's message.
        message: String,
    },
    /// The service does not have the requested structure.
    #[error("this service cannot run {structure}; it can run {}", names(.known))]
    NoStructure {
        /// The requested structure.
        structure: &'static Structure,
        /// The known structures.
        known: Vec<&'static Structure>,
    },
    /// The runtime cannot run this structure, or cannot run it in this kind of stream.
    #[error("{structure} is not supported {why}")]
    Unsupported {
        /// The structure.
        structure: &'static Structure,
        /// The circumstances.
        why: &'static str,
    },
    /// More workers were asked for than the runtime has.
    #[error(
        "{asked} workers asked for, and the runtime has {have}; ask for 1 to {have}, or build it with more"
    )]
    Workers {
        /// The requested number.
        asked: u32,
        /// The available number.
        have: u32,
    },
    /// No plan can run the service.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A schedule returned a plan that cannot be run.
    #[error("the plan '{plan}' needs at least 1 worker and 1 item in a job")]
    EmptyPlan {
        /// The plan.
        plan: Plan,
    },
    /// The runtime could not start or pin a thread.
    #[error(transparent)]
    Runtime(#[from] Error),
}

impl StreamError {
    /// Units the sink accepted before the stream failed.
    pub fn written(&self) -> u64 {
        match self {
            StreamError::Source { written, .. }
            | StreamError::Sink { written, .. }
            | StreamError::Unit { written, .. } => *written,
            _ => 0,
        }
    }

    /// Whether the request can never work, whatever is read and written.
    pub fn is_request(&self) -> bool {
        match self {
            StreamError::Bind { .. }
            | StreamError::NoStructure { .. }
            | StreamError::Unsupported { .. }
            | StreamError::Workers { .. }
            | StreamError::Setup(_)
            | StreamError::EmptyPlan { .. } => true,
            StreamError::Source { .. }
            | StreamError::Sink { .. }
            | StreamError::Unit { .. }
            | StreamError::Runtime(_) => false,
        }
    }

    /// The error of the source, sink or graph itself, in its own type.
    ///
    /// ```
    /// # use evener_runtime::stream::StreamError;
    /// fn is_closed_pipe(error: &StreamError) -> bool {
    ///     error.cause::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    /// }
    /// ```
    pub fn cause<E: StdError + 'static>(&self) -> Option<&E> {
        match self {
            StreamError::Bind { cause }
            | StreamError::Source { cause, .. }
            | StreamError::Sink { cause, .. } => cause.downcast_ref(),
            _ => None,
        }
    }
}

fn what(unit: Option<u64>) -> String {
    unit.map_or_else(|| "the output".to_owned(), |unit| format!("unit {unit}"))
}

fn names(known: &[&Structure]) -> String {
    known.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")
}

/// The text of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
