//! The blocks of an image: where their bytes come from and what they are compared with.

use std::ops::Range;

use crate::codec::Codec;

/// A part of an image that is decoded by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its first byte in the image.
    pub start: u64,
    /// Its bytes: at most [`MAX_BLOCK`](crate::MAX_BLOCK), unless it need not be decoded.
    pub len: u64,
    /// Where its bytes come from.
    pub place: Place,
    /// What they are compared with.
    pub check: Check,
}

/// Where the bytes of a block come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// All are zero.
    Zero {
        /// Offset and length of a frame in the file that decodes to these zeros, for other programs.
        packed: Option<(u64, u32)>,
    },
    /// They are those at the same place of the image under this one. What lies beyond its end is zero.
    Backing,
    /// They are stored in the file as they are.
    Stored {
        /// The first of them in the file.
        offset: u64,
    },
    /// They are decoded.
    Packed {
        /// The first packed byte in the file.
        offset: u64,
        /// Packed bytes.
        packed: u32,
        /// What decodes them.
        codec: &'static Codec,
        /// Bytes that are decoded. Those behind the length of the block lie beyond the end of the image.
        plain: u32,
        /// What the packed bytes are compared with, where the image has it outside of them.
        sum: Option<PackedSum>,
    },
}

/// What the packed bytes of a block are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedSum {
    /// The low 32 bits of their XXH3.
    Xxh3(u32),
    /// How many of them are padding of an xz block.
    Padding(u8),
}

/// What the bytes of a block are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    Nothing,
    /// Zeros.
    Zero,
    /// A checksum of this kind within the packed bytes, which the decoder compares.
    Inside(&'static str),
    /// The low 32 bits of their XXH64.
    Xxh64(u32),
    /// Their BLAKE3, by its number in the list of the image.
    Leaf(u32),
}

/// A run of bytes of an image, as `base:allocation` of NBD describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The bytes.
    pub bytes: Range<u64>,
    /// They are zero and take no space in the file.
    pub zero: bool,
}

/// How a part of a block is read.
pub(crate) enum Access {
    /// It is zero.
    Zero,
    /// From the file, where the block begins at this byte. There is no checksum to compare.
    File(u64),
    /// The block is decoded, or compared with a checksum of all its bytes.
    Decode,
}

impl Block {
    pub(crate) fn access(&self) -> Access {
        match (&self.place, self.check) {
            (Place::Zero { .. }, _) => Access::Zero,
            (Place::Stored { offset }, Check::Nothing) => Access::File(*offset),
            _ => Access::Decode,
        }
    }
}

impl Check {
    /// The name of the kind of checksum.
    pub fn name(&self) -> &'static str {
        match self {
            Check::Nothing => "nothing",
            Check::Zero => "zero",
            Check::Inside(kind) => kind,
            Check::Xxh64(_) => "XXH64",
            Check::Leaf(_) => "BLAKE3",
        }
    }
}
