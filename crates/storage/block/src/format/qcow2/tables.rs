//! The tables of a qcow2 image and their entries.

use std::sync::Arc;

use super::header::Header;
use crate::block::Place;
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::fields::Fields;
use crate::format::types::{Format, MAX_BLOCKS};
use crate::image::Image;

/// Where a table or a cluster lies: bits 9 to 55.
pub(super) const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// No other entry refers to the cluster, so that it can be written in place.
pub(super) const COPIED: u64 = 1 << 63;
pub(super) const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zero, whatever its bytes are.
pub(super) const ZERO: u64 = 1;

/// Subclusters of a cluster.
const SUBCLUSTERS: u64 = 32;

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
        let what = "its table of tables lies beyond the end of the file";
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
            let what = format!("its table at byte {at} lies beyond the end of the file");
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
    pub backing: Option<Arc<Image>>,
}

impl Qcow2 {
    fn damaged(&self, at: u64, what: &str) -> Error {
        self.format
            .damaged(&self.file, format!("the cluster at byte {at} {what}"))
    }

    /// The block with byte `at` where `len` bytes from `start` on are not in this file, in steps of `step` bytes: its first
    /// byte, its length and its place. It is zero where the image under this one is, or where there is none.
    pub fn absent(&self, at: u64, (start, len): (u64, u64), step: u64) -> (u64, u64, Place) {
        let zero = Place::Zero { packed: None };
        let Some(backing) = &self.backing else {
            return (start, len, zero);
        };
        let from = start + (at - start) / step * step;
        let end = start + len;
        if from >= backing.size() {
            return (from, end - from, zero);
        }
        // One block is looked at, so that looking through a large disk does not begin again for each cluster.
        match backing.extent_of(from, end, &mut { 1 }) {
            Ok(extent) if extent.zero => {
                let to = match extent.bytes.end {
                    to if to == backing.size() => end,
                    to => start + (to - start) / step * step,
                };
                match to > from {
                    true => (from, to - from, zero),
                    false => (from, step, Place::Backing),
                }
            }
            _ => (from, step, Place::Backing),
        }
    }

    /// The run of subclusters with byte `at` that have the same kind of place: its first byte, its length and its place.
    /// `bitmap` says of each whether it lies in the cluster, or is zero.
    pub fn run(&self, at: u64, entry: u64, bitmap: u64) -> Result<(u64, u64, Place), Error> {
        let cluster = self.header.cluster();
        let (start, size) = (at / cluster * cluster, cluster / SUBCLUSTERS);
        let offset = entry & OFFSET;
        let kind = |number: u64| (bitmap >> number & 1, bitmap >> (number + SUBCLUSTERS) & 1);
        let here = (at - start) / size;
        let wanted = kind(here);
        if !self.header.aligned(offset) {
            return Err(self.damaged(start, "does not begin where one of the file does"));
        }
        if entry & ZERO != 0 || wanted == (1, 1) || wanted == (1, 0) && offset == 0 {
            return Err(self.damaged(start, "has subclusters that cannot be"));
        }
        let first = (0..here).rev().take_while(|&n| kind(n) == wanted).last();
        let last = (here..SUBCLUSTERS)
            .take_while(|&n| kind(n) == wanted)
            .last();
        let (first, last) = (first.unwrap_or(here), last.unwrap_or(here));
        let place = match wanted {
            (1, _) => Place::Stored {
                offset: offset + first * size,
            },
            (_, 1) => Place::Zero { packed: None },
            _ => Place::Backing,
        };
        Ok((start + first * size, (last + 1 - first) * size, place))
    }

    /// Where a cluster lies; in the image under this one if it is not in this file.
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
        Ok(match (zero, offset) {
            (true, _) => Place::Zero { packed: None },
            (false, 0) => Place::Backing,
            (false, offset) => Place::Stored { offset },
        })
    }
}
