//! Why a session could not be opened or did not run to its end.

use evener_files::error_text;
use evener_runtime::stream::{BoxError, StreamError};

use crate::age;
use crate::bulk::Failure;
use crate::chunked::{HeaderError, SizeError};
use crate::ctr;
use crate::keys::{KeyFileError, NO_DATA, PassphraseError, RandomError};

/// A session could not be opened or did not run to its end. Every message is one line that says what failed, where,
/// and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input or the output cannot be used.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// The key file cannot be used or created.
    #[error("{name}: {cause}")]
    KeyFile {
        /// The key file.
        name: String,
        /// The problem.
        cause: KeyFileError,
    },
    /// The passphrase yields no key, or the input was not encrypted with one.
    #[error("{name}: {cause}")]
    Passphrase {
        /// The input, or the source of the passphrase.
        name: String,
        /// The problem.
        cause: PassphraseError,
    },
    /// The passphrase cannot be read.
    #[error("{name}: cannot read the passphrase: {}", error_text(reason))]
    NoPassphrase {
        /// The source of the passphrase.
        name: String,
        /// The system's reason.
        reason: std::io::Error,
    },
    /// Data should follow the passphrase, but there is none.
    #[error("{name}: {NO_DATA}")]
    NothingFollows {
        /// The source of the passphrase.
        name: String,
    },
    /// The key or the passphrase is in the file of the data.
    #[error(
        "{name}: is both {secret} and input; keep the {secret} in a file of its own, or pipe both: (cat KEYFILE; cat IN) | \
         evener ..."
    )]
    OwnInput {
        /// The file.
        name: String,
        /// What it would be besides the input: `key`, `passphrase`, or `secret` where it may be either.
        secret: &'static str,
    },
    /// The input was encrypted with a passphrase, but a key was given.
    #[error("{name}: was encrypted with a passphrase, not with a key file; use -p")]
    NeedsPassphrase {
        /// The input.
        name: String,
    },
    /// The key does not match the header of the input.
    #[error("{name}: {cause}")]
    Header {
        /// The input.
        name: String,
        /// The problem.
        cause: HeaderError,
    },
    /// The header of an age file yields no key.
    #[error("{name}: {cause}")]
    Age {
        /// The input.
        name: String,
        /// The problem.
        cause: age::HeaderError,
    },
    /// A recipient or an identity cannot be used.
    #[error("{name}: {cause}")]
    AgeKey {
        /// The source of the key.
        name: String,
        /// The problem.
        cause: age::ListError,
    },
    /// The input is an age file, for which there are no key files.
    #[error("{name}: is an age file; use -i IDENTITY or -p, not a key file")]
    IsAge {
        /// The input.
        name: String,
    },
    /// The input is no age file.
    #[error(
        "{name}: is not an age file, so no identity decrypts it; use -k KEYFILE or -p if evener encrypted it"
    )]
    NotAge {
        /// The input.
        name: String,
    },
    /// The input is no age file, and only those keep the key of the file in their header.
    #[error(
        "{name}: is not an age file; the key of other files is made of yours, so decrypt it and encrypt it again"
    )]
    NoRewrap {
        /// The input.
        name: String,
    },
    /// The input was encrypted by another program, or not at all.
    #[error("{name}: {what}")]
    Foreign {
        /// The input.
        name: String,
        /// The format.
        what: &'static str,
    },
    /// The input has no name that a name in a directory could be derived from.
    #[error("{name}: has no name that its output in a directory could have; use -o OUT")]
    NoName {
        /// The input.
        name: String,
    },
    /// The name of the input does not tell that of its text.
    #[error(
        "{name}: does not end in .sealed or .age, so the name of its text is not known; decrypt it by itself with -o OUT"
    )]
    NoEnding {
        /// The input.
        name: String,
    },
    /// The last bytes of an input were asked for, and where it ends is not known.
    #[error(
        "{name}: the last bytes of a pipe or of armored text are not known before its end; pipe all of it into tail -c"
    )]
    NoEnd {
        /// The input.
        name: String,
    },
    /// A context was given for an age file.
    #[error("{name}: an age file has no context; leave --context out")]
    AgeContext {
        /// The input.
        name: String,
    },
    /// The size of the input is invalid, or the range is outside it.
    #[error("{name}: {cause}")]
    Size {
        /// The input.
        name: String,
        /// The problem.
        cause: SizeError,
    },
    /// The input was altered.
    #[error("{name}: {cause}")]
    Refused {
        /// The input.
        name: String,
        /// The problem.
        cause: Failure,
    },
    /// The key or the initial counter of counter mode has the wrong length.
    #[error(transparent)]
    Counter(#[from] ctr::Error),
    /// The operating system provides no randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The run failed.
    #[error("{}", of_stream(.0))]
    Stream(#[from] StreamError),
}

impl Error {
    /// Whether the request can never work, whatever the files contain.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Counter(_)
            | Error::OwnInput { .. }
            | Error::AgeContext { .. }
            | Error::NoName { .. }
            | Error::NoEnding { .. } => true,
            Error::Size { cause, .. } => matches!(cause, SizeError::Backward { .. }),
            Error::Stream(error) => error.is_request(),
            _ => false,
        }
    }

    /// Whether the input is the problem: it is not encrypted, was altered, or was encrypted with another secret or
    /// context.
    pub fn is_refusal(&self) -> bool {
        use PassphraseError::{NoHeader, TooCheap, TooCostly, Version};
        match self {
            Error::Header { .. }
            | Error::Refused { .. }
            | Error::NeedsPassphrase { .. }
            | Error::Foreign { .. } => true,
            Error::Size { .. } => !self.is_request(),
            Error::Passphrase { cause, .. } => {
                matches!(cause, NoHeader | Version(_) | TooCostly(_) | TooCheap(_))
            }
            _ => false,
        }
    }

    /// Whether the only problem is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Error::File(error) => error.is_closed_pipe(),
            Error::Stream(error) => error
                .cause()
                .is_some_and(evener_files::Error::is_closed_pipe),
            _ => false,
        }
    }
}

fn of_stream(error: &StreamError) -> String {
    // Errors of files name the file and the place already.
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
