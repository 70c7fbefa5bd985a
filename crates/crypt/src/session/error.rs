//! Why a session could not be opened or did not run to its end.

use evener_files::error_text;
use evener_runtime::stream::{BoxError, StreamError};

use crate::bulk::Failure;
use crate::chunked::{HeaderError, SizeError};
use crate::ctr;
use crate::keys::{ALONE, KeyFileError, PassphraseError, RandomError};

/// A session that could not be opened or did not run to its end. Every message is one line that says what, where and
/// what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output cannot be used.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// The key file cannot be used or made.
    #[error("{name}: {cause}")]
    KeyFile {
        /// The key file.
        name: String,
        /// What is wrong with it.
        cause: KeyFileError,
    },
    /// The passphrase gives no key, or the input was not encrypted with one.
    #[error("{name}: {cause}")]
    Passphrase {
        /// The input, or where the passphrase comes from.
        name: String,
        /// What is wrong.
        cause: PassphraseError,
    },
    /// The passphrase cannot be read.
    #[error("{name}: cannot read the passphrase: {}", error_text(reason))]
    NoPassphrase {
        /// Where from.
        name: String,
        /// What the system said.
        reason: std::io::Error,
    },
    /// The data should follow behind the passphrase, and do not.
    #[error("{name}: {ALONE}")]
    NothingFollows {
        /// Where from.
        name: String,
    },
    /// The key or the passphrase is in the file that the data come from.
    #[error(
        "{name}: is the input as well, whose first line would be the key or passphrase; keep that in a file of its own, or \
         pipe both: (cat KEYFILE; cat IN) | evener ..."
    )]
    OwnInput {
        /// The file.
        name: String,
    },
    /// The input was encrypted with a passphrase, and a key was given.
    #[error("{name}: was encrypted with a passphrase, not with a key file; use -p")]
    NeedsPassphrase {
        /// The input.
        name: String,
    },
    /// The input's header is not one that the key fits.
    #[error("{name}: {cause}")]
    Header {
        /// The input.
        name: String,
        /// What is wrong with it.
        cause: HeaderError,
    },
    /// The input's size is none that a file has, or the range is not in it.
    #[error("{name}: {cause}")]
    Size {
        /// The input.
        name: String,
        /// What is wrong.
        cause: SizeError,
    },
    /// The input is not what was encrypted.
    #[error("{name}: {cause}")]
    Refused {
        /// The input.
        name: String,
        /// What is wrong with it.
        cause: Failure,
    },
    /// Key or initial counter of counter mode.
    #[error(transparent)]
    Counter(#[from] ctr::Error),
    /// The system has no randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The run failed.
    #[error("{}", of_stream(.0))]
    Stream(#[from] StreamError),
}

impl Error {
    /// Whether what was asked for can never work, whatever the files hold.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Counter(_) | Error::OwnInput { .. } => true,
            Error::Size { cause, .. } => matches!(cause, SizeError::Backward { .. }),
            Error::Stream(error) => error.is_request(),
            _ => false,
        }
    }

    /// Whether all that happened is that the reader of the output went away, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |e: &evener_files::Error| matches!(e, evener_files::Error::ClosedPipe { .. });
        match self {
            Error::File(error) => closed(error),
            Error::Stream(error) => error.cause::<evener_files::Error>().is_some_and(closed),
            _ => false,
        }
    }
}

fn of_stream(error: &StreamError) -> String {
    // What files say names the file and the place already.
    let named = |what: &str, cause: &BoxError| match cause.is::<evener_files::Error>() {
        true => cause.to_string(),
        false => format!("{what} failed: {cause}"),
    };
    match error {
        StreamError::Source { cause, .. } => named("reading", cause),
        StreamError::Sink { cause, .. } => named("writing", cause),
        StreamError::Unit { unit, message, .. } => {
            format!("MiB {unit}: a kernel failed, which is a fault of evener: {message}")
        }
        other => other.to_string(),
    }
}
