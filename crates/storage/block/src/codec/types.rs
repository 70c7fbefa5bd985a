//! The interface of codecs.

use std::fmt;

/// A compression format for blocks.
#[derive(Debug)]
pub struct Codec {
    /// Its index in [`TABLE`](super::TABLE), and its number in `evb` images. It must never change.
    pub id: u8,
    /// Its name on the command line and in messages.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// Its levels, if it has any.
    pub levels: Option<Levels>,
    /// The kind of checksum within packed bytes that decoding verifies.
    pub checked: Option<&'static str>,
    /// A codec that decodes the same packed bytes without verifying that checksum.
    pub bare: Option<&'static Codec>,
    /// Whether [`Decode::decode_prefix`] is faster than decoding the whole block.
    pub prefix: bool,
    /// The approximate number of vectorised operations per byte to encode, as in `evener_runtime::Work`; copying is 1. The
    /// tuner corrects it.
    pub weight: f64,
    /// Creates an encoder for a level; `None` if the codec only decodes.
    pub encoder: Option<fn(level: i32) -> Box<dyn Encode>>,
    /// Creates a decoder.
    pub decoder: fn() -> Box<dyn Decode>,
}

/// The levels of a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The fastest.
    pub min: i32,
    /// The slowest.
    pub max: i32,
    /// The default level.
    pub default: i32,
}

/// Encodes blocks. The result does not depend on earlier blocks.
pub trait Encode: Send {
    /// Encodes `plain` into the first bytes of `room`, and returns their number; `None` if they do not fit. `room` has an
    /// eighth and 1 KiB more than `plain`. An encoder that needs more for its worst case has a buffer of its own.
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize>;
}

/// Decodes blocks.
pub trait Decode: Send {
    /// Decodes `packed` into all of `plain`. Whatever `packed` contains, nothing is written beyond `plain`, and the
    /// allocated memory is at most a small multiple of [`MAX_BLOCK`](crate::MAX_BLOCK), plus the dictionary for `xz`.
    ///
    /// # Errors
    /// `packed` does not decode to exactly this number of bytes.
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes `packed` until `prefix` is full. If the codec [cannot decode prefixes](Codec::prefix), `prefix` must
    /// hold the whole block. A checksum of the packed bytes is verified.
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
    /// They are invalid, or their checksum is wrong.
    Invalid,
    /// They decode to more bytes than the block has.
    TooLong,
    /// They decode to fewer bytes.
    TooShort,
    /// They use an unsupported feature.
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
