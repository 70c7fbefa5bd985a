//! Errors of sessions over frames.

use evener_runtime::stream::{BoxError, StreamError};

use crate::format::Format;
use crate::graph::GraphError;
use crate::io;

/// A session that could not be opened or did not run to its end. Every message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The graph does not fit the frames of the input.
    #[error("{given}: {reason}")]
    Graph {
        /// Where the graph was given.
        given: &'static str,
        /// Why it does not fit.
        #[source]
        reason: GraphError,
    },
    /// The graph reads more inputs than there are.
    #[error("the graph reads {needed} inputs, and there {}; name each by `-i`", are(*.given))]
    Inputs {
        /// So many are read.
        needed: usize,
        /// So many are there.
        given: usize,
    },
    /// There is no room for the frames.
    #[error(
        "{format}: {frames} need {} MiB of memory, which cannot be had; make them smaller", .bytes >> 20
    )]
    Memory {
        /// Of the largest frames.
        format: Format,
        /// Which frames there is no room for.
        frames: &'static str,
        /// Bytes for all of them.
        bytes: usize,
    },
    /// The run failed.
    #[error("{}", of_stream(.reason, .work))]
    Stream {
        /// What was done to the frames.
        work: &'static str,
        /// Why it failed.
        #[source]
        reason: StreamError,
    },
}

fn are(given: usize) -> String {
    match given {
        1 => "is 1".to_owned(),
        given => format!("are {given}"),
    }
}

impl From<GraphError> for Error {
    fn from(reason: GraphError) -> Error {
        let given = "graph";
        Error::Graph { given, reason }
    }
}

impl Error {
    /// Whether the request can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Io(error) => {
                matches!(
                    error,
                    io::Error::TestSource { .. }
                        | io::Error::Argument { .. }
                        | io::Error::Rest { .. }
                )
            }
            Error::Graph { .. } | Error::Inputs { .. } => true,
            Error::Memory { .. } => false,
            Error::Stream { reason, .. } => reason.is_request(),
        }
    }

    /// Whether the only failure is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |error: &io::Error| match error {
            io::Error::ClosedPipe { .. } => true,
            io::Error::File(error) => error.is_closed_pipe(),
            _ => false,
        };
        match self {
            Error::Io(error) => closed(error),
            Error::Stream { reason, .. } => reason.cause::<io::Error>().is_some_and(closed),
            Error::Graph { .. } | Error::Inputs { .. } | Error::Memory { .. } => false,
        }
    }

    /// Frames the output accepted before.
    pub fn written(&self) -> u64 {
        match self {
            Error::Stream { reason, .. } => reason.written(),
            Error::Io(_) | Error::Graph { .. } | Error::Inputs { .. } | Error::Memory { .. } => 0,
        }
    }
}

fn of_stream(error: &StreamError, work: &str) -> String {
    // Errors of files name the file and the frame already.
    let named = |what: String, cause: &BoxError| match cause.is::<io::Error>() {
        true => cause.to_string(),
        false => format!("{what} failed: {cause}"),
    };
    match error {
        StreamError::Source { unit, cause, .. } => named(format!("reading frame {unit}"), cause),
        StreamError::Sink {
            unit: Some(unit),
            cause,
            ..
        } => named(format!("writing frame {unit}"), cause),
        StreamError::Sink {
            unit: None, cause, ..
        } => named("writing the output".to_owned(), cause),
        StreamError::Unit { unit, message, .. } => {
            format!("frame {unit}: {work} failed, which is a fault of evener: {message}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: StreamError) -> Error {
        let work = "a kernel";
        Error::Stream { work, reason }
    }

    fn source(cause: impl Into<BoxError>) -> Error {
        of(StreamError::Source {
            unit: 7,
            written: 5,
            cause: cause.into(),
        })
    }

    #[test]
    fn causes_that_name_the_frame_are_not_wrapped() {
        let error = io::Error::ClosedPipe {
            name: "out".into(),
            frames: 7,
        };
        let text = error.to_string();
        let error = source(error);
        assert_eq!(error.to_string(), text);
        assert!(error.is_closed_pipe() && !error.is_request());
        assert_eq!(error.written(), 5);
    }

    #[test]
    fn other_causes_are_given_the_frame() {
        assert_eq!(
            source("it broke").to_string(),
            "reading frame 7 failed: it broke"
        );
        let failed = of(StreamError::Unit {
            unit: 7,
            written: 6,
            message: "panicked: oh".into(),
        });
        assert!(failed.to_string().starts_with("frame 7: a kernel failed, "));
        assert!(failed.to_string().ends_with("panicked: oh"));
    }

    #[test]
    fn a_closed_pipe_of_bytes_is_known_as_well() {
        let closed = || evener_files::Error::ClosedPipe {
            name: "standard output".into(),
            bytes: 7,
        };
        let error = of(StreamError::Sink {
            unit: Some(3),
            written: 3,
            cause: io::Error::from(closed()).into(),
        });
        assert!(error.is_closed_pipe() && !error.is_request());
        assert_eq!(error.to_string(), closed().to_string());
        assert!(Error::from(io::Error::from(closed())).is_closed_pipe());
        assert!(!source("it broke").is_closed_pipe());
    }

    #[test]
    fn a_graph_that_cannot_be_is_the_request() {
        let error = Error::from(GraphError::Empty);
        assert!(error.is_request());
        assert!(error.to_string().starts_with("graph: "));
    }
}
