//! What a file is encrypted with.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use evener_files::one_line;
use zeroize::Zeroizing;

use super::Error;
use crate::keys::{self, Exposed, Key, PassphraseError};

/// What a file is encrypted with.
pub enum Secret {
    /// A key.
    Key(Key),
    /// A passphrase, as bytes.
    Passphrase(Zeroizing<Vec<u8>>),
}

/// Bytes of a passphrase file read at most; its first line has fewer.
const LONGEST: u64 = 64 << 10;

/// The key in a key file, and a warning if others may read it.
///
/// # Errors
/// It cannot be read or holds no key.
pub fn key_file(path: &Path) -> Result<(Secret, Option<Exposed>), Error> {
    let (key, exposed) = keys::read(path).map_err(|cause| of(path, cause))?;
    Ok((Secret::Key(key), exposed))
}

/// Writes a new key to a new file that only its owner may read.
///
/// # Errors
/// The system has no randomness, or the file exists or cannot be written.
pub fn new_key_file(path: &Path) -> Result<(), Error> {
    keys::write_new(path, &Key::generate()?).map_err(|cause| of(path, cause))
}

fn of(path: &Path, cause: keys::KeyFileError) -> Error {
    Error::KeyFile {
        name: one_line(&path.to_string_lossy()),
        cause,
    }
}

/// The passphrase in the first line of a file.
///
/// # Errors
/// It cannot be read, or the line is empty or too long.
pub fn passphrase_file(path: &Path) -> Result<Secret, Error> {
    let name = || one_line(&path.to_string_lossy());
    let mut text = Zeroizing::new(Vec::with_capacity(LONGEST as usize));
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    read.map_err(|reason| Error::NoPassphrase {
        name: name(),
        reason,
    })?;
    let end = text.iter().position(|&c| c == b'\n').unwrap_or(text.len());
    let unfit = |cause| Error::Passphrase {
        name: name(),
        cause,
    };
    // Half of a long line would open what the whole was to protect.
    if end as u64 == LONGEST {
        return Err(unfit(PassphraseError::TooLong));
    }
    let end = end - usize::from(text[..end].ends_with(b"\r"));
    if end == 0 {
        return Err(unfit(PassphraseError::Empty));
    }
    Ok(Secret::Passphrase(Zeroizing::new(text[..end].to_vec())))
}
