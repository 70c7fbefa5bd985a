//! Formats of images: how to recognise them, and the positions of their blocks.
//!
//! A format is a file beside this one and a line in [`TABLE`]. `types.rs` defines the interface, and `index.rs` is
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

/// All formats, in the order in which they are tried. A file in no other format is raw.
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
    /// The format with this name.
    pub fn of_name(name: &str) -> Option<&'static Format> {
        TABLE.into_iter().find(|format| format.name == name)
    }
}

/// Recognises the format of a file.
///
/// # Errors
/// The file cannot be read.
pub fn recognise(file: &ImageFile) -> Result<&'static Format, Error> {
    Ok(Ends::of(file)?.format())
}

/// The unsupported format that a raw image looks like, if any.
///
/// # Errors
/// The file cannot be read.
pub fn foreign(file: &ImageFile) -> Result<Option<&'static Foreign>, Error> {
    Ok(Foreign::of(&Ends::of(file)?))
}

/// The format that a file in an archive looks like, if it cannot be read.
///
/// # Errors
/// The file cannot be read.
pub fn inside(file: &ImageFile) -> Result<Option<&'static Foreign>, Error> {
    let ends = Ends::of(file)?;
    Ok(Foreign::of(&ends).filter(|_| ends.format().name == RAW.name))
}

/// Recognises the contents of a pipe by its first bytes: the format, and for a raw image, the format that it looks
/// like.
pub fn recognise_pipe(front: &[u8]) -> (&'static Format, Option<&'static Foreign>) {
    let ends = Ends::of_pipe(front);
    (ends.format(), Foreign::of(&ends))
}
