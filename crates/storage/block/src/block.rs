//! The blocks of an image: the positions of their bytes, and their checksums.

use std::ops::Range;

use crate::codec::Codec;

/// A part of an image that can be decoded independently.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its first byte in the image.
    pub start: u64,
    /// Its length: at most [`MAX_BLOCK`](crate::MAX_BLOCK), unless it need not be decoded.
    pub len: u64,
    /// The source of its bytes.
    pub place: Place,
    /// The check of its bytes.
    pub check: Check,
}

/// The source of a block's bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// All are zero.
    Zero {
        /// Offset and length of a frame in the file that decodes to these zeros. It is stored for other programs.
        packed: Option<(u64, u32)>,
    },
    /// The same bytes of the backing image. Bytes beyond its end are zero.
    Backing,
    /// The bytes are stored uncompressed in the file.
    Stored {
        /// Their offset in the file.
        offset: u64,
    },
    /// The bytes are compressed.
    Packed {
        /// The offset of the packed bytes in the file.
        offset: u64,
        /// The number of packed bytes.
        packed: u32,
        /// The codec that decodes them.
        codec: &'static Codec,
        /// The number of decoded bytes. Bytes beyond the length of the block lie beyond the end of the image.
        plain: u32,
        /// The checksum of the packed bytes, if the image stores it outside of them.
        sum: Option<PackedSum>,
    },
}

/// The checksum of a block's packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedSum {
    /// The low 32 bits of XXH3.
    Xxh3(u32),
    /// The number of padding bytes of an xz block.
    Padding(u8),
}

/// The check of a block's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// None.
    Nothing,
    /// They must be zeros.
    Zero,
    /// A checksum of this kind within the packed bytes, which the decoder verifies.
    Inside(&'static str),
    /// The low 32 bits of XXH64.
    Xxh64(u32),
    /// BLAKE3, by its index in the image's list of hashes.
    Leaf(u32),
}

/// A run of bytes of an image, as `base:allocation` of NBD describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The bytes.
    pub bytes: Range<u64>,
    /// Whether they are zero and take no space in the file.
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
