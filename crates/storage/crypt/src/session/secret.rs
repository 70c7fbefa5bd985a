//! The secret with which a file is encrypted.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use evener_files::{InputFile, one_line};
use zeroize::Zeroizing;

use super::Error;
use crate::keys::{self, Exposed, Key, KeyFileError, PassphraseError};

/// The secret with which a file is encrypted.
pub enum Secret {
    /// A key.
    Key(Key),
    /// A passphrase, as bytes.
    Passphrase(Zeroizing<Vec<u8>>),
}

/// A passphrase, or a line that should be a key, must have fewer bytes.
const MAX_LINE: usize = 64 << 10;

impl Secret {
    /// Checks a passphrase, which must be possible to type.
    ///
    /// # Errors
    /// It is empty, too long, or contains a NUL.
    pub fn passphrase(text: Zeroizing<Vec<u8>>) -> Result<Secret, PassphraseError> {
        match &text[..] {
            [] => Err(PassphraseError::Empty),
            // A truncated line must not be used instead of the whole.
            long if long.len() >= MAX_LINE => Err(PassphraseError::TooLong),
            text if text.contains(&0) => Err(PassphraseError::Nul),
            _ => Ok(Secret::Passphrase(text)),
        }
    }
}

/// A warning about a file with a secret, which can still be used. The text follows the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretWarning {
    /// Other users can read or change it.
    Exposed(Exposed),
    /// The passphrase starts with a byte order mark, which some editors add.
    Mark,
    /// The passphrase ends with white space.
    Blanks,
}

impl fmt::Display for SecretWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretWarning::Exposed(exposed) => exposed.fmt(f),
            SecretWarning::Mark => f.write_str(
                "begins with a byte order mark (BOM), which is part of the passphrase; typed without it the passphrase \
                 is another",
            ),
            SecretWarning::Blanks => f.write_str(
                "the line ends in blanks, which are part of the passphrase; typed without them it is another",
            ),
        }
    }
}

/// Reads the key in the file at `path`, and returns warnings about the file. `input` is the name of the data. If both
/// come from the same pipe, exactly the line of the key is read from it.
///
/// # Errors
/// The file cannot be read, contains no key, or is the data itself.
pub fn key_file(path: &Path, input: &OsStr) -> Result<(Secret, Vec<SecretWarning>), Error> {
    let failed = |cause| of(path, cause);
    let shared = is_shared(path, input, "key", || one_line(&path.to_string_lossy()))?;
    let (file, exposed) = open_secret(path).map_err(|e| failed(KeyFileError::Read(e)))?;
    let key = match shared {
        true => keys::read_line(&file),
        false => keys::read_all(&file),
    };
    Ok((Secret::Key(key.map_err(failed)?), exposed))
}

/// Writes a new key to a new file that only its owner can read.
///
/// # Errors
/// The operating system provides no randomness, or the file exists or cannot be written.
pub fn new_key_file(path: &Path) -> Result<(), Error> {
    keys::write_new(path, &Key::generate()?).map_err(|cause| of(path, cause))
}

fn of(path: &Path, cause: KeyFileError) -> Error {
    // No message may repeat a key.
    let digits = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let name = match path.as_os_str().as_encoded_bytes().windows(64).any(digits) {
        true => "-k (a key itself, where the name of its file belongs)".to_owned(),
        false => one_line(&path.to_string_lossy()),
    };
    Error::KeyFile { name, cause }
}

/// Reads the passphrase in the first line of the file at `path`, and returns warnings about the file. `input` is the
/// name of the data. Nothing after the line is read.
///
/// # Errors
/// The file cannot be read, the line is not a passphrase, or the file is the data itself.
pub fn passphrase_file(path: &Path, input: &OsStr) -> Result<(Secret, Vec<SecretWarning>), Error> {
    passphrase_in(path, &one_line(&path.to_string_lossy()), input)
}

/// As [`passphrase_file`], from an open file descriptor.
///
/// # Errors
/// Those of [`passphrase_file`].
pub fn passphrase_fd(number: u32, input: &OsStr) -> Result<(Secret, Vec<SecretWarning>), Error> {
    let path = format!("/dev/fd/{number}");
    passphrase_in(
        Path::new(&path),
        &format!("file descriptor {number}"),
        input,
    )
}

/// The same from a file that messages call `name`.
fn passphrase_in(
    path: &Path,
    name: &str,
    input: &OsStr,
) -> Result<(Secret, Vec<SecretWarning>), Error> {
    let name = || name.to_owned();
    let failed = |reason| Error::NoPassphrase {
        name: name(),
        reason,
    };
    let shared = is_shared(path, input, "passphrase", name)?;
    let (file, mut warnings) = open_secret(path).map_err(failed)?;
    let (mut line, ended) = keys::secret_line(&file, MAX_LINE).map_err(failed)?;
    if shared && !ended && line.len() < MAX_LINE {
        return Err(Error::NothingFollows { name: name() });
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    if line.starts_with(b"\xef\xbb\xbf") {
        warnings.push(SecretWarning::Mark);
    }
    if line.ends_with(b" ") || line.ends_with(b"\t") {
        warnings.push(SecretWarning::Blanks);
    }
    let wrong = |cause| Error::Passphrase {
        name: name(),
        cause,
    };
    Ok((Secret::passphrase(line).map_err(wrong)?, warnings))
}

/// Writes a secret to a new file that only its owner may read.
pub(super) fn write_secret(path: &Path, text: &[u8]) -> Result<(), Error> {
    keys::write_secret(path, text).map_err(|cause| of(path, cause))
}

pub(super) fn open_secret(path: &Path) -> io::Result<(File, Vec<SecretWarning>)> {
    let file = File::open(path)?;
    let exposed = Exposed::of(&file.metadata()?).map(SecretWarning::Exposed);
    Ok((file, Vec::from_iter(exposed)))
}

/// Whether the data come from the same pipe or terminal, and so follow the key or passphrase.
///
/// # Errors
/// They come from the same file, whose first line would be both, or from the same named pipe, which cannot be opened
/// again once its writer is gone.
fn is_shared(
    path: &Path,
    input: &OsStr,
    kind: &'static str,
    name: impl Fn() -> String,
) -> Result<bool, Error> {
    let (Ok(secret), Some(data)) = (path.metadata(), InputFile::metadata_of(input)) else {
        return Ok(false);
    };
    let same = (data.dev(), data.ino()) == (secret.dev(), secret.ino());
    let is_named_pipe = || secret.file_type().is_fifo() && path.canonicalize().is_ok();
    match same && (secret.is_file() || is_named_pipe()) {
        true => Err(Error::OwnInput {
            name: name(),
            secret: kind,
        }),
        false => Ok(same),
    }
}
