//! `evb`, evener's container for codecs that have no seekable format of their own; see `FORMAT.md`.

use std::sync::Arc;

use libdeflater::crc32;

use super::fields::Fields;
use super::tail::{IN_EVB, SECTOR_LOG2, TAIL, Tail, VERSION};
use super::{Ends, Format, Leaves, Opened, Refused};
use crate::codec::Codec;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::index::{Index, Sums};
use crate::hash::Hash;

/// `evb` images.
pub static EVB: Format = Format {
    name: "evb",
    about: "evener's container: blocks of any codec and their hashes",
    recognise,
    open,
};

/// The magic number.
pub const MAGIC: [u8; 8] = *b"\x89EVB\r\n\x1a\n";
/// Bytes before the first block.
pub const HEADER: usize = 16;
/// Bytes of an entry of the index.
pub const ENTRY: usize = 8;
/// What stands for the codec of a run of zero blocks.
pub const ZEROS: u8 = 0xff;

/// The bytes before the first block.
pub fn header(block: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8] = VERSION;
    header[9] = block.trailing_zeros() as u8;
    header[10] = SECTOR_LOG2;
    let sum = crc32(&header[..12]);
    header[12..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Recognises either end. An image that lacks one is damaged, not raw.
fn recognise(ends: &Ends) -> bool {
    let tail = ends.tail.last_chunk::<TAIL>();
    ends.head.starts_with(&MAGIC) || tail.is_some_and(|tail| tail[11] == IN_EVB && Tail::is(tail))
}

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let damaged = |what: String| EVB.damaged(file, what);
    let least = (HEADER + TAIL) as u64;
    let Some(before) = file.size().checked_sub(least) else {
        return Err(EVB.cut(file, "it has less than a header and a last record"));
    };
    let tail = file.bytes(file.size() - TAIL as u64, TAIL as u64)?;
    if !Tail::is(&tail) {
        let what = "its last record is not at its end, unless something was added there";
        return Err(EVB.cut(file, what));
    }
    let tail = Tail::parse(&tail, IN_EVB).map_err(|reason| EVB.refused(file, reason))?;
    if file.bytes(0, HEADER as u64)? != header(tail.block) {
        return Err(damaged("its header says what cannot be".to_owned()));
    }
    let hashes = u64::from(tail.leaves) * Hash::LEN as u64;
    let entries = u64::from(tail.entries) * ENTRY as u64;
    let Some(blocks) = before.checked_sub(hashes + entries) else {
        return Err(damaged("its index is longer than the file".to_owned()));
    };
    let end = HEADER as u64 + blocks;
    let bytes = file.bytes(end, entries)?;
    if bytes.len() as u64 != entries || crc32(&bytes) != tail.index_sum {
        return Err(damaged("the checksum of its index differs".to_owned()));
    }
    let index = read(&bytes, &tail, end).map_err(|reason| EVB.refused(file, reason))?;
    Ok(Opened {
        size: tail.size,
        block: tail.block,
        layout: Box::new(index),
        leaves: Some(Leaves {
            root: tail.root,
            offset: end + entries,
            count: tail.leaves,
            block: tail.block,
        }),
        backing: None,
    })
}

/// The blocks of an index; their bytes end at `end`.
fn read(bytes: &[u8], tail: &Tail, end: u64) -> Result<Index, Refused> {
    let mut index = Index::new(Sums::Leaves);
    let mut offset = HEADER as u64;
    for entry in bytes.chunks_exact(ENTRY) {
        let mut fields = Fields(entry);
        let (number, codec, rest) = (fields.u32(), fields.u8(), fields.bytes::<3>());
        if rest != [0; 3] {
            return Err("its index says what cannot be".into());
        }
        let left = tail.size.saturating_sub(index.size());
        if left == 0 {
            return Err("its index goes on after the end of the image".into());
        }
        if codec == ZEROS {
            let len = u64::from(number) * u64::from(tail.block);
            if number == 0 || len.saturating_sub(left) >= tail.block.into() {
                return Err("its index has zero blocks beyond the end of the image".into());
            }
            index.push_zero(len.min(left), (0, 0))?;
        } else {
            let old = |codec: &Codec| *codec == crate::codec::LZ4_BARE;
            let known = Codec::of_id(codec).filter(|c| c.encoder.is_some() || old(c));
            // The checksum of the index is right, so this is not damage.
            let newer = || {
                let what = format!("has blocks of codec {codec}, which a newer evener reads");
                Refused::Unsupported(what)
            };
            let codec = known.ok_or_else(newer)?;
            let (len, packed) = (left.min(tail.block.into()), number.into());
            if *codec == crate::codec::NONE && packed != len {
                return Err("its index has a block of a wrong length".into());
            }
            index.push(codec, len, (offset, packed), 0, end)?;
            offset += u64::from(number);
        }
    }
    if index.size() != tail.size || index.leaves() != tail.leaves || offset != end {
        return Err("its index and its last record do not agree".into());
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_zeros_must_end_with_the_image() {
        let tail = |size| Tail {
            block: 4096,
            container: IN_EVB,
            entries: 1,
            leaves: 0,
            index_sum: 0,
            size,
            root: Hash([0; Hash::LEN]),
            bits_sum: 0,
            sums_sum: None,
        };
        let three = [3, 0, 0, 0, ZEROS, 0, 0, 0];
        for (size, fits) in [
            (0, false),
            (2 * 4096, false),
            (2 * 4096 + 1, true),
            (3 * 4096, true),
            (3 * 4096 + 1, false),
            (u64::MAX, false),
        ] {
            let index = read(&three, &tail(size), HEADER as u64);
            assert_eq!(index.is_ok(), fits, "{size}");
        }
    }
}
