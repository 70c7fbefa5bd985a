//! zstd's seekable format,
//! <https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md>: frames one
//! after the other and a table of their lengths in a skippable frame at the end. Images that evener packs also have
//! hashes of their blocks, in a skippable frame before the table; see `FORMAT.md`.

use std::sync::Arc;

use libdeflater::crc32;

use super::fields::Fields;
use super::tail::{IN_SEEKABLE, TAIL, Tail};
use super::{Ends, Format, Leaves, MAX_BLOCKS, Opened, Refused};
use crate::MAX_BLOCK;
use crate::codec::ZSTD;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::index::{Index, Sums, max_packed};
use crate::hash::Hash;

/// Images in zstd's seekable format.
pub static SEEKABLE: Format = Format {
    name: "zstd",
    about: "zstd's seekable format, which any zstd unpacks",
    recognise,
    open,
};

/// The magic number of a frame.
const FRAME: u32 = 0xFD2F_B528;
/// The magic number of the skippable frame with the table.
pub const TABLE: u32 = 0x184D_2A5E;
/// The magic number of the skippable frame with evener's hashes.
pub const HASHES: u32 = 0x184D_2A5D;
/// The magic number at the end of the file.
pub const MAGIC: u32 = 0x8F92_EAB1;
/// Bytes at the end of the table.
pub const FOOTER: usize = 9;
/// Bytes of a skippable frame before its content.
pub const SKIPPABLE: usize = 8;
/// A flag of the footer: entries have checksums.
pub const CHECKSUMS: u8 = 0x80;
/// Bytes of an entry with a checksum.
pub const ENTRY: usize = 12;
/// Bytes of a checksum of packed bytes.
const SUM: usize = 4;
/// The low 32 bits of XXH64 of nothing.
pub const SUM_OF_NOTHING: u32 = 0x51D8_E999;

/// The length of the skippable frame that begins so, with its header; `None` if this is none.
pub fn skippable(front: &[u8]) -> Option<u32> {
    let mut fields = Fields(front.first_chunk::<SKIPPABLE>()?);
    let (magic, content) = (fields.u32(), fields.u32());
    match magic & !0xf == HASHES & !0xf {
        true => content.checked_add(SKIPPABLE as u32),
        false => None,
    }
}

fn recognise(ends: &Ends) -> bool {
    let frame = FRAME.to_le_bytes();
    let behind = |skipped: &Vec<u8>| skipped.is_empty() || skipped.starts_with(&frame);
    ends.head.starts_with(&frame)
        || ends.tail.ends_with(&MAGIC.to_le_bytes())
        || ends.skipped.as_ref().is_some_and(behind)
}

/// The most skippable frames at the beginning of a file that are skipped.
const MAX_SKIPPED: usize = 64;

/// The first bytes behind the skippable frames that a file begins with; `None` if it begins with something else.
/// `bytes` reads from the file.
pub(super) fn skipped(
    bytes: impl Fn(u64, u64) -> Result<Vec<u8>, Error>,
) -> Result<Option<Vec<u8>>, Error> {
    let (mut at, mut behind) = (0, None);
    for _ in 0..MAX_SKIPPED {
        let head = bytes(at, SKIPPABLE as u64)?;
        let Some(len) = skippable(&head) else {
            return Ok(behind.map(|()| head));
        };
        at += u64::from(len);
        behind = Some(());
    }
    Ok(None)
}

/// The seek table as it lies in the file.
struct Table {
    /// Where its skippable frame begins, which is where the frame before it ends.
    start: u64,
    /// That frame, with its header.
    frame: Vec<u8>,
    /// Bytes of an entry.
    entry: usize,
}

impl Table {
    /// The length, the length of the content and the checksum of each frame.
    fn entries(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let entries = &self.frame[SKIPPABLE..self.frame.len() - FOOTER];
        entries.chunks_exact(self.entry).map(|entry| {
            let mut fields = Fields(entry);
            (fields.u32(), fields.u32(), fields.u32())
        })
    }
}

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let refused = |reason: Refused| SEEKABLE.refused(file, reason);
    let table = table(file)?;
    let (index, leaves) = match metadata(file, &table)? {
        Some(Metadata {
            tail,
            zeros,
            hashes,
            sums,
        }) => {
            let index = read_packed(&table, &tail, &zeros, sums).map_err(refused)?;
            let leaves = Leaves {
                root: tail.root,
                offset: hashes,
                count: tail.leaves,
                block: tail.block,
            };
            (index, Some(leaves))
        }
        None => (read(&table).map_err(refused)?, None),
    };
    // Skippable frames before it are in the table too, without content.
    if let Some(first) = index.first_offset()
        && file.bytes(first, 4)?[..] != FRAME.to_le_bytes()
    {
        return Err(SEEKABLE.damaged(file, "its first frame is none"));
    }
    let block = leaves
        .as_ref()
        .map_or(index.longest(), |leaves| leaves.block);
    Ok(Opened {
        size: index.size(),
        block: block.max(1),
        layout: Box::new(index),
        leaves,
        backing: None,
    })
}

fn table(file: &ImageFile) -> Result<Table, Error> {
    let damaged = |what: &str| SEEKABLE.damaged(file, what);
    let size = file.size();
    let footer = file.bytes(size.saturating_sub(FOOTER as u64), FOOTER as u64)?;
    let mut fields = Fields(&footer);
    let (frames, flags, magic) = (u64::from(fields.u32()), fields.u8(), fields.u32());
    if footer.len() < FOOTER || magic != MAGIC {
        let what = "was cut off, or has no seek table and can only be unpacked from front to back; get the file \
                    again, or if it is whole, evener image pack makes an image of it";
        return Err(SEEKABLE.unsupported(file, what));
    }
    // Bits that are reserved for later versions.
    if flags & 0x7c != 0 {
        let what = "has a seek table of a later kind; pack it again with evener image pack";
        return Err(SEEKABLE.unsupported(file, what));
    }
    let entry = if flags & CHECKSUMS != 0 {
        ENTRY
    } else {
        ENTRY - 4
    };
    let content = frames * entry as u64 + FOOTER as u64;
    let Some(start) = size.checked_sub(content + SKIPPABLE as u64) else {
        return Err(damaged("its seek table is longer than the file"));
    };
    // The frame with hashes is not counted.
    if frames > MAX_BLOCKS + 1 {
        let what =
            format!("has {frames} frames; up to {MAX_BLOCKS} are read; choose larger blocks");
        return Err(SEEKABLE.unsupported(file, what));
    }
    let frame = file.bytes(start, size - start)?;
    let mut fields = Fields(&frame);
    if fields.u32() != TABLE
        || u64::from(fields.u32()) != content
        || frame.len() as u64 != size - start
    {
        return Err(damaged("its seek table does not begin where it should"));
    }
    Ok(Table {
        start,
        frame,
        entry,
    })
}

/// The index of an image that another program packed: each frame is a block.
fn read(table: &Table) -> Result<Index, Refused> {
    let sums = if table.entry == ENTRY {
        Sums::Xxh64
    } else {
        Sums::Inside
    };
    let mut index = Index::new(sums);
    let mut offset = 0;
    for (packed, len, sum) in table.entries() {
        match len {
            0 => index.push_empty(&ZSTD, (offset, packed), 0),
            _ => index.push(&ZSTD, len.into(), (offset, packed.into()), sum, table.start)?,
        }
        offset += u64::from(packed);
    }
    ends_at_table(offset, table)?;
    Ok(index)
}

fn ends_at_table(offset: u64, table: &Table) -> Result<(), Refused> {
    match offset == table.start {
        true => Ok(()),
        false => Err("its frames do not end where its seek table begins".into()),
    }
}

/// What evener writes beside the frames.
struct Metadata {
    tail: Tail,
    /// A bit for each frame that is zero.
    zeros: Vec<u8>,
    /// Where the hashes of blocks lie in the file.
    hashes: u64,
    /// Checksums of packed bytes, 4 bytes each.
    sums: Option<Vec<u8>>,
}

fn metadata(file: &ImageFile, table: &Table) -> Result<Option<Metadata>, Error> {
    let Some((packed, plain, _)) = table.entries().last() else {
        return Ok(None);
    };
    let Some(at) = table.start.checked_sub(packed.into()) else {
        return Err(SEEKABLE.damaged(file, "a frame lies in front of the file"));
    };
    let front = file.bytes(at, (SKIPPABLE + TAIL) as u64)?;
    let Some((head, record)) = front.split_at_checked(SKIPPABLE) else {
        return Ok(None);
    };
    if !Tail::is(record) {
        return Ok(None);
    }
    let tail = Tail::parse(record, IN_SEEKABLE);
    let tail = tail.map_err(|reason| SEEKABLE.refused(file, reason))?;
    let lengths = Lengths::of(&tail);
    let mut fields = Fields(head);
    let fits = plain == 0
        && fields.u32() == HASHES
        && u64::from(fields.u32()) == lengths.content()
        && u64::from(packed) == lengths.content() + SKIPPABLE as u64;
    if !fits || crc32(&table.frame) != tail.index_sum {
        let what = "its seek table and its hashes do not agree";
        return Err(SEEKABLE.damaged(file, what));
    }
    read_metadata(file, at + (SKIPPABLE + TAIL) as u64, tail, &lengths).map(Some)
}

/// Bytes of the parts of the frame with hashes, after the record.
struct Lengths {
    bits: u64,
    hashes: u64,
    sums: u64,
}

impl Lengths {
    fn of(tail: &Tail) -> Lengths {
        let leaves = u64::from(tail.leaves);
        Lengths {
            bits: u64::from(tail.entries).div_ceil(8),
            hashes: leaves * Hash::LEN as u64,
            sums: match tail.sums_sum {
                Some(_) => leaves * SUM as u64,
                None => 0,
            },
        }
    }

    /// Bytes of the content of the frame.
    fn content(&self) -> u64 {
        TAIL as u64 + self.bits + self.hashes + self.sums
    }
}

/// Reads what follows the record in the frame with hashes, from byte `offset` on.
fn read_metadata(
    file: &ImageFile,
    offset: u64,
    tail: Tail,
    lengths: &Lengths,
) -> Result<Metadata, Error> {
    let zeros = file.bytes(offset, lengths.bits)?;
    if crc32(&zeros) != tail.bits_sum {
        let what = "the checksum of its zero blocks differs";
        return Err(SEEKABLE.damaged(file, what));
    }
    let sums = file.bytes(offset + lengths.bits + lengths.hashes, lengths.sums)?;
    if tail.sums_sum.is_some_and(|sum| crc32(&sums) != sum) {
        let what = "the checksum of its sums of packed bytes differs";
        return Err(SEEKABLE.damaged(file, what));
    }
    Ok(Metadata {
        sums: tail.sums_sum.map(|_| sums),
        tail,
        zeros,
        hashes: offset + lengths.bits,
    })
}

/// The index of an image that evener packed: each frame is a block, or a run of zero blocks.
fn read_packed(
    table: &Table,
    tail: &Tail,
    zeros: &[u8],
    sums: Option<Vec<u8>>,
) -> Result<Index, Refused> {
    let wrong = || Refused::from("its seek table and its hashes do not agree");
    if (table.frame.len() - SKIPPABLE - FOOTER) / table.entry != tail.entries as usize + 1 {
        return Err(wrong());
    }
    let mut index = Index::new(match sums {
        Some(_) => Sums::Packed,
        None => Sums::Leaves,
    });
    let sums = sums.unwrap_or_default();
    let mut sums = Fields(&sums);
    let mut offset = 0;
    let frames = table.entries().take(tail.entries as usize).enumerate();
    for (number, (packed, len, _)) in frames {
        let left = tail.size.saturating_sub(index.size());
        let place = (offset, u64::from(packed));
        let len = u64::from(len);
        let ends = len == left;
        if zeros[number / 8] >> (number % 8) & 1 == 1 {
            let whole = len.is_multiple_of(tail.block.into());
            let fits = len > 0 && len <= MAX_BLOCK.into() && len <= left && (whole || ends);
            if !fits || place.1 > max_packed(len) {
                return Err(wrong());
            }
            index.push_zero(len, (offset, packed))?;
        } else {
            if len != left.min(tail.block.into()) {
                return Err(wrong());
            }
            index.push(&ZSTD, len, place, sums.u32(), table.start)?;
        }
        offset += u64::from(packed);
    }
    let last = table.entries().last().map_or(0, |(packed, ..)| packed);
    ends_at_table(offset + u64::from(last), table)?;
    match index.size() == tail.size && index.leaves() == tail.leaves {
        true => Ok(index),
        false => Err(wrong()),
    }
}
