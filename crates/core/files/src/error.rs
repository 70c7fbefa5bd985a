//! Errors of files, with the names of the files.
#![forbid(unsafe_code)]

use std::io;

use crate::secrets::without_secrets;

/// A file that cannot be used. Every message is one line that says what is wrong, where, and what to do.
///
/// `name` is the file name as messages show it, with control characters escaped, or `standard input` or `standard
/// output`.
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
        /// The system's reason.
        reason: io::Error,
    },
    /// An output cannot be created at the requested path.
    #[error("{name}: cannot create: {}{}", error_text(reason), to_create(reason))]
    Create {
        /// The output, or its directory.
        name: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// A folder for outputs cannot be made.
    #[error(
        "{name}: cannot make the directory: {}{}",
        error_text(reason),
        to_make(reason)
    )]
    Folder {
        /// The folder.
        name: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The output was written, but could not be given its name.
    #[error(
        "{name}: cannot put the finished file in place: {}",
        error_text(reason)
    )]
    Commit {
        /// The output.
        name: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// A read failed.
    #[error("{name}: cannot read at byte {byte}: {}", error_text(reason))]
    Read {
        /// The input.
        name: String,
        /// Bytes read before.
        byte: u64,
        /// The system's reason.
        reason: io::Error,
    },
    /// A write failed.
    #[error("{name}: cannot write at byte {byte}: {}", error_text(reason))]
    Write {
        /// The output.
        name: String,
        /// Bytes written before.
        byte: u64,
        /// The system's reason.
        reason: io::Error,
    },
    /// The disk or the quota is full, or the file has the largest size of the file system.
    #[error(
        "{name}: {} after {bytes} bytes; free some space or write elsewhere",
        error_text(reason)
    )]
    NoSpace {
        /// The output.
        name: String,
        /// Bytes written before.
        bytes: u64,
        /// The system's reason.
        reason: io::Error,
    },
    /// The output is a disk, and smaller than what is to be written.
    #[error(
        "{name}: is too small: {needs} bytes are to be written, and it has room for {has}; name a larger disk"
    )]
    Small {
        /// The output.
        name: String,
        /// Bytes to write.
        needs: u64,
        /// Capacity in bytes.
        has: u64,
    },
    /// The reader of the output closed it (`EPIPE`), as `head` does. The process should end without a message, by
    /// `SIGPIPE`.
    #[error("{name}: the reader closed the pipe after {bytes} bytes")]
    ClosedPipe {
        /// The output.
        name: String,
        /// Bytes written before.
        bytes: u64,
    },
    /// The input ended before the end of the range.
    #[error("{name}: the input ends {missing} bytes before the end of the range")]
    Short {
        /// The output.
        name: String,
        /// The number of missing bytes.
        missing: u64,
    },
    /// The output would overwrite an input.
    #[error("{name}: is an input as well; choose another output")]
    SameFile {
        /// The output.
        name: String,
    },
    /// An input starts like a known format but is damaged.
    #[error("{name}: is damaged: {what}; fetch or make it again")]
    Damaged {
        /// The input.
        name: String,
        /// What is wrong, and where.
        what: String,
    },
    /// A name that is not suitable as an input or an output.
    #[error("{name}: {reason}")]
    Unfit {
        /// The input or output.
        name: String,
        /// The reason, and what to use instead.
        reason: &'static str,
    },
}

impl Error {
    /// The error of a write that failed after `bytes` bytes. Closed pipes and full disks have separate variants.
    pub fn of_write(name: &str, bytes: u64, reason: io::Error) -> Error {
        let name = name.to_owned();
        match reason.kind() {
            io::ErrorKind::BrokenPipe => Error::ClosedPipe { name, bytes },
            _ if reason.get_ref().is_some_and(|it| it.is::<NoText>()) => Error::Unfit {
                name,
                reason: "is a terminal, and this is not text; name a file with -o, or pipe it into a program",
            },
            _ if is_full(&reason) => Error::NoSpace {
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

    /// Whether the only problem is that the reader closed the output.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::ClosedPipe { .. })
    }
}

/// Advice on a file that cannot be opened, where the reason allows it.
fn to_read(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "; check the name",
        io::ErrorKind::PermissionDenied => "; check its permissions",
        _ => "",
    }
}

/// Advice on a file that cannot be created.
fn to_create(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "; make the directory first",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another directory"
        }
        _ => "",
    }
}

/// Advice on a folder that cannot be made.
fn to_make(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::NotFound => "; make the directory above it first",
        io::ErrorKind::AlreadyExists => ", and is not a directory; choose another name",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another directory"
        }
        _ => "",
    }
}

/// The reason of a write that would show something else than text on a terminal.
#[derive(Debug, thiserror::Error)]
#[error("no text")]
pub(crate) struct NoText;

/// Whether a write failed because the disk or the quota is full, or because the file has reached the file system's
/// largest size.
pub fn is_full(reason: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(reason.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The system's reason, without the error number that std appends.
pub fn error_text(reason: &io::Error) -> String {
    let text = reason.to_string();
    // What std says of `sockaddr_un` names a constant of C.
    if text.ends_with("must be shorter than SUN_LEN") {
        return "the path of a socket has 107 bytes at most".to_owned();
    }
    match text.rfind(" (os error ") {
        Some(end) => one_line(&text[..end]),
        None => one_line(&text),
    }
}

/// Prepares foreign text for a message. Control characters are escaped, so the text stays on one line and cannot
/// control a terminal. Secrets in addresses are removed.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in without_secrets(text).chars() {
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
    fn the_longest_path_of_a_socket_is_said() {
        use std::os::unix::net::UnixStream;
        let long = format!("/nowhere/{}", "a".repeat(200));
        let error = UnixStream::connect(long).unwrap_err();
        assert_eq!(
            error_text(&error),
            "the path of a socket has 107 bytes at most"
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
            "; choose another directory"
        ));
        assert!(!says(io::ErrorKind::IsADirectory).contains(';'));
    }
}
