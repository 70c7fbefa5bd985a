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

/// A stream that failed. Workers have survived it and the runtime can be used again.
///
/// Units are counted from 0 in the order of the source. `written` is how many units the sink accepted before;
/// [`Stream::keep_partial`](super::Stream::keep_partial) decides whether the sink then keeps them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The service or graph does not fit the source.
    #[error("{cause}")]
    Bind {
        /// What it said.
        cause: BoxError,
    },
    /// Reading failed.
    #[error("reading unit {unit} failed: {cause}")]
    Source {
        /// The unit that could not be read.
        unit: u64,
        /// Units written.
        written: u64,
        /// What the source said.
        cause: BoxError,
    },
    /// Writing, or starting or finishing the output, failed.
    #[error("writing {} failed: {cause}", what(*.unit))]
    Sink {
        /// The unit that could not be written; `None` at the start or the end of the output.
        unit: Option<u64>,
        /// Units written.
        written: u64,
        /// What the sink said.
        cause: BoxError,
    },
    /// A kernel failed on a unit, or panicked.
    #[error("unit {unit} failed: {message}")]
    Unit {
        /// The unit.
        unit: u64,
        /// Units written.
        written: u64,
        /// What the kernel said.
        message: String,
    },
    /// The service has no such structure.
    #[error("this service cannot run {structure}; it can run {}", names(.known))]
    NoStructure {
        /// The structure that was asked for.
        structure: &'static Structure,
        /// Those there are.
        known: Vec<&'static Structure>,
    },
    /// The runtime cannot run this structure, or not in this kind of stream.
    #[error("{structure} is not supported {why}")]
    Unsupported {
        /// The structure.
        structure: &'static Structure,
        /// In what circumstances.
        why: &'static str,
    },
    /// More workers were asked for than the runtime has.
    #[error(
        "{asked} workers asked for, and the runtime has {have}; ask for 1 to {have}, or build it with more"
    )]
    Workers {
        /// What was asked for.
        asked: u32,
        /// What there is.
        have: u32,
    },
    /// There is no plan to run the service by.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A schedule gave a plan that cannot be run.
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

    /// Whether what was asked for can never work, whatever is read and written.
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
