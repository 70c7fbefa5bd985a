//! Errors of overlays, and of writes to them.

use std::io;

use evener_files::{error_text, is_full};

/// An overlay cannot be used. Every message is one line that says what failed, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not an overlay.
    #[error("{name}: is not an overlay; name another file, or one that does not exist yet")]
    Other {
        /// The file.
        name: String,
    },
    /// It has another version.
    #[error(
        "{name}: is an overlay of version {version} and version 1 is read; use the evener that made it"
    )]
    Version {
        /// The overlay.
        name: String,
        /// Its version.
        version: u32,
    },
    /// It is damaged.
    #[error(
        "{name}: damaged overlay: {what}; take a copy of it, or name a file that does not exist yet"
    )]
    Damaged {
        /// The overlay.
        name: String,
        /// The problem.
        what: &'static str,
    },
    /// It belongs to another image, or the image has changed.
    #[error(
        "{name}: is an overlay of {base}, of {size} bytes, and not of {image} as it is now; name that image"
    )]
    Base {
        /// The overlay.
        name: String,
        /// The original name of the image it was made for.
        base: String,
        /// The size of that image.
        size: u64,
        /// The given image.
        image: String,
    },
    /// It lies over another overlay, or the overlay under it was written since.
    #[error(
        "{name}: lies over {base} as that was when it was made, and not over {image} as it is now; name overlays in the \
         order in which they were made, and none that was written since under another"
    )]
    Order {
        /// The overlay.
        name: String,
        /// The original name of its base.
        base: String,
        /// The given base.
        image: String,
    },
    /// A server, or a run of pack or unpack, is using it.
    #[error("{name}: in use by another evener; end that one, or name another file")]
    Locked {
        /// The overlay.
        name: String,
    },
    /// The overlay and the image are the same file.
    #[error("{name}: is the image itself; name another file")]
    Image {
        /// The file.
        name: String,
    },
    /// The image is too large for an overlay.
    #[error("{name}: an overlay has up to 128 TiB, and the image {size} bytes; leave it out")]
    TooLarge {
        /// The overlay.
        name: String,
        /// The size of the image.
        size: u64,
    },
    /// It cannot be created.
    #[error(transparent)]
    Create(#[from] evener_files::Error),
    /// A system call failed.
    #[error("{name}: cannot {what}: {}", error_text(reason))]
    File {
        /// The overlay.
        name: String,
        /// The operation.
        what: &'static str,
        /// The system's reason.
        reason: io::Error,
    },
}

/// Why a write failed.
#[derive(Debug)]
pub enum WriteError {
    /// The rest of a granule cannot be read from the image.
    Base {
        /// The first byte that cannot be read.
        at: u64,
    },
    /// The overlay cannot be written.
    File(io::Error),
    /// Zeros would have to be written, which the request forbids.
    Slow,
}

impl WriteError {
    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        matches!(self, WriteError::File(error) if is_full(error))
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::File(error)
    }
}
