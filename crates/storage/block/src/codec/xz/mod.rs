//! xz, <https://tukaani.org/xz/xz-file-format.txt>; only read.
//!
//! A block of an `.xz` file is decoded as a file of one block: header, index and footer are put around it, so that the
//! library compares the checksum as in a file. The library does not compare the lengths in headers and index with what
//! it decodes, so this is done here before.

mod block;
mod number;

use std::cmp::Ordering;
use std::io::{Cursor, ErrorKind, Read};

use libdeflater::crc32;
use lzma_rust2::XzReader;

use super::{Codec, CodecError, Decode};

/// A whole file.
pub static XZ: Codec = entry(6, "xz", None);
/// A block of a file without checksums.
pub static BLOCK: Codec = entry(8, "xz-block", Some(0));
/// A block of a file with CRC-32.
pub static BLOCK_CRC32: Codec = entry(9, "xz-block-crc32", Some(1));
/// A block of a file with CRC-64.
pub static BLOCK_CRC64: Codec = entry(10, "xz-block-crc64", Some(4));
/// A block of a file with SHA-256.
pub static BLOCK_SHA256: Codec = entry(11, "xz-block-sha256", Some(10));

pub use block::{is_read, lengths};
pub use number::records;

/// Memory for one block, in KiB: the largest dictionary and some for the decoder.
const MEMORY: u32 = (block::DICTIONARY >> 10) as u32 + (2 << 10);

const fn entry(id: u8, name: &'static str, check: Option<u8>) -> Codec {
    Codec {
        id,
        name,
        about: "xz",
        levels: None,
        checked: match check {
            None => Some("checksum"),
            Some(0) => None,
            Some(1) => Some("CRC-32"),
            Some(4) => Some("CRC-64"),
            Some(_) => Some("SHA-256"),
        },
        bare: None,
        prefix: false,
        weight: 1500.0,
        encoder: None,
        decoder: match check {
            None => || Box::new(Xz(None)),
            Some(0) => || Box::new(Xz(Some(0))),
            Some(1) => || Box::new(Xz(Some(1))),
            Some(4) => || Box::new(Xz(Some(4))),
            Some(_) => || Box::new(Xz(Some(10))),
        },
    }
}

/// Decodes a file, or blocks with this kind of checksum.
struct Xz(Option<u8>);

impl Decode for Xz {
    fn decode(&mut self, packed: &[u8], plain: &mut [u8]) -> Result<(), CodecError> {
        let Some(check) = self.0 else {
            stream(packed)?;
            return read(packed, plain);
        };
        let found = lengths(packed)?;
        let wanted = plain.len() as u64;
        match found.plain.cmp(&wanted) {
            Ordering::Less => return Err(CodecError::TooShort),
            Ordering::Greater => return Err(CodecError::TooLong),
            Ordering::Equal => {}
        }
        let all = found.packed + found.padding() + check_len(check).unwrap_or(0);
        if all != packed.len() as u64 {
            return Err(CodecError::Invalid);
        }
        let header = header(check);
        let tail = tail(check, all, wanted);
        read(Cursor::new(header).chain(packed).chain(&tail[..]), plain)
    }
}

/// Bytes of a checksum, by its number in a header.
fn check_len(check: u8) -> Option<u64> {
    match check {
        0 => Some(0),
        1 => Some(4),
        4 => Some(8),
        10 => Some(32),
        _ => None,
    }
}

/// Checks that the index of a file of one stream agrees with its blocks.
fn stream(packed: &[u8]) -> Result<(), CodecError> {
    let damaged = CodecError::Invalid;
    let check = *packed.get(7).ok_or(damaged)?;
    if !packed.starts_with(&header(check)) {
        return Err(damaged);
    }
    let sum = check_len(check);
    let sum = sum.ok_or(CodecError::Unsupported(
        "has a checksum of a kind that is not read",
    ))?;
    let mut rest = &packed[END..];
    let mut blocks = Vec::new();
    while rest.first().is_some_and(|&len| len != 0) {
        let block = lengths(rest)?;
        blocks.push((block.packed + sum, block.plain));
        let all = block.packed + block.padding() + sum;
        rest = rest.get(all as usize..).ok_or(damaged)?;
    }
    let index = rest.get(..rest.len().saturating_sub(END));
    match index.and_then(records) == Some(blocks) {
        true => Ok(()),
        false => Err(damaged),
    }
}

fn read(packed: impl Read, plain: &mut [u8]) -> Result<(), CodecError> {
    let mut reader = XzReader::new_mem_limit(packed, false, MEMORY);
    reader
        .read_exact(plain)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => CodecError::TooShort,
            _ => CodecError::Invalid,
        })?;
    // The library compares checksum and index at the end.
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(CodecError::TooLong),
        Err(_) => Err(CodecError::Invalid),
    }
}

/// Bytes of the header and of the footer of a stream.
const END: usize = 12;

/// The header of a stream.
fn header(check: u8) -> [u8; END] {
    let mut header = *b"\xfd7zXZ\0\0\0\0\0\0\0";
    header[7] = check;
    let sum = crc32(&header[6..8]);
    header[8..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Index and footer of a stream of one block.
fn tail(check: u8, packed: u64, plain: u64) -> Vec<u8> {
    let mut tail = vec![0, 1];
    for mut number in [packed, plain] {
        while number >= 0x80 {
            tail.push(number as u8 | 0x80);
            number >>= 7;
        }
        tail.push(number as u8);
    }
    tail.resize(tail.len().next_multiple_of(4), 0);
    let sum = crc32(&tail);
    tail.extend(sum.to_le_bytes());
    let backward = (tail.len() / 4 - 1) as u32;
    let mut footer = [0; 6];
    footer[..4].copy_from_slice(&backward.to_le_bytes());
    footer[5] = check;
    tail.extend(crc32(&footer).to_le_bytes());
    tail.extend(footer);
    tail.extend(b"YZ");
    tail
}
