//! The header of a qcow2 image.

use crate::MAX_BLOCK;
use crate::codec::{self, Codec};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::fields::Fields;
use crate::format::types::Format;

/// Bytes of the header of version 2, and the fewest of version 3.
const HEADER_2: u64 = 72;
const HEADER_3: u64 = 104;
/// Where the kind of compression stands in version 3, if the header is that long.
const COMPRESSION: u64 = 104;
/// Incompatible features. "Dirty" (0), "compression type" (3) and "extended L2 entries" (4) are supported.
pub(super) const DIRTY: u64 = 1;
const CORRUPT: u64 = 1 << 1;
pub(super) const DATA_FILE: u64 = 1 << 2;
const COMPRESSION_TYPE: u64 = 1 << 3;
const SUBCLUSTERS: u64 = 1 << 4;
const SUPPORTED: u64 = DIRTY | COMPRESSION_TYPE | SUBCLUSTERS;
/// The smallest clusters that have subclusters.
const MIN_DIVIDED: u32 = 14;
/// The most entries of the L1 table, as in QEMU: 32 MiB.
pub(super) const MAX_L1: u64 = 4 << 20;
/// The longest name of a backing file.
const MAX_NAME: u32 = 1023;

/// The header. Fields that reading does not need are kept as they are, and checked by `faults.rs`.
#[derive(Debug)]
pub(super) struct Header {
    pub version: u32,
    pub cluster_bits: u32,
    pub size: u64,
    pub codec: &'static Codec,
    /// Where the L1 table lies, how many entries it has, and how many the size needs.
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
    /// Where the name of the backing file lies, and its length.
    pub backing: Option<(u64, u32)>,
}

impl Header {
    pub fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Whether entries of L2 tables are two words, of which the second is about subclusters.
    pub fn is_extended(&self) -> bool {
        self.incompatible & SUBCLUSTERS != 0
    }

    /// Words of an entry of an L2 table.
    pub fn entry_words(&self) -> usize {
        1 + usize::from(self.is_extended())
    }

    /// Bits of the bytes that an L2 table is for.
    pub fn reach(&self) -> u32 {
        self.cluster_bits + self.table_bits()
    }

    /// Bits of the number of entries of an L2 table.
    pub fn table_bits(&self) -> u32 {
        self.cluster_bits - 3 - u32::from(self.is_extended())
    }

    /// Whether a table or a cluster may begin at this byte.
    pub fn aligned(&self, at: u64) -> bool {
        at.is_multiple_of(self.cluster())
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// It is damaged, or uses what is not supported.
    pub fn read(format: &Format, file: &ImageFile) -> Result<Header, Error> {
        let bytes = file.bytes(0, COMPRESSION + 1)?;
        if (bytes.len() as u64) < HEADER_2 {
            return Err(incomplete(format, file));
        }
        let mut fields = Fields(&bytes[4..]);
        let version = fields.be32();
        if version != 2 && version != 3 {
            let what = format!("is of version {version}; 2 and 3 are read");
            return Err(format.unsupported(file, what));
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
            backing: None,
        };
        header.check_cluster_size(format, file)?;
        if version == 3 {
            header.read_version_3(format, file, fields, &bytes)?;
        }
        header.check_backing_file(format, file, (name_at, name_len))?;
        refuse_encryption(format, file, encryption)?;
        header.check_l1(format, file)?;
        Ok(header)
    }

    fn check_cluster_size(&self, format: &Format, file: &ImageFile) -> Result<(), Error> {
        match self.cluster_bits {
            0..9 | 32.. => Err(format.damaged(file, "its clusters have a size that none has")),
            _ if self.cluster() > MAX_BLOCK.into() => {
                let (bytes, most) = (self.cluster(), MAX_BLOCK >> 20);
                let what = format!(
                    "has clusters of {bytes} bytes; up to {most} MiB are read; use qemu-img convert"
                );
                Err(format.unsupported(file, what))
            }
            _ => Ok(()),
        }
    }

    /// Reads the fields that version 3 adds. `bytes` is the header from its beginning, `fields` what follows those of
    /// version 2.
    fn read_version_3(
        &mut self,
        format: &Format,
        file: &ImageFile,
        mut fields: Fields<'_>,
        bytes: &[u8],
    ) -> Result<(), Error> {
        if (bytes.len() as u64) < HEADER_3 {
            return Err(incomplete(format, file));
        }
        self.incompatible = fields.be64();
        let _compatible = fields.be64();
        self.autoclear = fields.be64();
        self.refcount_order = fields.be32();
        self.length = fields.be32().into();
        let fits = (HEADER_3..=self.cluster()).contains(&self.length);
        if !fits || !self.length.is_multiple_of(8) {
            return Err(format.damaged(file, "its header has a length that none has"));
        }
        if file.size() < self.length {
            return Err(incomplete(format, file));
        }
        let kind = bytes.get(COMPRESSION as usize);
        let kind = kind.filter(|_| self.length > COMPRESSION);
        self.check_features(format, file, kind.copied().unwrap_or(0))
    }

    fn check_backing_file(
        &mut self,
        format: &Format,
        file: &ImageFile,
        (name_at, name_len): (u64, u32),
    ) -> Result<(), Error> {
        if name_at == 0 {
            return Ok(());
        }
        let end = name_at.checked_add(name_len.into());
        if end.is_none_or(|end| end > self.cluster()) || name_len > MAX_NAME {
            return Err(format.damaged(file, "the name of its backing file lies elsewhere"));
        }
        self.backing = Some((name_at, name_len));
        Ok(())
    }

    /// Checks the incompatible features, and sets the codec.
    fn check_features(
        &mut self,
        format: &Format,
        file: &ImageFile,
        compression: u8,
    ) -> Result<(), Error> {
        let has = |feature| self.incompatible & feature != 0;
        if has(SUBCLUSTERS) && self.cluster_bits < MIN_DIVIDED {
            return Err(format.damaged(file, "its clusters are too small for subclusters"));
        }
        let what = if has(CORRUPT) {
            "is marked as corrupt; repair it with qemu-img check -r all"
        } else if has(DATA_FILE) {
            "has its data in another file; use qemu-img convert"
        } else if has(!SUPPORTED) {
            let unknown = self.incompatible & !SUPPORTED;
            let what = format!(
                "has incompatible features that are not read (bits {unknown:#x}); use qemu-img convert"
            );
            return Err(format.unsupported(file, what));
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
                    return Err(format.damaged(file, what));
                }
            }
        };
        Err(format.unsupported(file, what))
    }

    /// Checks that the L1 table lies in the file and is large enough.
    fn check_l1(&mut self, format: &Format, file: &ImageFile) -> Result<(), Error> {
        let damaged = |what: &str| Err(format.damaged(file, what));
        // Each entry stands for an L2 table, which takes one cluster.
        let needed = self.size.div_ceil(1 << self.reach());
        if self.size > i64::MAX as u64 || needed > MAX_L1 {
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
            let what = "its table of tables lies beyond the end of the file";
            return Err(format.cut(file, what));
        }
        if needed > 0 && self.l1_at == 0 {
            return damaged("its table of tables lies in its header");
        }
        Ok(())
    }
}

fn incomplete(format: &Format, file: &ImageFile) -> Error {
    format.cut(file, "its header is not whole")
}

fn refuse_encryption(format: &Format, file: &ImageFile, method: u32) -> Result<(), Error> {
    let what = match method {
        0 => return Ok(()),
        1 | 2 => "is encrypted; decrypt it with qemu-img convert",
        _ => "is encrypted in a way that is not known; decrypt it with qemu-img convert",
    };
    Err(format.unsupported(file, what))
}
