//! Other recipients or another passphrase for an age file, whose payload stays as it is.

use std::ffi::OsStr;
use std::io::Write;

use evener_files::{OutputFile, SourceFile, Target};

use super::age::{Recipients, read_header, unwrap};
use super::decrypt::Opener;
use super::{Error, open};
use crate::age::armor::Encoder;
use crate::age::{self, HeaderError};
use crate::bulk::Input;
use crate::keys::PASSPHRASE_HEADER;

/// Bytes that are copied at once.
const BLOCK: usize = 1 << 20;

/// Where a file with a new header goes.
#[derive(Clone, Copy)]
pub enum Rewrapped<'a> {
    /// To this name, or `-`.
    Output(&'a OsStr),
    /// In the place of the input, once it is whole and on the disk.
    InPlace,
}

/// Writes the age file `input`, the name of a file or `-`, with a header for `to` instead of the old one. The key of the file
/// and its payload stay the same, and the payload is neither decrypted nor verified. Returns the bytes written.
///
/// Whoever could read the file before still can: they may have kept it, or its key.
///
/// # Errors
/// The input cannot be read, is no age file, or `opener` does not open it; or the output cannot be written.
pub fn rewrap(
    input: &OsStr,
    output: Rewrapped<'_>,
    opener: Opener<'_>,
    to: &Recipients,
) -> Result<u64, Error> {
    let mut file = open(input)?;
    let (name, source) = (file.name.clone(), file.source_file());
    let mut front = [0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    let front = &front[..got];
    let Some(armored) = age::recognise(front) else {
        return Err(Error::NoRewrap { name });
    };
    if matches!(output, Rewrapped::InPlace) && !file.is_file() {
        return Err(Error::File(evener_files::Error::Unfit {
            name,
            reason: "is no file, so nothing can take its place; use -o OUT",
        }));
    }
    let watch = file.watch();
    let (header, mut rest, at) = read_header(file, front, armored)?;
    let key = unwrap(&header, opener, &name)?;
    let header = to.header_of(&key, &name)?;
    let mut out = match output {
        Rewrapped::Output(output) => OutputFile::named(output, &source)?,
        Rewrapped::InPlace => OutputFile::named(input, &SourceFile::default())?,
    };
    let mut armor = armored.then(Encoder::default);
    let mut written = 0;
    let mut put = |bytes: &[u8]| {
        let put = out.write_all(bytes);
        put.map_err(|reason| evener_files::Error::of_write(out.name(), written, reason))?;
        written += bytes.len() as u64;
        Ok::<(), evener_files::Error>(())
    };
    let mut text = |bytes: &[u8]| match &mut armor {
        Some(armor) => put(&armor.update(bytes)),
        None => put(bytes),
    };
    text(&header.to_bytes())?;
    let copied = copy(&mut rest, at, text)?;
    if copied < age::NONCE as u64 {
        let cause = HeaderError::NoPayload;
        return Err(Error::Age { name, cause });
    }
    if let Some(armor) = armor {
        put(&armor.finish())?;
    }
    if watch.is_some_and(|watch| watch.change().is_some()) {
        return Err(Error::File(evener_files::Error::Unfit {
            name,
            reason: "changed while it was being read; run again when nothing writes to it",
        }));
    }
    let done = out.flush().and_then(|()| out.commit(written));
    done.map_err(|reason| evener_files::Error::Commit {
        name: out.name().to_owned(),
        reason,
    })?;
    Ok(written)
}

/// Gives `text` all that is left of `input` from byte `at` on.
fn copy(
    input: &mut Input,
    at: u64,
    mut text: impl FnMut(&[u8]) -> Result<(), evener_files::Error>,
) -> Result<u64, evener_files::Error> {
    let (mut copied, mut room) = (0, vec![0; BLOCK]);
    loop {
        let got = input.fill(&mut room, at + copied)?;
        text(&room[..got])?;
        copied += got as u64;
        if got < room.len() {
            return Ok(copied);
        }
    }
}
