//! Formats of images: how they are recognised, and where their blocks lie.
//!
//! A format is a file beside this one and a line in [`TABLE`]. What a format is stands in `types.rs`, and `index.rs` is
//! for formats that list their blocks.

mod cloop;
pub mod evb;
mod fields;
mod foreign;
pub(crate) mod index;
mod qcow2;
mod raw;
pub mod seekable;
pub(crate) mod tail;
mod types;
mod xz;

use crate::error::Error;
use crate::file::ImageFile;

/// All formats, in the order in which they are tried. A file of no other format is raw.
pub static TABLE: [&Format; 6] = [
    &evb::EVB,
    &seekable::SEEKABLE,
    &qcow2::QCOW2,
    &cloop::CLOOP,
    &xz::XZ,
    &raw::RAW,
];

pub use foreign::{Foreign, GZIP};
pub use raw::RAW;
pub use seekable::SEEKABLE;
pub use types::{Ends, Faults, Format, Layout, Leaves, MAX_BLOCKS, Opened, Refused};
pub use xz::XZ;

/// Bytes of each end.
const END: u64 = 512;

impl Ends {
    fn of(file: &ImageFile) -> Result<Ends, Error> {
        Ok(Ends {
            head: file.bytes(0, END)?,
            tail: file.bytes(file.size().saturating_sub(END), END)?,
            skipped: seekable::skipped(|at, len| file.bytes(at, len))?,
        })
    }

    /// The ends of what a pipe delivers. Only the first bytes are known.
    fn of_pipe(front: &[u8]) -> Ends {
        let bytes = |at: u64, len: u64| {
            let from = front.len().min(usize::try_from(at).unwrap_or(usize::MAX));
            let to = front.len().min(from.saturating_add(len as usize));
            Ok(front[from..to].to_vec())
        };
        Ends {
            head: front[..front.len().min(END as usize)].to_vec(),
            tail: Vec::new(),
            skipped: seekable::skipped(bytes).unwrap_or_default(),
        }
    }

    fn format(&self) -> &'static Format {
        let found = TABLE.into_iter().find(|format| (format.recognise)(self));
        found.unwrap_or(&RAW)
    }
}

impl Format {
    /// The format of that name.
    pub fn of_name(name: &str) -> Option<&'static Format> {
        TABLE.into_iter().find(|format| format.name == name)
    }
}

/// The format of a file.
///
/// # Errors
/// The file cannot be read.
pub fn recognise(file: &ImageFile) -> Result<&'static Format, Error> {
    Ok(Ends::of(file)?.format())
}

/// What a raw image looks like, if it looks like a format that is not supported.
///
/// # Errors
/// The file cannot be read.
pub fn foreign(file: &ImageFile) -> Result<Option<&'static Foreign>, Error> {
    Ok(Foreign::of(&Ends::of(file)?))
}

/// What a file in an archive looks like, if it is of no format that is read.
///
/// # Errors
/// The file cannot be read.
pub fn inside(file: &ImageFile) -> Result<Option<&'static Foreign>, Error> {
    let ends = Ends::of(file)?;
    Ok(Foreign::of(&ends).filter(|_| ends.format().name == RAW.name))
}

/// Recognises what a pipe delivers by its first bytes: the format, and if it is raw, what it looks like.
pub fn recognise_pipe(front: &[u8]) -> (&'static Format, Option<&'static Foreign>) {
    let ends = Ends::of_pipe(front);
    (ends.format(), Foreign::of(&ends))
}
