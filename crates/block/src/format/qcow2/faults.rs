//! What is wrong with an image although all of it can be read: a program that writes to it next may lose data.
//!
//! References to clusters are counted in the active tables alone. A cluster that is counted more often than that may
//! belong to a snapshot or be a leak, so only one that is counted less often is a fault.

use super::header::{DATA_FILE, DIRTY, L1_MOST};
use super::{COMPRESSED, COPIED, Header, OFFSET, Qcow2, ZERO, packed_range, words};
use crate::error::Error;
use crate::file::ImageFile;
use crate::format::Faults;
use crate::format::fields::Fields;

/// The largest table of reference counts, as in QEMU: 8 MiB.
const COUNTS_MOST: u64 = 8 << 20;
/// The most snapshots, as in QEMU.
const SNAPSHOTS_MOST: u64 = 1 << 16;
/// Bytes of a snapshot in their table before those whose number differs.
const SNAPSHOT: u64 = 40;
/// The fewest of its extra data in version 3, and the most, as in QEMU.
const SNAPSHOT_EXTRA_LEAST: u64 = 16;
const SNAPSHOT_EXTRA_MOST: u64 = 1024;
/// Bits that mean nothing: in the first table, in one of the second level, and in that of reference counts.
const L1_RESERVED: u64 = 0x7f00_0000_0000_01ff;
const L2_RESERVED: u64 = 0x3f00_0000_0000_01fe;
const COUNTS_RESERVED: u64 = 0x1ff;
/// What writers clear unless they know it: bitmaps are right, and the data file is one of raw bytes.
const BITMAPS: u64 = 1;
const RAW_DATA_FILE: u64 = 1 << 1;
/// The extension of the header that says where bitmaps are, and its bytes.
const BITMAPS_EXTENSION: u32 = 0x2385_2875;
const BITMAPS_LEN: u64 = 24;

pub(super) fn of(image: &Qcow2) -> Result<Faults, Error> {
    let mut check = Faulty {
        file: &image.file,
        header: &image.header,
        faults: Faults::new(),
        used: Vec::new(),
    };
    check.used.push(Use::table(0));
    check.extensions()?;
    check.tables(image)?;
    check.snapshots()?;
    if let Some(counts) = check.counts()? {
        check.compare(counts)?;
    }
    Ok(check.faults)
}

struct Faulty<'a> {
    file: &'a ImageFile,
    header: &'a Header,
    faults: Faults,
    used: Vec<Use>,
}

/// A cluster of the file that something refers to: its number in the high bits. In the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use(u64);

impl Use {
    /// It is one of a table.
    const TABLE: u64 = 1;
    /// The entry says whether it is the only one that refers to the cluster, and that it is.
    const MARKED: u64 = 2;
    const COPIED: u64 = 4;

    fn new(cluster: u64, flags: u64) -> Use {
        Use(cluster << 3 | flags)
    }

    fn table(cluster: u64) -> Use {
        Use::new(cluster, Use::TABLE)
    }

    /// What an entry refers to, if it does; with flags for what.
    fn of(entry: u64, cluster: u64, flags: u64) -> Option<Use> {
        let copied = match entry & COPIED {
            0 => 0,
            _ => Use::COPIED,
        };
        let offset = entry & OFFSET;
        // Marked without a place it would be the header, which is a fault.
        let refers = offset != 0 || copied != 0;
        refers.then(|| Use::new(offset / cluster, Use::MARKED | copied | flags))
    }

    fn cluster(self) -> u64 {
        self.0 >> 3
    }

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// Faults of one kind, of which one line tells.
#[derive(Default)]
struct Kind {
    count: u64,
    first: u64,
}

impl Kind {
    fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
    }
}

impl Faulty<'_> {
    fn tell(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    /// A line if there are any.
    fn tell_kind(&mut self, kind: &Kind, what: &str) {
        let Kind { count, first } = kind;
        match count {
            0 => {}
            1 => self.tell(format!("the {what} (at byte {first})")),
            _ => self.tell(format!("the {what} ({count} times, first at byte {first})")),
        }
    }

    /// Whether a table of so many bytes begins where one may, and its beginning lies in the file. What a file that ends
    /// before the last cluster does leaves out is zero.
    fn table(&mut self, name: &str, at: u64, len: u64) -> bool {
        let cluster = self.header.cluster();
        let end = at.checked_add(len);
        let room = self.file.size().next_multiple_of(cluster);
        if !self.header.aligned(at) {
            self.tell(format!("{name} does not begin where a cluster does"));
            return false;
        }
        let inside = match len {
            0 => at <= i64::MAX as u64,
            _ => at > 0 && end.is_some_and(|end| end <= room),
        };
        if !inside {
            self.tell(format!("{name} does not lie in the file"));
            return false;
        }
        true
    }

    fn uses(&mut self, at: u64, len: u64) {
        let cluster = self.header.cluster();
        let clusters = at / cluster..(at + len).div_ceil(cluster);
        self.used.extend(clusters.map(Use::table));
    }

    /// As [`Faulty::table`], of one of which nothing says how many there may be: it uses its first cluster.
    fn other_table(&mut self, name: &str, at: u64, len: u64) -> bool {
        let fits = self.table(name, at, len);
        if fits {
            self.uses(at, len.min(1));
        }
        fits
    }

    /// What stands behind the header in its cluster.
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
                self.tell("an extension of its header is longer than the cluster");
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
            self.tell("its header says that it has bitmaps, and has none");
        }
        if autoclear & RAW_DATA_FILE != 0 && self.header.incompatible & DATA_FILE == 0 {
            self.tell("its header says of what kind its data file is, and has none");
        }
        Ok(())
    }

    fn bitmaps(&mut self, data: &[u8]) {
        let mut fields = Fields(data);
        let (count, reserved) = (fields.be32(), fields.be32());
        let (len, at) = (fields.be64(), fields.be64());
        if data.len() as u64 != BITMAPS_LEN || count == 0 || reserved != 0 || len == 0 {
            self.tell("the extension of its header for bitmaps says what cannot be");
            return;
        }
        self.other_table("its directory of bitmaps", at, len);
    }

    /// The tables of both levels, of which those that are needed were read.
    fn tables(&mut self, image: &Qcow2) -> Result<(), Error> {
        let header = self.header;
        let (at, cluster) = (header.l1_at, header.cluster());
        let mut entries = header.l1_entries;
        let room = self
            .file
            .size()
            .saturating_sub(at)
            .next_multiple_of(cluster);
        if entries > L1_MOST || entries * 8 > room {
            self.tell(format!("its table of tables cannot have {entries} entries"));
            entries = header.l1_needed;
        }
        self.uses(at, entries * 8);
        let (mut reserved, mut outside) = (Kind::default(), Kind::default());
        for (entry, number) in words(&self.file.bytes(at, entries * 8)?).zip(0..) {
            if entry & L1_RESERVED != 0 {
                reserved.add(at + number * 8);
            }
            let table = entry & OFFSET;
            if number >= header.l1_needed && (!header.aligned(table) || table >= room + at) {
                outside.add(at + number * 8);
            } else {
                self.used.extend(Use::of(entry, cluster, Use::TABLE));
            }
        }
        self.tell_kind(&reserved, "first table has reserved bits that are set");
        self.tell_kind(
            &outside,
            "first table names tables that do not lie in the file",
        );
        self.clusters(image);
        Ok(())
    }

    /// What the tables of the second level refer to. The byte of a fault is that in the image.
    fn clusters(&mut self, image: &Qcow2) {
        let header = self.header;
        let (bits, cluster) = (header.cluster_bits, header.cluster());
        let (mut reserved, mut copied) = (Kind::default(), Kind::default());
        for (table, number) in image.tables.iter().zip(0u64..) {
            let entries = table.iter().flat_map(|table| table.iter());
            for (&entry, place) in entries.zip(0u64..) {
                let at = (number << (bits - 3) | place) << bits;
                if entry & COMPRESSED != 0 {
                    if entry & COPIED != 0 {
                        copied.add(at);
                    }
                    let (from, end) = packed_range(header, entry);
                    let clusters = from / cluster..end.div_ceil(cluster);
                    self.used
                        .extend(clusters.map(|cluster| Use::new(cluster, 0)));
                    continue;
                }
                if entry & L2_RESERVED != 0 || header.version < 3 && entry & ZERO != 0 {
                    reserved.add(at);
                }
                self.used.extend(Use::of(entry, cluster, 0));
            }
        }
        self.tell_kind(&reserved, "cluster has reserved bits that are set");
        self.tell_kind(
            &copied,
            "cluster is compressed and marked as one that may be written to",
        );
    }

    fn snapshots(&mut self) -> Result<(), Error> {
        const NAME: &str = "its table of snapshots";
        let (count, start) = (self.header.snapshots, self.header.snapshots_at);
        if count > SNAPSHOTS_MOST {
            self.tell(format!("it says that it has {count} snapshots"));
            return Ok(());
        }
        if !self.table(NAME, start, count * SNAPSHOT) || count == 0 {
            return Ok(());
        }
        let mut at = start;
        for number in 0..count {
            let entry = self.file.bytes(at, SNAPSHOT)?;
            if (entry.len() as u64) < SNAPSHOT {
                self.tell(format!("{NAME} does not lie in the file"));
                return Ok(());
            }
            let mut fields = Fields(&entry);
            let (l1_at, l1_entries) = (fields.be64(), u64::from(fields.be32()));
            let [id_0, id_1, name_0, name_1] = fields.bytes();
            let [id, name] = [[id_0, id_1], [name_0, name_1]].map(u16::from_be_bytes);
            let extra = u64::from(Fields(&entry[36..]).be32());
            let least = match self.header.version {
                2 => 0,
                _ => SNAPSHOT_EXTRA_LEAST,
            };
            if !(least..=SNAPSHOT_EXTRA_MOST).contains(&extra) {
                self.tell(format!("snapshot {number} has {extra} bytes of extra data"));
                return Ok(());
            }
            let table = format!("the table of snapshot {number}");
            if !self.other_table(&table, l1_at, l1_entries * 8) {
                return Ok(());
            }
            at += (SNAPSHOT + extra + u64::from(id) + u64::from(name)).next_multiple_of(8);
        }
        if self.table(NAME, start, at - start) {
            self.uses(start, at - start);
        }
        Ok(())
    }

    /// The table of reference counts, if there is one to compare with.
    fn counts(&mut self) -> Result<Option<Vec<u64>>, Error> {
        const NAME: &str = "its table of reference counts";
        let header = self.header;
        let (at, cluster) = (header.refcounts_at, header.cluster());
        let len = header.refcounts_clusters * cluster;
        if header.refcount_order > 6 {
            let order = header.refcount_order;
            self.tell(format!(
                "its reference counts have 2^{order} bits; 64 are the most"
            ));
            return Ok(None);
        }
        if len == 0 || len > COUNTS_MOST {
            self.tell(format!("{NAME} has {len} bytes"));
            return Ok(None);
        }
        if !self.table(NAME, at, len) {
            return Ok(None);
        }
        self.uses(at, len);
        let mut blocks: Vec<u64> = words(&self.file.bytes(at, len)?).collect();
        let mut wrong = Kind::default();
        for (block, number) in blocks.iter_mut().zip(0..) {
            let offset = *block & !COUNTS_RESERVED;
            let inside = header.aligned(offset) && offset < self.file.size();
            if *block & COUNTS_RESERVED != 0 || !inside {
                wrong.add(at + number * 8);
                *block = 0;
            } else if offset != 0 {
                self.used.push(Use::table(offset / cluster));
            }
        }
        self.tell_kind(&wrong, "table of reference counts names what cannot be");
        Ok(Some(blocks))
    }

    /// References that were found, beside those that are counted.
    fn compare(&mut self, blocks: Vec<u64>) -> Result<(), Error> {
        let cluster = self.header.cluster();
        let mut counts = Counts {
            file: self.file,
            order: self.header.refcount_order,
            cluster,
            blocks,
            block: Vec::new(),
            number: u64::MAX,
        };
        let [mut twice, mut free, mut fewer, mut shared] =
            [const { Kind { count: 0, first: 0 } }; 4];
        let mut used = std::mem::take(&mut self.used);
        used.sort_unstable();
        for uses in used.chunk_by(|a, b| a.cluster() == b.cluster()) {
            let number = uses[0].cluster();
            let at = number.saturating_mul(cluster);
            if uses.len() > 1 && uses.iter().any(|one| one.is(Use::TABLE)) {
                twice.add(at);
            }
            // Marked as dirty, counts may be wrong, and a program that writes to it makes them right before.
            if self.header.incompatible & DIRTY != 0 {
                continue;
            }
            match counts.of(number)? {
                0 => free.add(at),
                count if count < uses.len() as u64 => fewer.add(at),
                1 if uses[0].is(Use::MARKED) && !uses[0].is(Use::COPIED) => shared.add(at),
                2.. if uses.iter().any(|one| one.is(Use::COPIED)) => shared.add(at),
                _ => {}
            }
        }
        self.tell_kind(&twice, "file has a table where something else lies");
        self.tell_kind(&free, "file has clusters in use that are counted as free");
        self.tell_kind(
            &fewer,
            "file has clusters that are counted less often than they are used",
        );
        self.tell_kind(
            &shared,
            "file has clusters whose counts are not as they are marked",
        );
        Ok(())
    }
}

/// Reference counts, a block of which is read at once.
struct Counts<'a> {
    file: &'a ImageFile,
    order: u32,
    cluster: u64,
    blocks: Vec<u64>,
    block: Vec<u8>,
    /// Which block that is.
    number: u64,
}

impl Counts<'_> {
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
