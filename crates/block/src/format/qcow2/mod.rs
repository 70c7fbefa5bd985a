//! qcow2, versions 2 and 3 (`docs/interop/qcow2.txt` of QEMU): tables of two levels say where each cluster lies. All
//! numbers have the big end first. Read are images of one layer without encryption and internal snapshots in use.

mod faults;
mod header;

use std::sync::Arc;

use super::fields::Fields;
use super::{Faults, Format, Layout, MAX_BLOCKS, Opened};
use crate::block::{Block, Check, Place};
use crate::error::Error;
use crate::file::ImageFile;
use header::Header;

/// qcow2 images.
pub static QCOW2: Format = Format {
    name: "qcow2",
    about: "QEMU's images, compressed or not, of one layer",
    recognise: |ends| ends.head.starts_with(&MAGIC),
    open,
};

const MAGIC: [u8; 4] = *b"QFI\xfb";
/// Where a table or a cluster lies: bits 9 to 55.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
/// What an entry says lies at no other place that can be written to.
const COPIED: u64 = 1 << 63;
const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zero, whatever lies there.
const ZERO: u64 = 1;

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let header = Header::of(file)?;
    let tables = tables(file, &header)?;
    Ok(Opened {
        size: header.size,
        block: header.cluster() as u32,
        layout: Box::new(Qcow2 {
            file: Arc::clone(file),
            header,
            tables,
        }),
        leaves: None,
    })
}

/// The tables of the second level that there are, in the order of the first.
type Tables = Vec<Option<Box<[u64]>>>;

fn tables(file: &ImageFile, header: &Header) -> Result<Tables, Error> {
    let damaged = |what: &str| QCOW2.damaged(file, what);
    let (at, bytes) = (header.l1_at, header.l1_needed * 8);
    let cluster = header.cluster();
    let l1 = file.bytes(at, bytes)?;
    if l1.len() as u64 != bytes {
        let what = "its table of tables lies behind the end of the file";
        return Err(QCOW2.cut(file, what));
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
        return Err(QCOW2.unsupported(file, "has too many clusters; use qemu-img convert"));
    }
    used.extend([(0, cluster), (at, bytes)]);
    used.sort_unstable();
    // Each takes a cluster of the file, so all together no more memory than the file has bytes.
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
            return Err(QCOW2.cut(file, what));
        }
        Ok(Some(words(&bytes).collect()))
    };
    l1.iter().map(table).collect()
}

/// The entries of a table.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|entry| Fields(entry).be64())
}

/// Where an entry of a table of the second level says that packed bytes begin, and where their last sector ends.
fn packed_range(header: &Header, entry: u64) -> (u64, u64) {
    // Bits of the offset; the rest counts sectors after the one in which it begins.
    let bits = 62 - (header.cluster_bits - 8);
    let offset = entry & ((1 << bits) - 1);
    let sectors = (entry & (COMPRESSED - 1)) >> bits;
    (offset, (offset / 512 + sectors + 1) * 512)
}

struct Qcow2 {
    file: Arc<ImageFile>,
    header: Header,
    tables: Tables,
}

impl Qcow2 {
    fn damaged(&self, at: u64, what: &str) -> Error {
        QCOW2.damaged(&self.file, format!("the cluster at byte {at} {what}"))
    }

    fn place(&self, start: u64, entry: u64) -> Result<Place, Error> {
        if entry & COMPRESSED != 0 {
            let (offset, end) = packed_range(&self.header, entry);
            // The last sector of a file need not be whole. That one is cut short is found out by who reads it.
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

impl Layout for Qcow2 {
    fn block(&self, at: u64) -> Result<Block, Error> {
        let bits = self.header.cluster_bits;
        let reach = 2 * bits - 3;
        let (start, len, place) = match &self.tables[(at >> reach) as usize] {
            None => (
                at >> reach << reach,
                1 << reach,
                Place::Zero { packed: None },
            ),
            Some(table) => {
                let start = at >> bits << bits;
                let number = (start >> bits) as usize % table.len();
                (start, 1 << bits, self.place(start, table[number])?)
            }
        };
        Ok(Block {
            start,
            len: self.header.size.min(start + len) - start,
            place,
            check: Check::Nothing,
        })
    }

    fn faults(&self) -> Result<Faults, Error> {
        faults::of(self)
    }
}
