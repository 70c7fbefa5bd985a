//! What is wrong with an image although all of it can be read: a program that writes to it next may lose data.
//!
//! Only references from the active tables are counted here. A cluster with a higher reference count may belong to a
//! snapshot or be a leak, so only a lower count is a fault.

use super::header::{DATA_FILE, DIRTY, Header, MAX_L1};
use super::tables::{COMPRESSED, COPIED, OFFSET, Qcow2, ZERO, packed_range, words};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::Faults;
use crate::format::fields::Fields;

/// The largest table of reference counts, as in QEMU: 8 MiB.
const MAX_REFCOUNT_TABLE: u64 = 8 << 20;
/// The most snapshots, as in QEMU.
const MAX_SNAPSHOTS: u64 = 1 << 16;
/// Bytes of a snapshot in the table before the parts of variable length.
const SNAPSHOT: u64 = 40;
/// The fewest bytes of its extra data in version 3, and the most, as in QEMU.
const MIN_SNAPSHOT_EXTRA: u64 = 16;
const MAX_SNAPSHOT_EXTRA: u64 = 1024;
/// Reserved bits of entries: of the L1 table, of an L2 table, and of the table of reference counts.
const L1_RESERVED: u64 = 0x7f00_0000_0000_01ff;
const L2_RESERVED: u64 = 0x3f00_0000_0000_01fe;
const REFCOUNT_RESERVED: u64 = 0x1ff;
/// Autoclear features: the bitmaps are valid, and the external data file is raw.
const BITMAPS: u64 = 1;
const RAW_DATA_FILE: u64 = 1 << 1;
/// The header extension that describes bitmaps, and its length.
const BITMAPS_EXTENSION: u32 = 0x2385_2875;
const BITMAPS_LEN: u64 = 24;

pub(super) fn of(image: &Qcow2) -> Result<Faults, Error> {
    let mut check = Checker {
        file: &image.file,
        header: &image.header,
        faults: Faults::new(),
        references: Vec::new(),
    };
    check.references.push(Reference::table(0));
    check.extensions()?;
    check.tables(image)?;
    check.snapshots()?;
    if let Some(counts) = check.counts()? {
        check.compare(counts)?;
    }
    Ok(check.faults)
}

struct Checker<'a> {
    file: &'a ImageFile,
    header: &'a Header,
    faults: Faults,
    references: Vec<Reference>,
}

/// A reference to a cluster of the file: the number of the cluster in the high bits, so that they sort by cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reference(u64);

impl Reference {
    /// The cluster belongs to a table.
    const TABLE: u64 = 1;
    /// The entry has a COPIED flag, and the flag is set.
    const MARKED: u64 = 2;
    const COPIED: u64 = 4;

    fn new(cluster: u64, flags: u64) -> Reference {
        Reference(cluster << 3 | flags)
    }

    fn table(cluster: u64) -> Reference {
        Reference::new(cluster, Reference::TABLE)
    }

    /// The reference of an entry, if it has one.
    fn of(entry: u64, cluster: u64, flags: u64) -> Option<Reference> {
        let copied = match entry & COPIED {
            0 => 0,
            _ => Reference::COPIED,
        };
        let offset = entry & OFFSET;
        // A COPIED flag without an offset refers to the header, which is a fault.
        let refers = offset != 0 || copied != 0;
        refers.then(|| Reference::new(offset / cluster, Reference::MARKED | copied | flags))
    }

    fn cluster(self) -> u64 {
        self.0 >> 3
    }

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// Faults of one kind, which are reported in one line.
#[derive(Default)]
struct FaultGroup {
    count: u64,
    first: u64,
}

impl FaultGroup {
    fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
    }
}

impl Checker<'_> {
    fn report(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    /// Reports a group, if it has faults.
    fn report_group(&mut self, kind: &FaultGroup, what: &str) {
        let FaultGroup { count, first } = kind;
        match count {
            0 => {}
            1 => self.report(format!("the {what} (at byte {first})")),
            _ => self.report(format!("the {what} ({count} times, first at byte {first})")),
        }
    }

    /// Checks that a table is aligned to clusters and lies in the file. The last cluster of the file may be shorter,
    /// and what it lacks is zero.
    fn table(&mut self, name: &str, at: u64, len: u64) -> bool {
        let cluster = self.header.cluster();
        let end = at.checked_add(len);
        let room = self.file.size().next_multiple_of(cluster);
        if !self.header.aligned(at) {
            self.report(format!("{name} does not begin where a cluster does"));
            return false;
        }
        let inside = match len {
            0 => at <= i64::MAX as u64,
            _ => at > 0 && end.is_some_and(|end| end <= room),
        };
        if !inside {
            self.report(format!("{name} does not lie in the file"));
            return false;
        }
        true
    }

    fn add_table(&mut self, at: u64, len: u64) {
        let cluster = self.header.cluster();
        let clusters = at / cluster..(at + len).div_ceil(cluster);
        self.references.extend(clusters.map(Reference::table));
    }

    /// As [`Checker::table`], for a table of unknown length: a reference to its first cluster is added.
    fn other_table(&mut self, name: &str, at: u64, len: u64) -> bool {
        let fits = self.table(name, at, len);
        if fits {
            self.add_table(at, len.min(1));
        }
        fits
    }

    /// Checks the header extensions.
    fn extensions(&mut self) -> Result<(), Error> {
        let (cluster, autoclear) = (self.header.cluster(), self.header.autoclear);
        let area = self
            .file
            .bytes(self.header.length, cluster - self.header.length)?;
        let mut rest = &area[..];
        let mut bitmaps = false;
        while rest.len() >= 8 {
            let mut fields = Fields(rest);
            let (kind, len) = (fields.be32(), fields.be32() as usize);
            let Some(data) = fields.0.get(..len) else {
                self.report("an extension of its header is longer than the cluster");
                break;
            };
            if kind == 0 {
                break;
            }
            if kind == BITMAPS_EXTENSION {
                bitmaps = true;
                if autoclear & BITMAPS != 0 {
                    self.bitmaps(data);
                }
            }
            rest = fields.0.get(len.next_multiple_of(8)..).unwrap_or(&[]);
        }
        if autoclear & BITMAPS != 0 && !bitmaps {
            self.report("its header says that it has bitmaps, and has none");
        }
        if autoclear & RAW_DATA_FILE != 0 && self.header.incompatible & DATA_FILE == 0 {
            self.report("its header says of what kind its data file is, and has none");
        }
        Ok(())
    }

    fn bitmaps(&mut self, data: &[u8]) {
        let mut fields = Fields(data);
        let (count, reserved) = (fields.be32(), fields.be32());
        let (len, at) = (fields.be64(), fields.be64());
        if data.len() as u64 != BITMAPS_LEN || count == 0 || reserved != 0 || len == 0 {
            self.report("the extension of its header for bitmaps says what cannot be");
            return;
        }
        self.other_table("its directory of bitmaps", at, len);
    }

    /// Checks the L1 table, and the L2 tables that were read.
    fn tables(&mut self, image: &Qcow2) -> Result<(), Error> {
        let header = self.header;
        let (at, cluster) = (header.l1_at, header.cluster());
        let mut entries = header.l1_entries;
        let room = self
            .file
            .size()
            .saturating_sub(at)
            .next_multiple_of(cluster);
        if entries > MAX_L1 || entries * 8 > room {
            self.report(format!("its table of tables cannot have {entries} entries"));
            entries = header.l1_needed;
        }
        self.add_table(at, entries * 8);
        let (mut reserved, mut outside) = (FaultGroup::default(), FaultGroup::default());
        for (entry, number) in words(&self.file.bytes(at, entries * 8)?).zip(0..) {
            if entry & L1_RESERVED != 0 {
                reserved.add(at + number * 8);
            }
            let table = entry & OFFSET;
            if number >= header.l1_needed && (!header.aligned(table) || table >= room + at) {
                outside.add(at + number * 8);
            } else {
                self.references
                    .extend(Reference::of(entry, cluster, Reference::TABLE));
            }
        }
        self.report_group(&reserved, "first table has reserved bits that are set");
        self.report_group(
            &outside,
            "first table names tables that do not lie in the file",
        );
        self.clusters(image);
        Ok(())
    }

    /// Checks the entries of the L2 tables. The byte of a fault is one of the image.
    fn clusters(&mut self, image: &Qcow2) {
        let header = self.header;
        let (bits, cluster) = (header.cluster_bits, header.cluster());
        let (mut reserved, mut copied) = (FaultGroup::default(), FaultGroup::default());
        let mut divided = FaultGroup::default();
        for (table, number) in image.tables.iter().zip(0u64..) {
            let entries = table
                .iter()
                .flat_map(|table| table.chunks(header.entry_words()));
            for (words, place) in entries.zip(0u64..) {
                let entry = words[0];
                let at = (number << header.table_bits() | place) << bits;
                let bitmap = words.get(1).copied().unwrap_or(0);
                // A subcluster is in the cluster or zero, and a compressed cluster has none.
                let both = bitmap & (bitmap >> 32) & u64::from(u32::MAX) != 0;
                if both || entry & COMPRESSED != 0 && bitmap != 0 {
                    divided.add(at);
                }
                if entry & COMPRESSED != 0 {
                    if entry & COPIED != 0 {
                        copied.add(at);
                    }
                    let (from, end) = packed_range(header, entry);
                    let clusters = from / cluster..end.div_ceil(cluster);
                    self.references
                        .extend(clusters.map(|cluster| Reference::new(cluster, 0)));
                    continue;
                }
                if entry & L2_RESERVED != 0
                    || (header.version < 3 || header.is_extended()) && entry & ZERO != 0
                {
                    reserved.add(at);
                }
                self.references.extend(Reference::of(entry, cluster, 0));
            }
        }
        self.report_group(&reserved, "cluster has reserved bits that are set");
        self.report_group(&divided, "cluster has subclusters that cannot be");
        self.report_group(
            &copied,
            "cluster is compressed and marked as one that may be written to",
        );
    }

    fn snapshots(&mut self) -> Result<(), Error> {
        const NAME: &str = "its table of snapshots";
        let (count, start) = (self.header.snapshots, self.header.snapshots_at);
        if count > MAX_SNAPSHOTS {
            self.report(format!("it says that it has {count} snapshots"));
            return Ok(());
        }
        if !self.table(NAME, start, count * SNAPSHOT) || count == 0 {
            return Ok(());
        }
        let mut at = start;
        for number in 0..count {
            let entry = self.file.bytes(at, SNAPSHOT)?;
            if (entry.len() as u64) < SNAPSHOT {
                self.report(format!("{NAME} does not lie in the file"));
                return Ok(());
            }
            let mut fields = Fields(&entry);
            let (l1_at, l1_entries) = (fields.be64(), u64::from(fields.be32()));
            let [id_0, id_1, name_0, name_1] = fields.bytes();
            let [id, name] = [[id_0, id_1], [name_0, name_1]].map(u16::from_be_bytes);
            let extra = u64::from(Fields(&entry[36..]).be32());
            let least = match self.header.version {
                2 => 0,
                _ => MIN_SNAPSHOT_EXTRA,
            };
            if !(least..=MAX_SNAPSHOT_EXTRA).contains(&extra) {
                self.report(format!("snapshot {number} has {extra} bytes of extra data"));
                return Ok(());
            }
            let table = format!("the table of snapshot {number}");
            if !self.other_table(&table, l1_at, l1_entries * 8) {
                return Ok(());
            }
            at += (SNAPSHOT + extra + u64::from(id) + u64::from(name)).next_multiple_of(8);
        }
        if self.table(NAME, start, at - start) {
            self.add_table(start, at - start);
        }
        Ok(())
    }

    /// Reads the table of reference counts; `None` if it cannot be compared.
    fn counts(&mut self) -> Result<Option<Vec<u64>>, Error> {
        const NAME: &str = "its table of reference counts";
        let header = self.header;
        let (at, cluster) = (header.refcounts_at, header.cluster());
        let len = header.refcounts_clusters * cluster;
        if header.refcount_order > 6 {
            let order = header.refcount_order;
            self.report(format!(
                "its reference counts have 2^{order} bits; 64 are the most"
            ));
            return Ok(None);
        }
        if len == 0 || len > MAX_REFCOUNT_TABLE {
            self.report(format!("{NAME} has {len} bytes"));
            return Ok(None);
        }
        if !self.table(NAME, at, len) {
            return Ok(None);
        }
        self.add_table(at, len);
        let mut blocks: Vec<u64> = words(&self.file.bytes(at, len)?).collect();
        let mut wrong = FaultGroup::default();
        for (block, number) in blocks.iter_mut().zip(0..) {
            let offset = *block & !REFCOUNT_RESERVED;
            let inside = header.aligned(offset) && offset < self.file.size();
            if *block & REFCOUNT_RESERVED != 0 || !inside {
                wrong.add(at + number * 8);
                *block = 0;
            } else if offset != 0 {
                self.references.push(Reference::table(offset / cluster));
            }
        }
        self.report_group(&wrong, "table of reference counts names what cannot be");
        Ok(Some(blocks))
    }

    /// Compares the references with the reference counts.
    fn compare(&mut self, blocks: Vec<u64>) -> Result<(), Error> {
        let cluster = self.header.cluster();
        let mut counts = Refcounts {
            file: self.file,
            order: self.header.refcount_order,
            cluster,
            blocks,
            block: Vec::new(),
            number: u64::MAX,
        };
        let [mut twice, mut free, mut fewer, mut shared] =
            [const { FaultGroup { count: 0, first: 0 } }; 4];
        let mut references = std::mem::take(&mut self.references);
        references.sort_unstable();
        for group in references.chunk_by(|a, b| a.cluster() == b.cluster()) {
            let number = group[0].cluster();
            let at = number.saturating_mul(cluster);
            if group.len() > 1 && group.iter().any(|one| one.is(Reference::TABLE)) {
                twice.add(at);
            }
            // The counts of a dirty image may be wrong. A program that writes to it repairs them first.
            if self.header.incompatible & DIRTY != 0 {
                continue;
            }
            match counts.of(number)? {
                0 => free.add(at),
                count if count < group.len() as u64 => fewer.add(at),
                1 if group[0].is(Reference::MARKED) && !group[0].is(Reference::COPIED) => {
                    shared.add(at)
                }
                2.. if group.iter().any(|one| one.is(Reference::COPIED)) => shared.add(at),
                _ => {}
            }
        }
        self.report_group(&twice, "file has a table where something else lies");
        self.report_group(&free, "file has clusters in use that are counted as free");
        self.report_group(
            &fewer,
            "file has clusters that are counted less often than they are used",
        );
        self.report_group(
            &shared,
            "file has clusters whose counts are not as they are marked",
        );
        Ok(())
    }
}

/// Reads reference counts, block by block.
struct Refcounts<'a> {
    file: &'a ImageFile,
    order: u32,
    cluster: u64,
    blocks: Vec<u64>,
    block: Vec<u8>,
    /// The number of `block`.
    number: u64,
}

impl Refcounts<'_> {
    fn of(&mut self, cluster: u64) -> Result<u64, Error> {
        let entries = (self.cluster * 8) >> self.order;
        let number = cluster / entries;
        if number != self.number {
            let block = usize::try_from(number)
                .ok()
                .and_then(|n| self.blocks.get(n));
            self.block = match block {
                None | Some(0) => Vec::new(),
                Some(&at) => self.file.bytes(at, self.cluster)?,
            };
            self.number = number;
        }
        let first = (cluster % entries) << self.order;
        let byte = (first / 8) as usize;
        Ok(match self.order {
            0..3 => {
                let byte = self.block.get(byte).copied().unwrap_or(0);
                u64::from(byte >> (first % 8)) & ((1 << (1 << self.order)) - 1)
            }
            order => {
                let bytes = self.block.get(byte..byte + (1 << (order - 3)));
                let bytes = bytes.unwrap_or(&[]).iter();
                bytes.fold(0, |count, &byte| count << 8 | u64::from(byte))
            }
        })
    }
}
