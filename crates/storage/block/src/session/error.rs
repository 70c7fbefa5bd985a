//! Why a session could not be opened or did not run to its end.

use std::io;

use evener_files::error_text;
use evener_runtime::stream::{BoxError, StreamError};
use evener_runtime::tuner::SetupError;

use crate::error::Error;

/// A session could not be opened or did not run to its end. Every message is one line that says what failed, where,
/// and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The image or another file cannot be used.
    #[error(transparent)]
    Image(#[from] Error),
    /// The overlay cannot be used.
    #[error(transparent)]
    Overlay(#[from] crate::overlay::Error),
    /// The request can never work.
    #[error("{0}")]
    Request(String),
    /// The server cannot listen.
    #[error(
        "cannot listen on {address}: {}{}",
        error_text(reason),
        to_listen(address, reason)
    )]
    Listen {
        /// The address.
        address: String,
        /// The reason.
        reason: io::Error,
    },
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] crate::nbd::TlsError),
    /// The directory cannot be packed.
    #[error("{name}: {what}")]
    Directory {
        /// The directory.
        name: String,
        /// The reason.
        what: String,
    },
    /// The image does not have the requested bytes.
    #[error("{name}: {what}")]
    Range {
        /// The image.
        name: String,
        /// The reason.
        what: String,
    },
    /// The file with the process id cannot be written.
    #[error(
        "{name}: the process id cannot be written there: {}",
        error_text(reason)
    )]
    PidFile {
        /// The file.
        name: String,
        /// The reason.
        reason: io::Error,
    },
    /// Another server has the file with its process id.
    #[error(
        "{name}: the server that wrote it still runs, with process id {id}; end it first, or name another file"
    )]
    Runs {
        /// The file.
        name: String,
        /// The process ID in it.
        id: String,
    },
    /// The image cannot become a block device.
    #[error(transparent)]
    Disk(#[from] crate::ublk::Error),
    /// The plan cannot decode blocks.
    #[error(transparent)]
    Plan(#[from] SetupError),
    /// The run failed.
    #[error("{}", of_stream(.0))]
    Stream(#[from] StreamError),
}

impl SessionError {
    /// Whether the request can never work, whatever the files contain.
    pub fn is_request(&self) -> bool {
        match self {
            SessionError::Image(_)
            | SessionError::Overlay(_)
            | SessionError::Listen { .. }
            | SessionError::Tls(_)
            | SessionError::Directory { .. }
            | SessionError::Range { .. }
            | SessionError::PidFile { .. }
            | SessionError::Runs { .. }
            | SessionError::Disk(_) => false,
            SessionError::Request(_) | SessionError::Plan(_) => true,
            SessionError::Stream(error) => error.is_request(),
        }
    }

    /// Whether the only problem is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            SessionError::Image(error) => error.is_closed_pipe(),
            SessionError::Overlay(_)
            | SessionError::Request(_)
            | SessionError::Plan(_)
            | SessionError::Listen { .. }
            | SessionError::Tls(_)
            | SessionError::Directory { .. }
            | SessionError::Range { .. }
            | SessionError::PidFile { .. }
            | SessionError::Runs { .. }
            | SessionError::Disk(_) => false,
            SessionError::Stream(error) => {
                error.cause::<Error>().is_some_and(Error::is_closed_pipe)
            }
        }
    }
}

/// Advice on an address that cannot be listened at, where the reason allows it.
fn to_listen(address: &str, reason: &io::Error) -> &'static str {
    let is_file = address.starts_with("unix:") && !address.starts_with("unix:@");
    match reason.kind() {
        io::ErrorKind::NotFound if is_file => "; make the directory first",
        io::ErrorKind::PermissionDenied if is_file => "; name a directory where you may write",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are for root",
        io::ErrorKind::AddrInUse if address.starts_with("tcp:") => "; choose another port",
        _ => "",
    }
}

fn of_stream(error: &StreamError) -> String {
    // Errors of this crate name the file and the place already.
    let named = |what: &str, cause: &BoxError| match cause.is::<Error>() {
        true => cause.to_string(),
        false => format!("{what} failed: {cause}"),
    };
    match error {
        StreamError::Source { cause, .. } => named("reading", cause),
        StreamError::Sink { cause, .. } => named("writing", cause),
        StreamError::Unit { unit, message, .. } => {
            format!("unit {unit}: a kernel failed, which is a fault of evener: {message}")
        }
        other => other.to_string(),
    }
}
