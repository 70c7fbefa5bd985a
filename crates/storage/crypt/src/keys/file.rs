//! Key files: one line of 64 hexadecimal digits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use evener_files::{Staged, error_text};
use zeroize::Zeroizing;

use super::{Key, secret_line};

const DIGITS: usize = 64;
/// The most bytes to read: digits, the end of the line, and some to notice that more follows.
const MAX_READ: usize = 4 * DIGITS;

/// How an identity of age begins, after comments.
const IDENTITY: &[u8] = b"AGE-SECRET-KEY-1";

/// The message where no data follow the key or passphrase.
pub(crate) const NO_DATA: &str = "ends within its first line, so no data follow the key or passphrase; give that line an end, and the data after it";

/// The text is not a key. Messages repeat none of it, since it may be most of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The line has the wrong length for a key.
    #[error("a key is one line of {DIGITS} hexadecimal digits, this line has {0}")]
    Length(usize),
    /// A character is not a hexadecimal digit.
    #[error("a key is one line of {DIGITS} hexadecimal digits; character {0} is not one")]
    Digit(usize),
    /// There is more text after the line.
    #[error("a key is one line of {DIGITS} hexadecimal digits; something follows after it")]
    Lines,
}

/// A key file cannot be used or created. Every message is one line that follows the name of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read the key: {}", error_text(.0))]
    Read(io::Error),
    /// The file contains no key.
    #[error("is not a key file: {0}")]
    Parse(#[from] ParseError),
    /// The file contains an age identity.
    #[error("is not a key file but an age identity; use -i")]
    Identity,
    /// Data should follow the key, but there is none.
    #[error("{NO_DATA}")]
    Alone,
    /// A file of this name exists, and may be the only key to something.
    #[error(
        "exists already and is not overwritten: it may be the only key to something; choose another name"
    )]
    Exists,
    /// The file cannot be written.
    #[error("cannot write the key: {}", error_text(.0))]
    Write(io::Error),
}

impl Key {
    /// Parses a key: 64 hexadecimal digits in either case, then at most a line end.
    ///
    /// # Errors
    /// The text is not a key.
    pub fn parse(text: &[u8]) -> Result<Key, ParseError> {
        let end = text.iter().position(|&c| c == b'\n').unwrap_or(text.len());
        let (line, rest) = text.split_at(end);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() != DIGITS {
            return Err(ParseError::Length(line.len()));
        }
        if rest.len() > 1 {
            return Err(ParseError::Lines);
        }
        let mut key = Key([0; 32]);
        for (i, &c) in line.iter().enumerate() {
            let digit = char::from(c).to_digit(16).ok_or(ParseError::Digit(i + 1))?;
            key.0[i / 2] = key.0[i / 2] << 4 | digit as u8;
        }
        Ok(key)
    }

    /// The line of a key file, with its line end. It is wiped when it is dropped.
    pub fn to_line(&self) -> Zeroizing<Vec<u8>> {
        // The full capacity is reserved first, since a vector that grows leaves copies in memory.
        let mut line = Zeroizing::new(Vec::with_capacity(DIGITS + 1));
        for byte in self.0 {
            line.extend(
                [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]),
            );
        }
        line.push(b'\n');
        line
    }
}

/// Reads a file that contains a key and nothing else.
///
/// # Errors
/// The file cannot be read, or contains something else.
pub fn read_all(file: &File) -> Result<Key, KeyFileError> {
    let mut text = Zeroizing::new(Vec::with_capacity(MAX_READ));
    let mut part = file.take(MAX_READ as u64 - 1);
    part.read_to_end(&mut text).map_err(KeyFileError::Read)?;
    let identity = || text.windows(IDENTITY.len()).any(|it| it == IDENTITY);
    Key::parse(&text).map_err(|error| match identity() {
        true => KeyFileError::Identity,
        false => error.into(),
    })
}

/// Reads a key from the next line of a file. No byte after the line is read.
///
/// # Errors
/// The file cannot be read, the line is not a key, or no data follows.
pub fn read_line(file: &File) -> Result<Key, KeyFileError> {
    let (line, ended) = secret_line(file, MAX_READ).map_err(KeyFileError::Read)?;
    match Key::parse(&line)? {
        key if ended => Ok(key),
        _ => Err(KeyFileError::Alone),
    }
}

/// Writes `key` to a new file that only its owner can read and write, and waits until it is on the disk.
///
/// # Errors
/// The file exists already, or cannot be written. No new file remains then.
pub fn write_new(path: &Path, key: &Key) -> Result<(), KeyFileError> {
    write_secret(path, &key.to_line())
}

/// The same of a text.
pub(crate) fn write_secret(path: &Path, text: &[u8]) -> Result<(), KeyFileError> {
    if path.symlink_metadata().is_ok() {
        return Err(KeyFileError::Exists);
    }
    let (staged, mut file) = Staged::create(path, 0o600, None).map_err(|error| match error {
        evener_files::Error::Create { reason, .. } => KeyFileError::Write(reason),
        other => KeyFileError::Write(io::Error::other(other)),
    })?;
    let written = file.write_all(text);
    let placed = written.and_then(|()| staged.durable().commit_new());
    placed.map_err(|reason| match reason.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists,
        _ => KeyFileError::Write(reason),
    })
}
