//! Errors of sessions.

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
    #[error("graph: {0}")]
    Graph(#[from] GraphError),
    /// There is no room for the frames.
    #[error(
        "{format}: the frames in flight need {} MiB of memory, which cannot be had; make them smaller", .bytes >> 20
    )]
    Memory {
        /// The larger of the formats.
        format: Format,
        /// Bytes for all frames in flight.
        bytes: usize,
    },
    /// The run failed.
    #[error("{}", of_stream(.0))]
    Stream(#[from] StreamError),
}

impl Error {
    /// Whether the request can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Io(error) => {
                matches!(
                    error,
                    io::Error::TestSource { .. } | io::Error::Argument { .. }
                )
            }
            Error::Graph(_) => true,
            Error::Memory { .. } => false,
            Error::Stream(error) => error.is_request(),
        }
    }

    /// Whether the only failure is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |error: &io::Error| matches!(error, io::Error::ClosedPipe { .. });
        match self {
            Error::Io(error) => closed(error),
            Error::Stream(error) => error.cause::<io::Error>().is_some_and(closed),
            Error::Graph(_) | Error::Memory { .. } => false,
        }
    }

    /// Frames the output accepted before.
    pub fn written(&self) -> u64 {
        match self {
            Error::Stream(error) => error.written(),
            Error::Io(_) | Error::Graph(_) | Error::Memory { .. } => 0,
        }
    }
}

fn of_stream(error: &StreamError) -> String {
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
            format!("frame {unit}: a kernel failed, which is a fault of evener: {message}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(cause: impl Into<BoxError>) -> Error {
        Error::Stream(StreamError::Source {
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
        let failed = Error::Stream(StreamError::Unit {
            unit: 7,
            written: 6,
            message: "panicked: oh".into(),
        });
        assert!(failed.to_string().starts_with("frame 7: "));
        assert!(failed.to_string().ends_with("panicked: oh"));
    }

    #[test]
    fn a_graph_that_cannot_be_is_the_request() {
        let error = Error::Graph(GraphError::Empty);
        assert!(error.is_request());
        assert!(error.to_string().starts_with("graph: "));
    }
}
