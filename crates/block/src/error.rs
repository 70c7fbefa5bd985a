//! What can be wrong with an image.

use std::fmt;

use evener_files::Change;

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
    /// The file ends before what its header or index says is in it.
    #[error(
        "{name}: this {format} image is cut short: {what}; copy or download it again, to its end"
    )]
    Cut {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// What is not there.
        what: String,
    },
    /// The file is not what it was when it was opened: what was read of it may be of two states.
    #[error("{name}: {change}; try again when nothing writes to it")]
    Changed {
        /// The image.
        name: String,
        /// What became of it.
        change: Change,
    },
    /// What comes through a pipe is no raw image, and any other is read at any place.
    #[error(
        "{name}: looks like {format}, and only a raw image can come through a pipe; name its file, or say --format raw \
         if these bytes are meant"
    )]
    Piped {
        /// What messages call the pipe.
        name: String,
        /// What it looks like.
        format: String,
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
            Fault::Cut => f.write_str("lies behind the end of the file, which is cut short"),
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
