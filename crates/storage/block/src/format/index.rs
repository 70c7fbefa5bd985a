//! An index of blocks, for formats that list them.

use super::types::{Layout, Refused};
use crate::MAX_BLOCK;
use crate::block::{Block, Check, PackedSum, Place};
use crate::codec::{self, Codec};
use crate::error::Error;

/// A block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    offset: u64,
    packed: u32,
    /// A checksum, of the kind that `Index::sums` says.
    sum: u32,
    /// Its number in the list of hashes.
    leaf: u32,
    /// The number of the codec; [`ZERO`] for zero blocks.
    codec: u8,
}

const ZERO: u8 = u8::MAX;

/// The kind of checksums in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// None. The packed bytes may contain some.
    Inside,
    /// The low 32 bits of XXH64.
    Xxh64,
    /// None, but there is a list of hashes.
    Leaves,
    /// Checksums of the packed bytes, and there is a list of hashes.
    Packed,
    /// The number of padding bytes of xz blocks. The packed bytes may contain checksums.
    Padding,
}

/// Blocks in order. Each starts where the previous one ends.
#[derive(Debug)]
pub struct Index {
    entries: Vec<Entry>,
    /// Blocks that have no bytes.
    empty: Vec<Block>,
    sums: Sums,
    size: u64,
    longest: u32,
    leaves: u32,
}

/// The largest number of packed bytes for `plain` bytes. With every codec, incompressible bytes grow by less.
pub fn max_packed(plain: u64) -> u64 {
    plain * 2 + 4096
}

impl Index {
    /// Creates an empty index.
    pub fn new(sums: Sums) -> Index {
        Index {
            entries: Vec::new(),
            empty: Vec::new(),
            sums,
            size: 0,
            longest: 0,
            leaves: 0,
        }
    }

    /// Adds a block of `len` bytes, stored as `packed` bytes at `offset` of the file. Blocks of the file end before
    /// byte `end`.
    ///
    /// # Errors
    /// The block is beyond the end, or a size is invalid or too large.
    pub fn push(
        &mut self,
        codec: &'static Codec,
        len: u64,
        (offset, packed): (u64, u64),
        sum: u32,
        end: u64,
    ) -> Result<(), Refused> {
        let at = self.size;
        if len > u64::from(MAX_BLOCK) {
            return Err(Refused::longer_than_any(at, len));
        }
        if len == 0 || packed == 0 || packed > max_packed(len) {
            let what = format!("the block at byte {at}, of {len} bytes, is packed in {packed}");
            return Err(what.into());
        }
        if offset.checked_add(packed).is_none_or(|to| to > end) {
            return Err(format!("the block at byte {at} lies beyond the last").into());
        }
        self.longest = self.longest.max(len as u32);
        self.entries.push(Entry {
            start: at,
            offset,
            packed: packed as u32,
            sum,
            leaf: self.leaves,
            codec: codec.id,
        });
        self.leaves += 1;
        self.grow(len)
    }

    /// Adds `len` zero bytes. If the file has packed bytes for them, `packed` is not 0.
    ///
    /// # Errors
    /// The image would be too large.
    pub fn push_zero(&mut self, len: u64, (offset, packed): (u64, u32)) -> Result<(), Refused> {
        self.entries.push(Entry {
            start: self.size,
            offset,
            packed,
            sum: 0,
            leaf: 0,
            codec: ZERO,
        });
        self.grow(len)
    }

    /// Adds a block without bytes that still has packed bytes.
    pub fn push_empty(&mut self, codec: &'static Codec, (offset, packed): (u64, u32), sum: u32) {
        self.empty.push(Block {
            start: self.size,
            len: 0,
            place: Place::Packed {
                offset,
                packed,
                codec,
                plain: 0,
                sum: self.packed_sum(sum),
            },
            check: Check::Nothing,
        });
    }

    fn packed_sum(&self, sum: u32) -> Option<PackedSum> {
        match self.sums {
            Sums::Packed => Some(PackedSum::Xxh3(sum)),
            Sums::Padding => Some(PackedSum::Padding(sum as u8)),
            _ => None,
        }
    }

    /// Block `number` among those without bytes.
    pub fn empty(&self, number: usize) -> Option<Block> {
        self.empty.get(number).cloned()
    }

    fn grow(&mut self, len: u64) -> Result<(), Refused> {
        let size = self
            .size
            .checked_add(len)
            .filter(|&size| size <= i64::MAX as u64);
        self.size = size.ok_or("more bytes than an image can have")?;
        Ok(())
    }

    /// The size of the image in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The length of the longest block that is not zero.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The number of blocks that are not zero.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }

    /// The offset of the first block in the file.
    pub fn first_offset(&self) -> Option<u64> {
        self.entries.first().map(|entry| entry.offset)
    }

    /// The block that contains byte `at`, which must be inside the image.
    pub fn block(&self, at: u64) -> Block {
        let number = self.entries.partition_point(|entry| entry.start <= at) - 1;
        let entry = self.entries[number];
        let end = self
            .entries
            .get(number + 1)
            .map_or(self.size, |next| next.start);
        let (offset, packed) = (entry.offset, entry.packed);
        let len = end - entry.start;
        let codec = Codec::of_id(entry.codec);
        let place = match codec {
            None => Place::Zero {
                packed: (packed > 0).then_some((offset, packed)),
            },
            Some(codec) if *codec == codec::NONE => Place::Stored { offset },
            Some(codec) => Place::Packed {
                offset,
                packed,
                codec,
                plain: len as u32,
                sum: self.packed_sum(entry.sum),
            },
        };
        let check = match (self.sums, codec) {
            (_, None) => Check::Zero,
            (Sums::Leaves | Sums::Packed, _) => Check::Leaf(entry.leaf),
            (Sums::Xxh64, _) => Check::Xxh64(entry.sum),
            (Sums::Inside | Sums::Padding, Some(codec)) => match codec.checked {
                Some(kind) => Check::Inside(kind),
                None => Check::Nothing,
            },
        };
        Block {
            start: entry.start,
            len,
            place,
            check,
        }
    }
}

impl Layout for Index {
    fn block(&self, at: u64) -> Result<Block, Error> {
        Ok(Index::block(self, at))
    }

    fn empty(&self, number: usize) -> Option<Block> {
        Index::empty(self, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_of_a_block_finds_it() {
        let mut index = Index::new(Sums::Leaves);
        index.push(&codec::ZSTD, 100, (10, 20), 0, 1000).unwrap();
        index.push_zero(1 << 40, (0, 0)).unwrap();
        index.push(&codec::NONE, 7, (30, 7), 0, 1000).unwrap();
        for (at, start, len) in [
            (0, 0, 100),
            (99, 0, 100),
            (100, 100, 1 << 40),
            (99 + (1 << 40), 100, 1 << 40),
            (100 + (1 << 40), 100 + (1 << 40), 7),
        ] {
            let block = index.block(at);
            assert_eq!((block.start, block.len), (start, len));
        }
        assert_eq!(index.block(index.size() - 1).check, Check::Leaf(1));
    }

    #[test]
    fn blocks_with_an_invalid_size_or_offset_are_refused() {
        let mut index = Index::new(Sums::Inside);
        for (len, place) in [
            (0, (0, 10)),
            (u64::from(MAX_BLOCK) + 1, (0, 10)),
            (100, (0, 0)),
            (100, (0, 5000)),
            (100, (990, 11)),
            (100, (u64::MAX, 10)),
        ] {
            assert!(
                index.push(&codec::ZSTD, len, place, 0, 1000).is_err(),
                "{len} {place:?}"
            );
        }
    }
}
