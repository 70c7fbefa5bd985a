//! Why a count could not begin or did not run to its end.

#![forbid(unsafe_code)]

use evener_runtime::stream::StreamError;

use crate::checkpoint::ParseError;
use crate::error::Error;

/// A count could not begin or did not run to its end. Every message is one line.
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
    /// Whether the request can never work, whatever the files contain.
    pub fn is_request(&self) -> bool {
        match self {
            SessionError::Board(_) => true,
            SessionError::Stream(error) => error.is_request(),
            _ => false,
        }
    }
}

/// The error of a stream. If a checkpoint could not be written, it is that error itself.
pub(crate) fn of_stream(error: StreamError) -> SessionError {
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
