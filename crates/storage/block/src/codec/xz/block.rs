//! The header of an xz block, and the lengths of its LZMA2 chunks. Nothing is decoded.

use libdeflater::crc32;

use super::number::number;
use crate::codec::CodecError;

/// The largest dictionary that is supported, in bytes: that of level 9.
pub const DICTIONARY: u64 = 64 << 20;

/// Ids of filters: delta, the range of those for machine code, LZMA2.
const DELTA: u64 = 3;
const CODE: std::ops::RangeInclusive<u64> = 4..=11;
const LZMA2: u64 = 0x21;
/// Ids from here on are invalid.
const INVALID_FILTERS: u64 = 1 << 62;
/// The code of the largest dictionary.
const LARGEST: u8 = 40;

const FIELD: CodecError = CodecError::Unsupported("has a header with fields that are not known");
const FILTER: CodecError = CodecError::Unsupported("is filtered in a way that is not read");
const MEMORY: CodecError =
    CodecError::Unsupported("needs a dictionary of more than the 64 MiB that there are");

/// The lengths of a block without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Bytes of the header and of the packed data, without padding.
    pub packed: u64,
    /// Bytes that are decoded.
    pub plain: u64,
}

impl Lengths {
    /// Bytes of padding, up to a multiple of four.
    pub fn padding(self) -> u64 {
        self.packed.next_multiple_of(4) - self.packed
    }
}

/// The lengths of the block that begins with `bytes`.
///
/// # Errors
/// It is no block, is not supported, or its header disagrees.
pub fn lengths(bytes: &[u8]) -> Result<Lengths, CodecError> {
    let header = header(bytes)?;
    let (packed, plain) = chunks(&bytes[header.len..]).ok_or(CodecError::Invalid)?;
    let says = |field: Option<u64>, found| field.is_none_or(|field| field == found);
    match says(header.packed, packed) && says(header.plain, plain) {
        true => Ok(Lengths {
            packed: header.len as u64 + packed,
            plain,
        }),
        false => Err(CodecError::Invalid),
    }
}

/// Checks that the header of the block that begins with `bytes` is supported.
///
/// # Errors
/// As for [`lengths`].
pub fn is_read(bytes: &[u8]) -> Result<(), CodecError> {
    header(bytes).map(|_| ())
}

struct Header {
    len: usize,
    packed: Option<u64>,
    plain: Option<u64>,
}

fn header(bytes: &[u8]) -> Result<Header, CodecError> {
    let cut = CodecError::Invalid;
    let len = (usize::from(*bytes.first().ok_or(cut)?) + 1) * 4;
    // The first byte of an index is zero.
    let bytes = bytes.get(..len).filter(|_| len > 4).ok_or(cut)?;
    let (fields, sum) = bytes.split_last_chunk::<4>().ok_or(cut)?;
    if crc32(fields) != u32::from_le_bytes(*sum) {
        return Err(cut);
    }
    let mut rest = &fields[1..];
    let flags = *rest.split_off_first().ok_or(cut)?;
    if flags & 0x3c != 0 {
        return Err(FIELD);
    }
    let mut size = |flag| match flags & flag {
        0 => Ok(None),
        _ => number(&mut rest).map(Some).ok_or(cut),
    };
    let (packed, plain) = (size(0x40)?, size(0x80)?);
    let last = flags & 3;
    for place in 0..=last {
        let (id, len) = number(&mut rest).zip(number(&mut rest)).ok_or(cut)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let properties = rest.split_off(..len).ok_or(cut)?;
        match (id, properties) {
            (INVALID_FILTERS.., _) => return Err(cut),
            (LZMA2, &[dictionary]) if place == last => largest(dictionary)?,
            (DELTA, [_]) if place < last => {}
            (id, [] | [_, _, _, _]) if CODE.contains(&id) && place < last => {}
            _ => return Err(FILTER),
        }
    }
    match rest.iter().all(|&byte| byte == 0) {
        true => Ok(Header { len, packed, plain }),
        false => Err(FIELD),
    }
}

/// Checks the size of a dictionary: two or three times a power of two.
fn largest(code: u8) -> Result<(), CodecError> {
    if code > LARGEST {
        return Err(FILTER);
    }
    match u64::from(2 | code & 1) << (code / 2 + 11) > DICTIONARY {
        true => Err(MEMORY),
        false => Ok(()),
    }
}

/// How many bytes the LZMA2 chunks take, and how many they decode to; `None` if they do not end.
fn chunks(bytes: &[u8]) -> Option<(u64, u64)> {
    let (mut rest, mut plain) = (bytes, 0);
    loop {
        let control = *rest.split_off_first()?;
        if control == 0 {
            return Some(((bytes.len() - rest.len()) as u64, plain));
        }
        let mut size = || Some(u64::from(u16::from_be_bytes(take(&mut rest)?)) + 1);
        let held = size()?;
        let packed = match control {
            1 | 2 => {
                plain += held;
                held
            }
            0x80.. => {
                plain += held + (u64::from(control & 0x1f) << 16);
                // New properties take a byte.
                size()? + u64::from(control >= 0xc0)
            }
            _ => return None,
        };
        rest = rest.get(packed as usize..)?;
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
