//! The served bytes of an image: all, a range, or a partition.
//!
//! Source: UEFI 2.10, chapter 5: the master boot record and the GUID partition table.

use std::ops::Range;

use super::SessionError;
use crate::decoder::Decoder;
use crate::image::Image;

/// The most logical partitions that are looked for.
const MAX_LOGICAL: u32 = 124;
/// Sizes of sectors, in bytes: a GUID partition table begins with the second sector.
const SECTORS: [u64; 2] = [512, 4096];
/// Types of partitions that hold logical ones.
const EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];

/// Bytes of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteRange {
    /// All.
    #[default]
    Whole,
    /// From byte `offset` on, `length` bytes or all that follow.
    Bytes {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        length: Option<u64>,
    },
    /// A partition, counted from 1. In a master boot record, logical partitions start with 5.
    Partition(u32),
}

impl ByteRange {
    /// The bytes of an image.
    ///
    /// # Errors
    /// They are not in the image, or it has no such partition.
    pub(super) fn of(self, image: &Image) -> Result<Range<u64>, SessionError> {
        let table = Table(image);
        let bytes = match self {
            ByteRange::Whole => return Ok(0..image.size()),
            ByteRange::Bytes { offset, length } => {
                let length = length.unwrap_or(image.size().saturating_sub(offset));
                offset..offset.saturating_add(length)
            }
            ByteRange::Partition(number) => match table.partition(number)? {
                Some(bytes) => bytes,
                None => {
                    let what = format!("there is no partition {number} in MBR or GPT");
                    return Err(table.wrong(what));
                }
            },
        };
        match bytes.start < bytes.end && bytes.end <= image.size() {
            true => Ok(bytes),
            false => {
                let (from, to, size) = (bytes.start, bytes.end, image.size());
                Err(table.wrong(format!("bytes {from} to {to} are not in its {size} bytes")))
            }
        }
    }
}

/// The partition table of an image.
struct Table<'a>(&'a Image);

/// An entry of a boot record, in sectors of 512 bytes.
struct Entry {
    kind: u8,
    start: u64,
    len: u64,
}

impl Table<'_> {
    fn wrong(&self, what: String) -> SessionError {
        let name = self.0.file().name().to_owned();
        SessionError::Range { name, what }
    }

    /// Bytes of the image. Those behind its end are zero.
    fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N], SessionError> {
        let mut bytes = [0; N];
        let there = self.0.size().saturating_sub(at).min(N as u64) as usize;
        let mut decoder = Decoder::new();
        self.0.read_at(&mut decoder, at, &mut bytes[..there])?;
        Ok(bytes)
    }

    fn partition(&self, number: u32) -> Result<Option<Range<u64>>, SessionError> {
        let Some(entries) = self.boot_record(0)? else {
            return Ok(None);
        };
        if entries.iter().any(|entry| entry.kind == 0xee) {
            return self.guid(number);
        }
        match (number, entries.get((number as usize).wrapping_sub(1))) {
            (_, Some(entry)) => Ok(entry.bytes(0)),
            (5.., None) => match entries.iter().find(|entry| entry.is_extended()) {
                Some(extended) => self.logical(number - 5, extended.start),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The four entries of a boot record at a sector, if there is one.
    fn boot_record(&self, sector: u64) -> Result<Option<[Entry; 4]>, SessionError> {
        let bytes: [u8; 512] = self.bytes(sector.saturating_mul(512))?;
        let entry = |number: usize| {
            let entry = &bytes[446 + 16 * number..][..16];
            Entry {
                kind: entry[4],
                start: little(&entry[8..12]),
                len: little(&entry[12..16]),
            }
        };
        let signed = bytes[510..] == [0x55, 0xaa];
        Ok(signed.then(|| [entry(0), entry(1), entry(2), entry(3)]))
    }

    /// A logical partition, counted from 0: each has a boot record that leads to the next.
    fn logical(&self, number: u32, first: u64) -> Result<Option<Range<u64>>, SessionError> {
        let mut at = first;
        for _ in 0..number.min(MAX_LOGICAL) {
            match self.boot_record(at)? {
                Some([_, next, ..]) if next.is_extended() => at = first + next.start,
                _ => return Ok(None),
            }
        }
        match self.boot_record(at)? {
            Some([logical, ..]) if number <= MAX_LOGICAL => Ok(logical.bytes(at)),
            _ => Ok(None),
        }
    }

    /// A partition of a GUID partition table.
    fn guid(&self, number: u32) -> Result<Option<Range<u64>>, SessionError> {
        for sector in SECTORS {
            let header: [u8; 92] = self.bytes(sector)?;
            if !header.starts_with(b"EFI PART") {
                continue;
            }
            let (table, count) = (little(&header[72..80]), little(&header[80..84]));
            let size = little(&header[84..88]);
            if number == 0 || u64::from(number) > count || size < 128 {
                return Ok(None);
            }
            let at = table
                .checked_mul(sector)
                .and_then(|table| table.checked_add(u64::from(number - 1) * size));
            let entry: [u8; 48] = self.bytes(at.unwrap_or(u64::MAX))?;
            let (first, last) = (little(&entry[32..40]), little(&entry[40..48]));
            let used = entry[..16] != [0; 16] && first <= last;
            let start = first.checked_mul(sector);
            let end = last.checked_add(1).and_then(|end| end.checked_mul(sector));
            let bytes = start.zip(end).map(|(start, end)| start..end);
            return Ok(bytes.filter(|_| used));
        }
        Ok(None)
    }
}

impl Entry {
    fn is_extended(&self) -> bool {
        EXTENDED.contains(&self.kind)
    }

    /// Its bytes, if it is in use. It counts from sector `base`.
    fn bytes(&self, base: u64) -> Option<Range<u64>> {
        let from = base + self.start;
        (self.kind != 0 && self.len > 0).then(|| from * 512..(from + self.len) * 512)
    }
}

fn little(bytes: &[u8]) -> u64 {
    let from_end = bytes.iter().rev();
    from_end.fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}
