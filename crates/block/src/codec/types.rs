//! What a codec is.

use std::fmt;

/// A way to make a block shorter.
#[derive(Debug)]
pub struct Codec {
    /// Its place in [`TABLE`](super::TABLE), and its number in `evb` images: never changed once an image was written with it.
    pub id: u8,
    /// What it is called on the command line and in messages.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// How hard it can try.
    pub levels: Option<Levels>,
    /// What checksum a block carries within itself, that decoding compares; `None` if there is none.
    pub checked: Option<&'static str>,
    /// Decodes the same packed bytes without comparing that checksum, for whoever knows that they are right.
    pub bare: Option<&'static Codec>,
    /// Whether [`Decode::decode_prefix`] takes less time than decoding all.
    pub prefix: bool,
    /// Vectorised operations on a byte that encoding takes, about; see `evener_runtime::Work`.
    pub weight: f64,
    /// Something that encodes at a level; `None` where blocks are only read.
    pub encoder: Option<fn(level: i32) -> Box<dyn Encode>>,
    /// Something that decodes.
    pub decoder: fn() -> Box<dyn Decode>,
}

/// How hard a codec can try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The fastest.
    pub min: i32,
    /// The slowest.
    pub max: i32,
    /// Unless another is named.
    pub default: i32,
}

/// Encodes blocks, one after the other. What it gives for a block does not depend on those before.
pub trait Encode: Send {
    /// Encodes `plain` into the front of `room` and says how many bytes that takes; `None` if they do not fit.
    fn encode(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize>;
}

/// Decodes blocks, one after the other.
pub trait Decode: Send {
    /// Decodes `packed` into all of `plain`. Whatever `packed` holds, nothing is written beyond, and no more memory
    /// taken than a small multiple of [`MAX_BLOCK`](crate::MAX_BLOCK), `xz` with its dictionary apart.
    ///
    /// # Errors
    /// It is not what the codec made of so many bytes.
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes `packed` until all of `prefix` is filled, which is to be all there is where the codec [has
    /// none](Codec::prefix). What there is of a checksum of the packed bytes is compared.
    ///
    /// # Errors
    /// It is not what the codec made of so many bytes or more.
    fn decode_prefix(&mut self, packed: &[u8], prefix: &mut [u8]) -> Result<(), CodecError> {
        self.decode(packed, prefix)
    }
}

/// What a codec found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// The bytes mean nothing, or their own checksum differs.
    Invalid,
    /// They are more than the block has.
    TooLong,
    /// They are fewer.
    TooShort,
    /// They are packed in a way that is not read: what a block of them does.
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

/// Whether as many bytes came out as there had to.
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
