//! The tables of a qcow2 image and their entries.

use std::sync::Arc;

use super::header::Header;
use crate::block::Place;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::fields::Fields;
use crate::format::types::{Format, MAX_BLOCKS};

/// Where a table or a cluster lies: bits 9 to 55.
pub(super) const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// No other entry refers to the cluster, so that it can be written in place.
pub(super) const COPIED: u64 = 1 << 63;
pub(super) const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zero, whatever its bytes are.
pub(super) const ZERO: u64 = 1;

/// The L2 tables in the order of the L1 table; `None` where there is none.
pub(super) type Tables = Vec<Option<Box<[u64]>>>;

pub(super) fn read_tables(
    format: &Format,
    file: &ImageFile,
    header: &Header,
) -> Result<Tables, Error> {
    let damaged = |what: &str| format.damaged(file, what);
    let (at, bytes) = (header.l1_at, header.l1_needed * 8);
    let cluster = header.cluster();
    let l1 = file.bytes(at, bytes)?;
    if l1.len() as u64 != bytes {
        let what = "its table of tables lies behind the end of the file";
        return Err(format.cut(file, what));
    }
    let l1: Vec<u64> = words(&l1).map(|entry| entry & OFFSET).collect();
    if l1.iter().any(|&at| !header.aligned(at)) {
        return Err(damaged(
            "one of its tables does not begin where a cluster does",
        ));
    }
    let tables = l1.iter().copied().filter(|&at| at != 0);
    let mut used: Vec<(u64, u64)> = tables.map(|at| (at, cluster)).collect();
    if used.len() as u64 * cluster / 8 > MAX_BLOCKS * 4 {
        return Err(format.unsupported(file, "has too many clusters; use qemu-img convert"));
    }
    used.extend([(0, cluster), (at, bytes)]);
    used.sort_unstable();
    // Tables do not overlap, so they take no more memory than the file has bytes.
    if used
        .windows(2)
        .any(|pair| pair[1].0 - pair[0].0 < pair[0].1)
    {
        return Err(damaged("its tables overlap"));
    }
    let table = |&at: &u64| {
        if at == 0 {
            return Ok(None);
        }
        let bytes = file.bytes(at, cluster)?;
        if bytes.len() as u64 != cluster {
            let what = format!("its table at byte {at} lies behind the end of the file");
            return Err(format.cut(file, what));
        }
        Ok(Some(words(&bytes).collect()))
    };
    l1.iter().map(table).collect()
}

/// The entries of a table.
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|entry| Fields(entry).be64())
}

/// Where the packed bytes of an entry of an L2 table begin, and where their last sector ends.
pub(super) fn packed_range(header: &Header, entry: u64) -> (u64, u64) {
    // The low bits are the offset. The others count the sectors after the first.
    let bits = 62 - (header.cluster_bits - 8);
    let offset = entry & ((1 << bits) - 1);
    let sectors = (entry & (COMPRESSED - 1)) >> bits;
    (offset, (offset / 512 + sectors + 1) * 512)
}

pub(super) struct Qcow2 {
    pub format: &'static Format,
    pub file: Arc<ImageFile>,
    pub header: Header,
    pub tables: Tables,
}

impl Qcow2 {
    fn damaged(&self, at: u64, what: &str) -> Error {
        self.format
            .damaged(&self.file, format!("the cluster at byte {at} {what}"))
    }

    pub fn place(&self, start: u64, entry: u64) -> Result<Place, Error> {
        if entry & COMPRESSED != 0 {
            let (offset, end) = packed_range(&self.header, entry);
            // The last sector of a file may be shorter. If bytes are missing, decoding fails.
            let there = end.min(self.file.size());
            let packed = if offset < there { there } else { end } - offset;
            return Ok(Place::Packed {
                offset,
                packed: packed as u32,
                codec: self.header.codec,
                plain: self.header.cluster() as u32,
                sum: None,
            });
        }
        let offset = entry & OFFSET;
        if !self.header.aligned(offset) {
            return Err(self.damaged(start, "does not begin where one of the file does"));
        }
        let zero = entry & ZERO != 0;
        if zero && self.header.version < 3 {
            return Err(self.damaged(start, "is marked as zero, which version 2 does not know"));
        }
        if zero || offset == 0 {
            return Ok(Place::Zero { packed: None });
        }
        Ok(Place::Stored { offset })
    }
}
