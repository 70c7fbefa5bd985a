//! Checks of inputs and outputs, for programs that ask for a passphrase: users should not type one in vain.

use std::ffi::OsStr;

use evener_files::{InputFile, OutputFile, SourceFile};

use super::age::read_header;
use super::rewrap::{Rewrapped, no_rewrap};
use super::{Error, NO_TERMINAL, foreign};
use crate::age::{self, HeaderError};
use crate::keys::{PASSPHRASE_HEADER, PassphraseError, PassphraseHeader};

/// Checks whether `input` can be read and `output` can be written, as far as possible without a secret. `shown`
/// allows a terminal as the output. Nothing is read from a pipe.
///
/// # Errors
/// Those of the corresponding session.
pub fn check(input: &OsStr, output: &OsStr, shown: bool) -> Result<(), Error> {
    let source = match peek(input)? {
        Some(file) => file.source_file(),
        None => SourceFile::default(),
    };
    Ok(OutputFile::check(output, &source, shown)?)
}

/// Checks whether a passphrase decrypts `input`, judging by its first bytes. Nothing is read from a pipe.
///
/// # Errors
/// The input cannot be read, or needs another kind of secret.
pub fn check_passphrase(input: &OsStr) -> Result<(), Error> {
    let Some((file, front)) = beginning(input)? else {
        return Ok(());
    };
    let name = file.name.clone();
    if let Some(armored) = age::recognise(&front) {
        let (header, ..) = read_header(file, &front, armored)?;
        let cause = match age::work_factor(&header) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => HeaderError::NeedsIdentity(age::kinds(&header)),
            Err(cause) => cause,
        };
        return Err(Error::Age { name, cause });
    }
    match (PassphraseHeader::parse(&front), foreign::recognise(&front)) {
        (Err(PassphraseError::NoHeader), Some(what)) => Err(Error::Foreign { name, what }),
        (Err(cause), _) => Err(Error::Passphrase { name, cause }),
        (Ok(_), _) => Ok(()),
    }
}

/// As [`check()`], for [`rewrap`](super::rewrap()): the input must be an age file.
///
/// # Errors
/// Those of [`rewrap`](super::rewrap()).
pub fn check_rewrap(input: &OsStr, output: Rewrapped<'_>) -> Result<(), Error> {
    if let Some((file, front)) = beginning(input)?
        && age::recognise(&front).is_none()
    {
        return Err(no_rewrap(file.name, &front));
    }
    match output {
        Rewrapped::Output(output) => check(input, output, false),
        Rewrapped::InPlace => match peek(input)? {
            Some(file) if file.is_file() => {
                Ok(OutputFile::check(input, &SourceFile::default(), false)?)
            }
            _ => Ok(()),
        },
    }
}

/// The input, if opening it takes nothing from it and waits for nobody.
fn peek(input: &OsStr) -> Result<Option<InputFile>, Error> {
    let waits = InputFile::metadata_of(input).is_some_and(|it| !it.is_file() && !it.is_dir());
    let is_stdin = matches!(input.to_str(), Some("-" | "/dev/stdin"));
    match waits && !is_stdin {
        true => Ok(None),
        false => Ok(Some(InputFile::named(input, NO_TERMINAL)?)),
    }
}

/// A file by its name, and its first bytes, which have been read from it.
fn beginning(input: &OsStr) -> Result<Option<(InputFile, Vec<u8>)>, Error> {
    // Descriptors that are open already share their place in the file with what is read later.
    let named = input != "-" && !input.as_encoded_bytes().starts_with(b"/dev/");
    let Some(mut file) = peek(input)?.filter(|file| named && file.is_file()) else {
        return Ok(None);
    };
    let mut front = vec![0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    front.truncate(got);
    Ok(Some((file, front)))
}
