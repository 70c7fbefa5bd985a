//! The header of a qcow2 image.

use super::QCOW2;
use crate::MAX_BLOCK;
use crate::codec::{self, Codec};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::fields::Fields;

/// Bytes of the header of version 2, and the fewest of version 3.
const HEADER_2: u64 = 72;
const HEADER_3: u64 = 104;
/// Where version 3 has the kind of compression, if its header is so long.
const COMPRESSION: u64 = 104;
/// Incompatible features: only "dirty" (0) and "compression type" (3) change nothing in how data are read.
pub(super) const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
pub(super) const DATA_FILE: u64 = 1 << 2;
const COMPRESSION_TYPE: u64 = 1 << 3;
const SUBCLUSTERS: u64 = 1 << 4;
const READ: u64 = DIRTY | COMPRESSION_TYPE;
/// The largest first table, as in QEMU: 32 MiB.
pub(super) const L1_MOST: u64 = 4 << 20;
/// The longest name of a backing file.
const NAME_MOST: u32 = 1023;

/// What it says. What reading does not need is kept as it stands there, and checked by `faults.rs`.
#[derive(Debug)]
pub(super) struct Header {
    pub version: u32,
    pub cluster_bits: u32,
    pub size: u64,
    pub codec: &'static Codec,
    /// Where the first table lies, how many entries it has, and how many the size needs.
    pub l1_at: u64,
    pub l1_entries: u64,
    pub l1_needed: u64,
    pub incompatible: u64,
    pub autoclear: u64,
    pub length: u64,
    pub refcounts_at: u64,
    pub refcounts_clusters: u64,
    pub refcount_order: u32,
    pub snapshots: u64,
    pub snapshots_at: u64,
}

impl Header {
    pub fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Whether a table or a cluster may begin there.
    pub fn aligned(&self, at: u64) -> bool {
        at.is_multiple_of(self.cluster())
    }

    /// Reads it.
    ///
    /// # Errors
    /// The image cannot be read with it.
    pub fn of(file: &ImageFile) -> Result<Header, Error> {
        let damaged = |what: &str| QCOW2.damaged(file, what);
        let unsupported = |what: &str| QCOW2.unsupported(file, what);
        let bytes = file.bytes(0, COMPRESSION + 1)?;
        let cut = || QCOW2.cut(file, "its header is not whole");
        if (bytes.len() as u64) < HEADER_2 {
            return Err(cut());
        }
        let mut fields = Fields(&bytes[4..]);
        let version = fields.be32();
        if version != 2 && version != 3 {
            let what = format!("is of version {version}; 2 and 3 are read");
            return Err(unsupported(&what));
        }
        let (name_at, name_len) = (fields.be64(), fields.be32());
        let (cluster_bits, size, encryption) = (fields.be32(), fields.be64(), fields.be32());
        let (l1_entries, l1_at) = (u64::from(fields.be32()), fields.be64());
        let (refcounts_at, refcounts_clusters) = (fields.be64(), u64::from(fields.be32()));
        let (snapshots, snapshots_at) = (u64::from(fields.be32()), fields.be64());
        let mut header = Header {
            version,
            cluster_bits,
            size,
            codec: &codec::DEFLATE,
            l1_at,
            l1_entries,
            l1_needed: 0,
            incompatible: 0,
            autoclear: 0,
            length: HEADER_2,
            refcounts_at,
            refcounts_clusters,
            refcount_order: 4,
            snapshots,
            snapshots_at,
        };
        match cluster_bits {
            0..9 | 32.. => return Err(damaged("its clusters have a size that none has")),
            _ if header.cluster() > MAX_BLOCK.into() => {
                let (bytes, most) = (header.cluster(), MAX_BLOCK >> 20);
                let what = format!(
                    "has clusters of {bytes} bytes; up to {most} MiB are read; use qemu-img convert"
                );
                return Err(unsupported(&what));
            }
            _ => {}
        }
        if version == 3 {
            if (bytes.len() as u64) < HEADER_3 {
                return Err(cut());
            }
            header.incompatible = fields.be64();
            let _compatible = fields.be64();
            header.autoclear = fields.be64();
            header.refcount_order = fields.be32();
            header.length = fields.be32().into();
            let fits = (HEADER_3..=header.cluster()).contains(&header.length);
            if !fits || !header.length.is_multiple_of(8) {
                return Err(damaged("its header has a length that none has"));
            }
            if file.size() < header.length {
                return Err(cut());
            }
            let kind = bytes.get(COMPRESSION as usize);
            let kind = kind.filter(|_| header.length > COMPRESSION);
            header.features(file, kind.copied().unwrap_or(0))?;
        }
        if name_at != 0 {
            let end = name_at.checked_add(name_len.into());
            if end.is_none_or(|end| end > header.cluster()) || name_len > NAME_MOST {
                return Err(damaged("the name of its backing file lies elsewhere"));
            }
            return Err(unsupported(
                "has a backing file; join them with qemu-img convert",
            ));
        }
        match encryption {
            0 => {}
            1 | 2 => {
                return Err(unsupported(
                    "is encrypted; decrypt it with qemu-img convert",
                ));
            }
            _ => {
                return Err(unsupported(
                    "is encrypted in a way that is not known; decrypt it with qemu-img convert",
                ));
            }
        }
        header.first_table(file)?;
        Ok(header)
    }

    /// Whether data can be read with these features, and how they are compressed.
    fn features(&mut self, file: &ImageFile, compression: u8) -> Result<(), Error> {
        let has = |feature| self.incompatible & feature != 0;
        let what = if has(CORRUPT) {
            "is marked as corrupt; repair it with qemu-img check -r all"
        } else if has(DATA_FILE) {
            "has its data in another file; use qemu-img convert"
        } else if has(SUBCLUSTERS) {
            "has subclusters (extended L2 entries), which are not read; use qemu-img convert"
        } else if has(!READ) {
            let unknown = self.incompatible & !READ;
            let what = format!(
                "has incompatible features that are not read (bits {unknown:#x}); use qemu-img convert"
            );
            return Err(QCOW2.unsupported(file, what));
        } else {
            match (has(COMPRESSION_TYPE), compression) {
                (false, 0) => return Ok(()),
                (true, 1) => {
                    self.codec = &codec::ZSTD_FIRST;
                    return Ok(());
                }
                (true, 2..) => "is compressed by other than zlib and zstd; use qemu-img convert",
                _ => {
                    let what = "its header says in two ways how it is compressed";
                    return Err(QCOW2.damaged(file, what));
                }
            }
        };
        Err(QCOW2.unsupported(file, what))
    }

    /// Whether the first table lies in the file and is large enough.
    fn first_table(&mut self, file: &ImageFile) -> Result<(), Error> {
        let damaged = |what: &str| Err(QCOW2.damaged(file, what));
        // One entry for each table of the second level, of a cluster.
        let reach = 2 * self.cluster_bits - 3;
        let needed = self.size.div_ceil(1 << reach);
        if self.size > i64::MAX as u64 || needed > L1_MOST {
            return damaged("it says that it has more bytes than an image can have");
        }
        self.l1_needed = needed;
        if !self.aligned(self.l1_at) {
            return damaged("its table of tables does not begin where a cluster does");
        }
        let end = self.l1_at.checked_add(needed * 8);
        if self.l1_entries < needed {
            return damaged("its table of tables is shorter than the image needs");
        }
        if end.is_none_or(|end| end > file.size()) {
            let what = "its table of tables lies behind the end of the file";
            return Err(QCOW2.cut(file, what));
        }
        if needed > 0 && self.l1_at == 0 {
            return damaged("its table of tables lies in its header");
        }
        Ok(())
    }
}
