//! Replaces the recipients or the passphrase of an age file. Its payload stays as it is.

use std::ffi::OsStr;
use std::io::Write;

use evener_files::{OutputFile, SourceFile, Target, Watch};

use super::age::{Recipients, read_header, unwrap};
use super::decrypt::Opener;
use super::{Error, foreign, open};
use crate::age::armor::Encoder;
use crate::age::{self, FileKey, HeaderError};
use crate::bulk::Input;
use crate::keys::PASSPHRASE_HEADER;

/// Bytes that are copied at once.
const BLOCK: usize = 1 << 20;

/// The destination of a file with a new header.
#[derive(Clone, Copy)]
pub enum Rewrapped<'a> {
    /// This name, or `-`.
    Output(&'a OsStr),
    /// The place of the input, once the file is complete and on the disk.
    InPlace,
}

/// An opened age file, ready to be written with another header.
pub struct Rewrap<'a> {
    input: &'a OsStr,
    output: Rewrapped<'a>,
    name: String,
    source: SourceFile,
    watch: Option<Watch>,
    key: FileKey,
    armored: bool,
    payload: Input,
    /// Where the payload begins, and bytes of the whole input, if that is known.
    at: u64,
    size: Option<u64>,
}

/// Opens the age file `input`, a file name or `-`, to write it with another header. The file key and the payload stay
/// the same, and the payload is neither decrypted nor verified.
///
/// Everyone who could read the file before still can: they may have kept the file or its key.
///
/// # Errors
/// The input cannot be read, is not an age file, or `opener` does not open it.
pub fn rewrap<'a>(
    input: &'a OsStr,
    output: Rewrapped<'a>,
    opener: Opener<'_>,
) -> Result<Rewrap<'a>, Error> {
    let mut file = open(input)?;
    let (name, source, size) = (file.name.clone(), file.source_file(), file.remaining());
    let mut front = [0; PASSPHRASE_HEADER];
    let got = file.fill(&mut front, 0)?;
    let front = &front[..got];
    let Some(armored) = age::recognise(front) else {
        return Err(no_rewrap(name, front));
    };
    if matches!(output, Rewrapped::InPlace) && !file.is_file() {
        return Err(Error::File(evener_files::Error::Unfit {
            name,
            reason: "is not a file, so nothing can take its place; use -o OUT",
        }));
    }
    let watch = file.watch();
    let (header, payload, at) = read_header(file, front, armored)?;
    Ok(Rewrap {
        key: unwrap(&header, opener, &name)?,
        input,
        output,
        name,
        source,
        watch,
        armored,
        payload,
        at,
        size,
    })
}

impl Rewrap<'_> {
    /// The number of bytes to copy, if known.
    pub fn bytes(&self) -> Option<u64> {
        let size = self.size.filter(|_| !self.armored)?;
        Some(size.saturating_sub(self.at))
    }

    /// Writes the file with a header for `to` instead of the old one. Calls `on_progress` now and then with the
    /// number of copied bytes. Returns the size of the file.
    ///
    /// # Errors
    /// The input is truncated, or the output cannot be written.
    pub fn run(mut self, to: &Recipients, mut on_progress: impl FnMut(u64)) -> Result<u64, Error> {
        let header = to.header_of(&self.key, &self.name)?;
        let mut out = match self.output {
            Rewrapped::Output(output) => OutputFile::named(output, &self.source)?,
            Rewrapped::InPlace => OutputFile::named(self.input, &SourceFile::default())?,
        };
        let header = header.to_bytes();
        if let Some(payload) = self.bytes() {
            out.fits(header.len() as u64 + payload)?;
        }
        let mut armor = self.armored.then(Encoder::default);
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
        text(&header)?;
        let (mut copied, mut room) = (0, vec![0; BLOCK]);
        loop {
            let got = self.payload.fill(&mut room, self.at + copied)?;
            text(&room[..got])?;
            copied += got as u64;
            on_progress(copied);
            if got < room.len() {
                break;
            }
        }
        let name = self.name;
        if copied < age::NONCE as u64 {
            let cause = HeaderError::NoPayload;
            return Err(Error::Age { name, cause });
        }
        if let Some(armor) = armor {
            put(&armor.finish())?;
        }
        if self.watch.is_some_and(|watch| watch.change().is_some()) {
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
}

/// Why a file that begins with `front`, and not as an age file, gets no other header.
pub(super) fn no_rewrap(name: String, front: &[u8]) -> Error {
    match foreign::recognise(front) {
        Some(what) => Error::Foreign { name, what },
        None => Error::NoRewrap { name },
    }
}
