//! CLOOP, Klaus Knopper's compressed loop device, V2.0 and V4.0 (`cloop.h` of its kernel module): a header of 128 bytes
//! of shell script, size and number of blocks, offsets. All numbers are big-endian. V4.0 keeps the codec of a block in
//! the four highest bits of its offset, and its header may lie at the end, behind the offsets.

use std::sync::Arc;

use super::fields::Fields;
use super::{Format, MAX_BLOCKS, Opened, Refused};
use crate::codec::{self, Codec};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::index::{Index, Sums};
use crate::{MAX_BLOCK, MIN_BLOCK};

/// CLOOP images.
pub static CLOOP: Format = Format {
    name: "cloop",
    about: "compressed loop, V2.0 and V4.0",
    recognise: |ends| {
        let last = ends.tail.last_chunk::<{ HEADER as usize }>();
        is_script(&ends.head) || last.is_some_and(|last| version(last) == Some(4))
    },
    open,
};

/// Bytes of the script, and of all of the header.
const SCRIPT: usize = 128;
const HEADER: u64 = SCRIPT as u64 + 8;
/// Where the version stands in it.
const VERSION: usize = 11;

fn is_script(head: &[u8]) -> bool {
    let known = |text: &[u8]| text == b"V2.0" || text == b"V4.0";
    head.starts_with(b"#!/bin/sh\n#V") || head.get(VERSION..VERSION + 4).is_some_and(known)
}

fn version(head: &[u8]) -> Option<u8> {
    match head.get(VERSION..VERSION + 4)? {
        b"V2.0" => Some(2),
        b"V4.0" => Some(4),
        _ => None,
    }
}

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let mut head = file.bytes(0, HEADER)?;
    let first = is_script(&head);
    if !first {
        head = file.bytes(file.size().saturating_sub(HEADER), HEADER)?;
    }
    let Some(version) = version(&head) else {
        let what = "is of a version other than V2.0 and V4.0; unpack it with extract_compressed_fs";
        return Err(CLOOP.unsupported(file, what));
    };
    if (head.len() as u64) < HEADER {
        return Err(CLOOP.cut(file, "its header is not whole"));
    }
    let mut fields = Fields(&head[SCRIPT..]);
    let (block, count) = (fields.be32(), u64::from(fields.be32()));
    if !block.is_multiple_of(512) || !(MIN_BLOCK..=MAX_BLOCK).contains(&block) {
        let most = MAX_BLOCK >> 20;
        let what =
            format!("has blocks of {block} bytes; multiples of 512 up to {most} MiB are read");
        return Err(CLOOP.unsupported(file, what));
    }
    // The last offset is the end of the last block.
    let table = (count + 1) * 8;
    let Some(room) = file.size().checked_sub(HEADER + table) else {
        let what = format!("it has no room for its index of {count} blocks");
        return Err(CLOOP.cut(file, what));
    };
    if count > MAX_BLOCKS {
        let what = format!("has {count} blocks; up to {MAX_BLOCKS} are read");
        return Err(CLOOP.unsupported(file, what));
    }
    let (at, blocks) = match first {
        true => (HEADER, HEADER + table..file.size()),
        false => (room, 0..room),
    };
    let offsets = file.bytes(at, table)?;
    let index = read(&offsets, version, block, blocks);
    let index = index.map_err(|reason| CLOOP.refused(file, reason))?;
    Ok(Opened {
        size: index.size(),
        block,
        layout: Box::new(index),
        leaves: None,
        backing: None,
    })
}

fn read(
    offsets: &[u8],
    version: u8,
    block: u32,
    blocks: std::ops::Range<u64>,
) -> Result<Index, Refused> {
    let mut index = Index::new(Sums::Inside);
    let all: Vec<u64> = offsets
        .chunks_exact(8)
        .map(|bytes| Fields(bytes).be64())
        .collect();
    let split = |word: u64| match version {
        2 => (0, word),
        _ => (word >> 60, word << 4 >> 4),
    };
    for pair in all.windows(2) {
        let ((flags, from), (_, to)) = (split(pair[0]), split(pair[1]));
        let codec: &'static Codec = match flags {
            0 => &codec::ZLIB,
            1 => &codec::NONE,
            2 => &codec::XZ,
            3 => &codec::LZ4_BARE,
            4 => &codec::LZO,
            other => {
                return Err(format!("its index names codec {other}, which does not exist").into());
            }
        };
        let packed = to.checked_sub(from).filter(|_| from >= blocks.start);
        let at = index.size();
        let packed = packed.ok_or_else(|| format!("its blocks overlap at byte {at}"))?;
        if *codec == codec::NONE && packed != u64::from(block) {
            return Err(format!("the block at byte {at} has {packed} bytes").into());
        }
        index.push(codec, block.into(), (from, packed), 0, blocks.end)?;
    }
    Ok(index)
}
