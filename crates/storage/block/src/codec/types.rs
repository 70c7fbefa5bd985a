//! What a codec is.

use std::fmt;

/// A way to compress blocks.
#[derive(Debug)]
pub struct Codec {
    /// Its index in [`TABLE`](super::TABLE) and its number in `evb` images. It must never change.
    pub id: u8,
    /// Its name on the command line and in messages.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// Its levels, if it has any.
    pub levels: Option<Levels>,
    /// The kind of checksum within packed bytes, which decoding compares.
    pub checked: Option<&'static str>,
    /// A codec that decodes the same packed bytes without comparing that checksum.
    pub bare: Option<&'static Codec>,
    /// Whether [`Decode::decode_prefix`] takes less time than decoding the whole block.
    pub prefix: bool,
    /// About how many operations encoding a byte takes; see `evener_runtime::Work`.
    pub weight: f64,
    /// Makes an encoder for a level; `None` where blocks are only read.
    pub encoder: Option<fn(level: i32) -> Box<dyn Encode>>,
    /// Makes a decoder.
    pub decoder: fn() -> Box<dyn Decode>,
}

/// The levels of a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The fastest.
    pub min: i32,
    /// The slowest.
    pub max: i32,
    /// The level unless another is chosen.
    pub default: i32,
}

/// Encodes blocks. The result for a block does not depend on the blocks before.
pub trait Encode: Send {
    /// Encodes `plain` into the first bytes of `room` and returns how many that are; `None` if they do not fit.
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize>;
}

/// Decodes blocks.
pub trait Decode: Send {
    /// Decodes `packed` into all of `plain`. Whatever `packed` holds, nothing is written beyond `plain`, and no more
    /// memory is allocated than a small multiple of [`MAX_BLOCK`](crate::MAX_BLOCK), and the dictionary for `xz`.
    ///
    /// # Errors
    /// `packed` does not decode to exactly this number of bytes.
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes `packed` until `prefix` is full. If the codec [cannot decode prefixes](Codec::prefix), `prefix` must
    /// take the whole block. A checksum of the packed bytes is compared.
    ///
    /// # Errors
    /// `packed` decodes to fewer bytes.
    fn decode_prefix(&mut self, packed: &[u8], prefix: &mut [u8]) -> Result<(), CodecError> {
        self.decode(packed, prefix)
    }
}

/// Why packed bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// They are invalid, or their checksum differs.
    Invalid,
    /// They decode to more bytes than the block has.
    TooLong,
    /// They decode to fewer bytes.
    TooShort,
    /// They are packed in a way that is not supported.
    Unsupported(&'static str),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            CodecError::Invalid => "the bytes are damaged",
            CodecError::TooLong => "it holds more than the block has",
            CodecError::TooShort => "it holds less than the block has",
            CodecError::Unsupported(what) => what,
        })
    }
}

/// Checks that decoding gave as many bytes as wanted.
pub(super) fn exact(got: usize, wanted: usize) -> Result<(), CodecError> {
    match got == wanted {
        true => Ok(()),
        false => Err(CodecError::TooShort),
    }
}

impl PartialEq for Codec {
    fn eq(&self, other: &Codec) -> bool {
        self.id == other.id
    }
}
