//! qcow2, versions 2 and 3 (`docs/interop/qcow2.txt` of QEMU): tables of two levels say where each cluster lies. All
//! numbers have the big end first. Read are images of one layer without encryption and internal snapshots in use.

use std::sync::Arc;

use super::fields::Fields;
use super::{Format, Layout, MAX_BLOCKS, Opened};
use crate::MAX_BLOCK;
use crate::codec::{self, Codec};
use crate::error::Error;
use crate::file::ImageFile;
use crate::image::{Block, Check, Place};

/// qcow2 images.
pub static QCOW2: Format = Format {
    name: "qcow2",
    about: "QEMU's images, compressed or not, of one layer",
    recognise: |ends| ends.head.starts_with(&MAGIC),
    open,
};

const MAGIC: [u8; 4] = *b"QFI\xfb";
/// Bytes of the header of version 2, and of that of version 3 with the kind of compression.
const HEADER_2: usize = 72;
const HEADER_3: usize = 105;
/// Incompatible features: only "dirty" (0) and "compression type" (3) change nothing in how data are read.
const READ: u64 = 1 | 1 << 3;
const CORRUPT: u64 = 1 << 1;
const DATA_FILE: u64 = 1 << 2;
/// The largest first table, as in QEMU: 32 MiB.
const L1_MOST: u64 = 4 << 20;
/// Where a table or a cluster lies: bits 9 to 55.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const COMPRESSED: u64 = 1 << 62;
/// The cluster reads as zero, whatever lies there.
const ZERO: u64 = 1;

#[derive(Debug)]
struct Header {
    cluster_bits: u32,
    size: u64,
    l1: (u64, u64),
    version: u32,
    codec: &'static Codec,
}

fn open(file: &Arc<ImageFile>) -> Result<Opened, Error> {
    let header = header(file)?;
    let cluster = 1u64 << header.cluster_bits;
    let tables = tables(file, &header)?;
    Ok(Opened {
        size: header.size,
        block: cluster as u32,
        layout: Box::new(Qcow2 {
            file: Arc::clone(file),
            header,
            tables,
        }),
        leaves: None,
    })
}

fn header(file: &ImageFile) -> Result<Header, Error> {
    let damaged = |what: &str| QCOW2.damaged(file, what);
    let unsupported = |what: &str| QCOW2.unsupported(file, what);
    let bytes = file.bytes(0, HEADER_3 as u64)?;
    if bytes.len() < HEADER_2 {
        return Err(damaged("it was cut off"));
    }
    let mut fields = Fields(&bytes[4..]);
    let version = fields.be32();
    let (backing, _) = (fields.be64(), fields.be32());
    let (cluster_bits, size, encrypted) = (fields.be32(), fields.be64(), fields.be32());
    let (l1_entries, l1_at) = (u64::from(fields.be32()), fields.be64());
    if version != 2 && version != 3 {
        return Err(unsupported(&format!(
            "is of version {version}; 2 and 3 are read"
        )));
    }
    if backing != 0 {
        return Err(unsupported(
            "has a backing file; join them with qemu-img convert",
        ));
    }
    if encrypted != 0 {
        return Err(unsupported(
            "is encrypted; decrypt it with qemu-img convert",
        ));
    }
    let mut codec: &'static Codec = &codec::DEFLATE;
    if version == 3 {
        if bytes.len() < HEADER_3 - 1 {
            return Err(damaged("it was cut off"));
        }
        let features = u64::from_be_bytes(*bytes[72..].first_chunk().unwrap_or(&[0; 8]));
        let length = u32::from_be_bytes(*bytes[100..].first_chunk().unwrap_or(&[0; 4]));
        if length < HEADER_3 as u32 - 1 || !length.is_multiple_of(8) {
            return Err(damaged("its header has a length that none has"));
        }
        if features & CORRUPT != 0 {
            return Err(unsupported(
                "is marked as corrupt; repair it with qemu-img check -r all",
            ));
        }
        if features & DATA_FILE != 0 {
            return Err(unsupported(
                "has its data in another file; use qemu-img convert",
            ));
        }
        if features & !READ != 0 {
            return Err(unsupported(
                "has features that are not read; use qemu-img convert",
            ));
        }
        // Without the feature the byte says nothing.
        let kind = bytes
            .get(HEADER_3 - 1)
            .copied()
            .filter(|_| length >= HEADER_3 as u32);
        codec = match (features & 1 << 3 != 0, kind) {
            (false, None | Some(0)) => codec,
            (true, Some(1)) => &codec::ZSTD_FIRST,
            _ => return Err(unsupported("is compressed in a way that is not read")),
        };
    }
    if !(9..=MAX_BLOCK.trailing_zeros()).contains(&cluster_bits) {
        return Err(damaged("its clusters have a size that none has"));
    }
    // One entry of the first table for each table of the second level, of a cluster.
    let reach = 2 * cluster_bits - 3;
    let needed = size.div_ceil(1 << reach);
    if size > i64::MAX as u64 || needed > L1_MOST {
        return Err(damaged(
            "it says that it has more bytes than an image can have",
        ));
    }
    if l1_entries < needed
        || l1_at
            .checked_add(needed * 8)
            .is_none_or(|end| end > file.size())
    {
        return Err(damaged("its table of tables does not lie in the file"));
    }
    let l1 = (l1_at, needed);
    Ok(Header {
        cluster_bits,
        size,
        l1,
        version,
        codec,
    })
}

/// The tables of the second level that there are, in the order of the first.
type Tables = Vec<Option<Box<[u64]>>>;

fn tables(file: &ImageFile, header: &Header) -> Result<Tables, Error> {
    let damaged = |what: &str| QCOW2.damaged(file, what);
    let (at, entries) = header.l1;
    let cluster = 1u64 << header.cluster_bits;
    let l1 = file.bytes(at, entries * 8)?;
    let l1: Vec<u64> = l1
        .chunks_exact(8)
        .map(|entry| Fields(entry).be64() & OFFSET)
        .collect();
    let mut used: Vec<u64> = l1.iter().copied().filter(|&at| at != 0).collect();
    used.sort_unstable();
    // Each takes a cluster of the file, so all together no more memory than the file has bytes.
    if l1.len() as u64 != entries || used.windows(2).any(|pair| pair[1] - pair[0] < cluster) {
        return Err(damaged("its tables overlap"));
    }
    if used.len() as u64 * cluster / 8 > MAX_BLOCKS * 4 {
        return Err(QCOW2.unsupported(file, "has too many clusters; use qemu-img convert"));
    }
    let table = |&at: &u64| {
        if at == 0 {
            return Ok(None);
        }
        let bytes = file.bytes(at, cluster)?;
        if bytes.len() as u64 != cluster || !at.is_multiple_of(cluster) {
            return Err(damaged("one of its tables does not lie in the file"));
        }
        let words = bytes.chunks_exact(8).map(|entry| Fields(entry).be64());
        Ok(Some(words.collect()))
    };
    l1.iter().map(table).collect()
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
        let cluster = 1u64 << self.header.cluster_bits;
        if entry & COMPRESSED != 0 {
            // Bits of the offset; the rest counts sectors after the one in which it begins.
            let bits = 62 - (self.header.cluster_bits - 8);
            let offset = entry & ((1 << bits) - 1);
            let sectors = (entry & (COMPRESSED - 1)) >> bits;
            let end = (offset / 512 + sectors + 1) * 512;
            if offset >= self.file.size() {
                return Err(self.damaged(start, "lies behind the end of the file"));
            }
            // The last sector of a file need not be whole.
            let packed = end.min(self.file.size()) - offset;
            return Ok(Place::Packed {
                offset,
                packed: packed as u32,
                codec: self.header.codec,
                plain: cluster as u32,
                sum: None,
            });
        }
        let offset = entry & OFFSET;
        let zero = self.header.version >= 3 && entry & ZERO != 0;
        if zero || offset == 0 {
            return Ok(Place::Zero { packed: None });
        }
        match offset.is_multiple_of(cluster) && offset < self.file.size() {
            true => Ok(Place::Plain { offset }),
            false => Err(self.damaged(start, "lies behind the end of the file")),
        }
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
}
