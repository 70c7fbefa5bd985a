//! What can go wrong with files by their names.
#![forbid(unsafe_code)]

use std::io;

/// A file that cannot be used. Every message is one line that says what, where and what to do.
///
/// `name` is the file as messages show it (control characters escaped), or `standard input`, `standard output`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input does not exist or may not be read.
    #[error(
        "{name}: cannot open for reading: {}{}",
        error_text(reason),
        to_read(reason)
    )]
    Open {
        /// The input.
        name: String,
        /// What the system said.
        reason: io::Error,
    },
    /// An output cannot be created where it was asked for.
    #[error("{name}: cannot create: {}{}", error_text(reason), to_create(reason))]
    Create {
        /// The output, or the directory it would be in.
        name: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The output was made but could not be given its name.
    #[error(
        "{name}: cannot put the finished file in place: {}",
        error_text(reason)
    )]
    Commit {
        /// The output.
        name: String,
        /// What the system said.
        reason: io::Error,
    },
    /// Reading failed in the middle.
    #[error("{name}: cannot read at byte {byte}: {}", error_text(reason))]
    Read {
        /// The input.
        name: String,
        /// Bytes read before.
        byte: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// Writing failed in the middle.
    #[error("{name}: cannot write at byte {byte}: {}", error_text(reason))]
    Write {
        /// The output.
        name: String,
        /// Bytes written before.
        byte: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// The disk, the quota or the file system's largest file is full.
    #[error(
        "{name}: {} after {bytes} bytes; free some space or write elsewhere",
        error_text(reason)
    )]
    NoSpace {
        /// The output.
        name: String,
        /// Bytes written before.
        bytes: u64,
        /// What the system said.
        reason: io::Error,
    },
    /// The reader of the output went away (`EPIPE`), as `head` does: a reason to end quietly, by `SIGPIPE`.
    #[error("{name}: the reader closed the pipe after {bytes} bytes")]
    ClosedPipe {
        /// The output.
        name: String,
        /// Bytes written before.
        bytes: u64,
    },
    /// The input ended before all that was asked for was there.
    #[error("{name}: the input ends {missing} bytes before the end of the range")]
    Short {
        /// The output.
        name: String,
        /// Bytes that are not there.
        missing: u64,
    },
    /// The output would overwrite an input.
    #[error("{name}: is an input as well; choose another output")]
    SameFile {
        /// The output.
        name: String,
    },
    /// A name that cannot be an input or an output.
    #[error("{name}: {reason}")]
    Unfit {
        /// The input or output.
        name: String,
        /// Why, and what to use instead.
        reason: &'static str,
    },
}

impl Error {
    /// The error of a write that failed after `bytes` bytes: a closed pipe and a full disk are told from the rest.
    pub fn of_write(name: &str, bytes: u64, reason: io::Error) -> Error {
        use io::ErrorKind::{BrokenPipe, FileTooLarge, QuotaExceeded, StorageFull};
        let name = name.to_owned();
        match reason.kind() {
            BrokenPipe => Error::ClosedPipe { name, bytes },
            StorageFull | QuotaExceeded | FileTooLarge => Error::NoSpace {
                name,
                bytes,
                reason,
            },
            _ => Error::Write {
                name,
                byte: bytes,
                reason,
            },
        }
    }

    /// Whether all that happened is that the reader of the output went away.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::ClosedPipe { .. })
    }
}

/// What to do where a file cannot be opened, as far as its reason says so.
fn to_read(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "; check the name",
        io::ErrorKind::PermissionDenied => "; get the right to read it",
        _ => "",
    }
}

/// The same where one cannot be made.
fn to_create(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "; make the directory first",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; write where that is allowed"
        }
        _ => "",
    }
}

/// The system's reason without the error number that std appends.
pub fn error_text(reason: &io::Error) -> String {
    let text = reason.to_string();
    match text.rfind(" (os error ") {
        Some(end) => one_line(&text[..end]),
        None => one_line(&text),
    }
}

/// Text from outside for use inside a message: control characters escaped, so that it stays one line
/// and cannot steer a terminal.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_without_error_numbers() {
        let error = Error::Open {
            name: one_line("a\nb\x1b[31m.y4m"),
            reason: io::Error::from_raw_os_error(2),
        };
        assert_eq!(
            error.to_string(),
            "a\\nb\\u{1b}[31m.y4m: cannot open for reading: No such file or directory; check the name"
        );
    }

    #[test]
    fn messages_say_what_to_do_where_the_reason_tells() {
        let says = |kind: io::ErrorKind| {
            let (name, reason) = ("a".to_owned(), kind.into());
            Error::Create { name, reason }.to_string()
        };
        let ends = |kind, end: &str| says(kind).ends_with(end);
        assert!(ends(io::ErrorKind::NotFound, "; make the directory first"));
        assert!(ends(
            io::ErrorKind::ReadOnlyFilesystem,
            "; write where that is allowed"
        ));
        assert!(!says(io::ErrorKind::IsADirectory).contains(';'));
    }
}
