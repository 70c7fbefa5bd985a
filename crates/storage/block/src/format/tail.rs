//! The last record of evener's containers; see `FORMAT.md`.

use libdeflater::crc32;

use super::Refused;
use super::fields::Fields;
use crate::hash::Hash;
use crate::{MAX_BLOCK, MIN_BLOCK};

/// Bytes of the record.
pub const TAIL: usize = 80;
/// Its magic number.
pub const MAGIC: [u8; 8] = *b"\x89EVNTAIL";
/// The version of an `evb`, and of zstd's format without checksums of packed bytes.
pub const VERSION: u8 = 1;
/// The version of zstd's format with them.
const WITH_SUMS: u8 = 2;
/// log2 of a sector: the smallest read of a block device.
pub const SECTOR_LOG2: u8 = 9;
/// [`Tail::container`] in zstd's seekable format.
pub const IN_SEEKABLE: u8 = 1;
/// [`Tail::container`] in an `evb`.
pub const IN_EVB: u8 = 2;

/// The last record of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of a block, a power of two.
    pub block: u32,
    /// Which container it is in.
    pub container: u8,
    /// Entries of the index, runs of zero blocks included.
    pub entries: u32,
    /// Blocks that are not zero. There is a hash of each.
    pub leaves: u32,
    /// CRC-32 of the index.
    pub index_sum: u32,
    /// Bytes of the image.
    pub size: u64,
    /// The hash over all of it.
    pub root: Hash,
    /// CRC-32 of the bits that mark zero runs; 0 in an `evb`.
    pub bits_sum: u32,
    /// CRC-32 of the checksums of packed bytes, if there are any.
    pub sums_sum: Option<u32>,
}

const CANNOT_BE: &str = "the last record says what cannot be";

impl Tail {
    /// The record as it is written.
    pub fn to_bytes(&self) -> [u8; TAIL] {
        let mut bytes = Vec::with_capacity(TAIL);
        bytes.extend(MAGIC);
        let version = match self.sums_sum {
            Some(_) => WITH_SUMS,
            None => VERSION,
        };
        bytes.extend([
            version,
            self.block.trailing_zeros() as u8,
            SECTOR_LOG2,
            self.container,
        ]);
        bytes.extend(self.entries.to_le_bytes());
        bytes.extend(self.leaves.to_le_bytes());
        bytes.extend(self.index_sum.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.root.0);
        bytes.extend(self.bits_sum.to_le_bytes());
        bytes.extend(self.sums_sum.unwrap_or(0).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(crc32(&bytes).to_le_bytes());
        let mut record = [0; TAIL];
        record.copy_from_slice(&bytes);
        record
    }

    /// Whether the bytes are such a record. It may be damaged in one place.
    pub fn is(bytes: &[u8]) -> bool {
        let Some(record) = bytes.first_chunk::<TAIL>() else {
            return false;
        };
        if record[..8] == MAGIC {
            return true;
        }
        let mut repaired = *record;
        repaired[..8].copy_from_slice(&MAGIC);
        sum_fits(&repaired)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// It is damaged, of a later version, or invalid.
    pub fn parse(bytes: &[u8], container: u8) -> Result<Tail, Refused> {
        let record = bytes.first_chunk::<TAIL>();
        let record = record.ok_or("it ends too early")?;
        if record[..8] != MAGIC || !sum_fits(record) {
            return Err("the checksum of the last record differs".into());
        }
        let mut fields = Fields(&record[8..]);
        let [version, block, sector, within] = fields.bytes();
        let newest = match container {
            IN_SEEKABLE => WITH_SUMS,
            _ => VERSION,
        };
        if version > newest {
            return Err(Refused::newer(version));
        }
        let block = 1u32.checked_shl(block.into()).unwrap_or(0);
        let known = version >= VERSION && sector == SECTOR_LOG2 && within == container;
        if !known || !(MIN_BLOCK..=MAX_BLOCK).contains(&block) {
            return Err(CANNOT_BE.into());
        }
        let tail = Tail {
            block,
            container,
            entries: fields.u32(),
            leaves: fields.u32(),
            index_sum: fields.u32(),
            size: fields.u64(),
            root: Hash(fields.bytes()),
            bits_sum: fields.u32(),
            sums_sum: match (version, fields.u32()) {
                (WITH_SUMS, sum) => Some(sum),
                (_, 0) => None,
                _ => return Err(CANNOT_BE.into()),
            },
        };
        if fields.bytes() != [0; 4] {
            return Err(CANNOT_BE.into());
        }
        if u64::from(tail.entries) > super::MAX_BLOCKS || tail.leaves > tail.entries {
            return Err("it has more blocks than there can be".into());
        }
        Ok(tail)
    }
}

fn sum_fits(record: &[u8; TAIL]) -> bool {
    let (all, sum) = record.split_at(TAIL - 4);
    crc32(all).to_le_bytes() == sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_shows() {
        let tail = Tail {
            block: 1 << 16,
            container: IN_EVB,
            entries: 5,
            leaves: 3,
            index_sum: 7,
            size: 1 << 40,
            root: Hash([9; 32]),
            bits_sum: 0,
            sums_sum: None,
        };
        let bytes = tail.to_bytes();
        assert_eq!(Tail::parse(&bytes, IN_EVB), Ok(tail.clone()));
        assert!(Tail::parse(&bytes, IN_SEEKABLE).is_err());
        for at in 0..TAIL {
            for bit in 0..8 {
                let mut bytes = bytes;
                bytes[at] ^= 1 << bit;
                assert!(Tail::parse(&bytes, IN_EVB).is_err(), "byte {at}");
                assert!(at > 8 || Tail::is(&bytes), "byte {at}");
            }
        }
        for sums_sum in [0, 7] {
            let tail = Tail {
                container: IN_SEEKABLE,
                sums_sum: Some(sums_sum),
                ..tail.clone()
            };
            let bytes = tail.to_bytes();
            assert_eq!(Tail::parse(&bytes, IN_SEEKABLE), Ok(tail.clone()));
            let evb = Tail {
                container: IN_EVB,
                ..tail
            };
            let newer = Err(Refused::newer(WITH_SUMS));
            assert_eq!(Tail::parse(&evb.to_bytes(), IN_EVB), newer);
        }
    }
}
