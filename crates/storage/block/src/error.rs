//! Errors of images.

use std::fmt;

use evener_files::Change;

use crate::codec::CodecError;

/// An image cannot be used. Every message is one line that says what failed, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file under the image cannot be opened, read or written.
    #[error(transparent)]
    File(#[from] evener_files::Error),
    /// The image uses an unsupported feature of its format.
    #[error("{name}: this {format} image {what}")]
    Unsupported {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// The feature, and what to do instead.
        what: String,
    },
    /// The header or the index is invalid.
    #[error("{name}: damaged {format} image: {what}; get the file again")]
    Damaged {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// The problem.
        what: String,
    },
    /// The file ends too early.
    #[error(
        "{name}: this {format} image is cut short: {what}; copy or download it again, to its end"
    )]
    Cut {
        /// The image.
        name: String,
        /// Its format.
        format: &'static str,
        /// The missing part.
        what: String,
    },
    /// The file changed after it was opened, so the bytes read may mix two states of it.
    #[error("{name}: {change}; try again when nothing writes to it")]
    Changed {
        /// The image.
        name: String,
        /// The change.
        change: Change,
    },
    /// A pipe delivers an image that is not raw. Such images are read at any offset, which a pipe cannot do.
    #[error(
        "{name}: looks like {format}, and only a raw image can come {how}; {to_do}, or say --format raw if these bytes \
         are meant"
    )]
    Piped {
        /// The pipe.
        name: String,
        /// The format that it looks like.
        format: String,
        /// Its form.
        how: &'static str,
        /// The remedy.
        to_do: &'static str,
    },
    /// It is of a format that is not read, or compressed in a way in which no part of it can be read by itself.
    #[error(
        "{name}: looks like {format}, which {what}, or say --format raw if these bytes are meant"
    )]
    Foreign {
        /// The file.
        name: String,
        /// The format that it looks like.
        format: &'static str,
        /// Why it cannot be read, and what to do instead.
        what: &'static str,
    },
    /// A tar without a usable disk image.
    #[error("{name}: is a tar, which {what}, or say --format raw if these bytes are meant")]
    Archive {
        /// The file.
        name: String,
        /// Its contents, and what to do.
        what: String,
    },
    /// A server does not deliver the image.
    #[error("{name}: {what}")]
    Remote {
        /// Its URL.
        name: String,
        /// The problem.
        what: String,
    },
    /// A block cannot be decoded, or its checksum is wrong.
    #[error("{name}: the block at byte {at} {fault}; get the file again")]
    Block {
        /// The image.
        name: String,
        /// The offset of the block in the image.
        at: u64,
        /// The problem.
        fault: Fault,
    },
    /// The bytes are beyond the end of the image.
    #[error("{name}: bytes {from} to {to} were asked for and the image has {size}")]
    Beyond {
        /// The image.
        name: String,
        /// The first requested byte.
        from: u64,
        /// The byte after the last requested one.
        to: u64,
        /// The size of the image.
        size: u64,
    },
}

/// A problem of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be decoded.
    Codec {
        /// Name of the codec.
        codec: &'static str,
        /// The codec's error.
        error: CodecError,
    },
    /// Its bytes are beyond the end of the file.
    Cut,
    /// Its checksum or hash differs from the stored one.
    Sum {
        /// The kind of checksum.
        kind: &'static str,
    },
    /// Its length differs from that in the index of the file.
    Length,
    /// It is marked as zero, but is not.
    NotZero,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Codec { codec, error } => write!(f, "is not valid {codec}: {error}"),
            Fault::Cut => f.write_str("lies beyond the end of the file, which is cut short"),
            Fault::Sum { kind } => write!(
                f,
                "is damaged: its {kind} checksum differs from the stored one"
            ),
            Fault::Length => f.write_str("is not as long as the index says"),
            Fault::NotZero => f.write_str("is marked as zero and is not"),
        }
    }
}

impl Error {
    /// Whether the only problem is that the reader of the output closed the pipe, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::File(error) if error.is_closed_pipe())
    }
}
