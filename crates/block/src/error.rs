//! What can be wrong with an image.

use std::fmt;

use crate::codec::CodecError;

/// An image that cannot be used. Every message is one line that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file under the image cannot be opened, read or written.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// An image of a known format that uses something this crate does not read.
    #[error("{name}: this {format} image {what}")]
    Unsupported {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// What is not read, and what to do instead.
        what: String,
    },
    /// Header or index contradict themselves or the file.
    #[error("{name}: damaged {format} image: {what}; get the file again")]
    Damaged {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A block cannot be decoded, or is not what was packed.
    #[error("{name}: the block at byte {at} {fault}; get the file again")]
    Block {
        /// The image.
        name: String,
        /// Where the block begins in the image that is packed.
        at: u64,
        /// What is wrong.
        fault: Fault,
    },
    /// A place beyond the end of the image.
    #[error("{name}: bytes {from} to {to} were asked for and the image has {size}")]
    Beyond {
        /// The image.
        name: String,
        /// The first byte asked for.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// Bytes of the image.
        size: u64,
    },
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be decoded.
    Codec {
        /// Name of the codec.
        codec: &'static str,
        /// What the codec found.
        error: CodecError,
    },
    /// Its bytes would lie behind the end of the file.
    Cut,
    /// It has not the checksum or hash that was stored.
    Sum {
        /// Of which kind.
        kind: &'static str,
    },
    /// It is longer or shorter than the index of the file says.
    Length,
    /// It is marked as zero and is not.
    NotZero,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Codec { codec, error } => write!(f, "is no valid {codec}: {error}"),
            Fault::Cut => f.write_str("lies behind the end of the file"),
            Fault::Sum { kind } => write!(f, "has another {kind} than was stored"),
            Fault::Length => f.write_str("has another length than the index says"),
            Fault::NotZero => f.write_str("is marked as zero and is not"),
        }
    }
}

impl Error {
    /// Whether all that happened is that the reader of the output went away, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::File(evener_files::Error::ClosedPipe { .. }))
    }
}
