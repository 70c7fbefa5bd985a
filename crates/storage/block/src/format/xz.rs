//! xz files of several blocks, as `xz --block-size` and `xz -T` write them,
//! <https://tukaani.org/xz/xz-file-format.txt>: the index at the end of each stream says how long its blocks are.

use std::sync::Arc;

use libdeflater::crc32;

use super::fields::Fields;
use super::{Format, MAX_BLOCKS, Opened};
use crate::MAX_BLOCK;
use crate::codec::xz::{is_read, records};
use crate::codec::{self, Codec, CodecError};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::index::{Index, Sums};

/// xz files of several blocks.
pub static XZ: Format = Format {
    name: "xz",
    about: "xz with blocks, as made by xz --block-size=64KiB",
    recognise: |ends| ends.head.starts_with(&HEADER_MAGIC) || is_footer(&ends.tail),
    open,
};

const HEADER_MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
const FOOTER_MAGIC: [u8; 2] = *b"YZ";
/// Bytes of the header and of the footer of a stream.
const END: u64 = 12;
/// The most streams of a file.
const MAX_STREAMS: usize = 1024;
/// The most bytes of padding between them, in all.
const MAX_PADDING: u64 = 64 << 10;

/// Checks the checksum too, since the magic number of two bytes could end a raw image.
fn is_footer(tail: &[u8]) -> bool {
    let Some([sum @ .., _, _, _, _, _, _, _, _]) = tail.last_chunk::<{ END as usize }>() else {
        return false;
    };
    let covered = &tail[tail.len() - 8..tail.len() - 2];
    tail.ends_with(&FOOTER_MAGIC) && crc32(covered).to_le_bytes() == *sum
}

/// A stream: where its blocks begin, their codec, and the packed and plain length of each.
struct Stream {
    start: u64,
    codec: &'static Codec,
    blocks: Vec<(u64, u64)>,
}

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let mut index = Index::new(Sums::Padding);
    for stream in streams(file)?.iter().rev() {
        add_blocks(file, stream, &mut index)?;
    }
    Ok(Opened {
        size: index.size(),
        block: index.longest().max(1),
        layout: Box::new(index),
        leaves: None,
        backing: None,
    })
}

/// The streams of a file from the last to the first, since only the end of a stream says how long it is.
fn streams(file: &ImageFile) -> Result<Vec<Stream>, Error> {
    let mut streams = Vec::new();
    let mut end = file.size();
    let mut blocks = 0;
    let mut padding = 0;
    while end > 0 {
        // Between streams there may be zeros, in multiples of four bytes.
        let mut last = file.bytes(end.saturating_sub(4), 4)?;
        while last == [0; 4] && end > 4 && padding < MAX_PADDING {
            padding += 4;
            end -= 4;
            last = file.bytes(end - 4, 4)?;
        }
        let stream = stream(file, end)?;
        end = stream.start - END;
        blocks += stream.blocks.len() as u64;
        streams.push(stream);
        if streams.len() > MAX_STREAMS || blocks > MAX_BLOCKS {
            let what = "has too many streams or blocks; pack it again with larger blocks";
            return Err(XZ.unsupported(file, what));
        }
    }
    Ok(streams)
}

fn add_blocks(file: &ImageFile, stream: &Stream, index: &mut Index) -> Result<(), Error> {
    let mut offset = stream.start;
    for &(packed, plain) in &stream.blocks {
        if plain > MAX_BLOCK.into() {
            let most = MAX_BLOCK >> 20;
            let what = format!(
                "has a block of {plain} bytes and any read in it would decode all of that; up to {most} MiB are \
                 read; pack it again with xz --block-size=64KiB or evener image pack"
            );
            return Err(XZ.unsupported(file, what));
        }
        // The lengths in the index are without the padding, which lies before the checksum.
        let padded = packed.next_multiple_of(4);
        let padding = (padded - packed) as u32;
        match (plain, u32::try_from(padded)) {
            (0, Ok(padded)) => index.push_empty(stream.codec, (offset, padded), padding),
            _ => index
                .push(stream.codec, plain, (offset, padded), padding, file.size())
                .map_err(|reason| XZ.refused(file, reason))?,
        }
        offset += padded;
    }
    Ok(())
}

/// The stream that ends at byte `end`.
fn stream(file: &ImageFile, end: u64) -> Result<Stream, Error> {
    let damaged = |what: &str| XZ.damaged(file, what);
    let cut = || {
        XZ.cut(
            file,
            "it does not end as a stream does, unless something was added",
        )
    };
    let foot = end.checked_sub(END).ok_or_else(cut)?;
    let footer = file.bytes(foot, END)?;
    let mut fields = Fields(&footer);
    let (sum, backward, flags) = (fields.u32(), fields.u32(), fields.bytes::<2>());
    if fields.0 != FOOTER_MAGIC || crc32(&footer[4..10]) != sum {
        return Err(cut());
    }
    let length = (u64::from(backward) + 1) * 4;
    // A record of the index is at least two bytes.
    if length > 20 * MAX_BLOCKS {
        return Err(damaged("its index is too long"));
    }
    let at = foot.checked_sub(length).ok_or_else(cut)?;
    let index = file.bytes(at, length)?;
    let blocks = records(&index).ok_or_else(|| damaged("its index is damaged"))?;
    let total = blocks.iter().try_fold(0u64, |total, &(packed, _)| {
        total.checked_add(packed.checked_next_multiple_of(4)?)
    });
    let start = total
        .and_then(|total| at.checked_sub(total))
        .filter(|&start| start >= END);
    let start = start.ok_or_else(|| damaged("its index has more blocks than the file"))?;
    let header = file.bytes(start - END, END)?;
    let mut fields = Fields(&header);
    let fits = fields.bytes() == HEADER_MAGIC && fields.bytes() == flags;
    if !fits || crc32(&flags) != fields.u32() {
        return Err(damaged("its header and its end do not agree"));
    }
    let codec = codec_of(file, flags)?;
    // The blocks of a stream usually have the same filters, so the first is checked.
    let first = file.bytes(start, 1024)?;
    if let (false, Err(CodecError::Unsupported(what))) = (blocks.is_empty(), is_read(&first)) {
        let what = format!("has a block that {what}; unpack it with xz -d");
        return Err(XZ.unsupported(file, what));
    }
    Ok(Stream {
        start,
        codec,
        blocks,
    })
}

/// The codec for blocks of a stream with these flags.
fn codec_of(file: &ImageFile, flags: [u8; 2]) -> Result<&'static Codec, Error> {
    match flags {
        [0, 0] => Ok(&codec::XZ_BLOCK),
        [0, 1] => Ok(&codec::BLOCK_CRC32),
        [0, 4] => Ok(&codec::BLOCK_CRC64),
        [0, 10] => Ok(&codec::BLOCK_SHA256),
        _ => Err(XZ.unsupported(file, "has a checksum of a kind that is not read")),
    }
}
