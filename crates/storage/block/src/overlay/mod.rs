//! Writes to a served image: a sparse file beside it.
//!
//! A *granule* of 4 KiB is in the overlay as a whole, or not at all; then its bytes come from the image. `FORMAT.md`
//! specifies the file. Written data survives the end of the process, since it is in the page cache, but only flushed
//! data survives a power cut. So there are two maps of granules. The second has only those that have reached the
//! disk.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `open.rs` | creating, finding and locking overlays |
//! | `header.rs` | the first page, and where the parts of the file lie |
//! | `base.rs` | what lies under an overlay, and how it is identified |
//! | `chain.rs` | overlays over one another |
//! | `map.rs` | which granules are in the overlay |
//! | `write.rs` | writes, zeros and trims |
//! | `range_lock.rs` | which thread works on which granules |
//! | `group_commit.rs` | many flushes at once |
//! | `storage.rs` | what is asked of the file |
//! | `error.rs` | errors |

mod base;
mod chain;
mod error;
mod group_commit;
mod header;
mod map;
mod open;
mod range_lock;
mod storage;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::io::{self, IoSlice};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use evener_files::{SourceFile, lock};
use rustix::rand::GetRandomFlags;

pub use base::Base;
pub use error::{Error, WriteError};
pub use header::{GRANULE, MAX_SIZE};
pub use open::{OverlaySummary, is_overlay};
pub use write::ReadBase;

use group_commit::GroupCommit;
use header::{BOOT_AT, Layout, VERSION_AT};
use map::{Map, TrustedMap};
use range_lock::RangeLock;
use storage::Storage;

/// The identity of a boot of the machine.
type BootId = [u8; 16];
/// The identity of the content of an overlay. It changes before what a server writes first.
type Version = [u8; 16];

/// An open and locked overlay. Any number of threads can use it at once.
pub struct Overlay {
    name: String,
    source: SourceFile,
    layout: Layout,
    storage: Box<dyn Storage>,
    map: Map,
    /// The overlay under it, which is read only.
    lower: Option<Box<Overlay>>,
    /// The version that it was opened with.
    version: Version,
    /// It was changed since.
    changed: AtomicBool,
    changing: Mutex<()>,
    ranges: RangeLock,
    commits: GroupCommit,
    /// The system lost something that was written and does not say what. So no flush can succeed any more.
    lost: AtomicBool,
    /// The storage has holes, as far as is known.
    holes: AtomicBool,
}

impl Overlay {
    /// The overlay in a storage that has a header. `boot` is the current boot, if it is known.
    fn on(
        storage: Box<dyn Storage>,
        name: String,
        layout: Layout,
        boot: Option<BootId>,
        writes: bool,
    ) -> io::Result<Overlay> {
        let mut noted = BootId::default();
        storage.read(BOOT_AT, &mut noted)?;
        let mut version = Version::default();
        storage.read(VERSION_AT, &mut version)?;
        let same = boot == Some(noted);
        let trusted = match (same, writes) {
            (true, _) => TrustedMap::Written,
            (false, true) => TrustedMap::DurableIntoWritten,
            (false, false) => TrustedMap::Durable,
        };
        let map = Map::load(&*storage, layout, trusted)?;
        if !same && writes {
            let boot = boot.unwrap_or_default();
            storage.write(BOOT_AT, &mut [IoSlice::new(&boot)])?;
        }
        Ok(Overlay {
            name,
            source: SourceFile::default(),
            layout,
            storage,
            map,
            lower: None,
            version,
            changed: AtomicBool::new(false),
            changing: Mutex::default(),
            ranges: RangeLock::default(),
            commits: GroupCommit::default(),
            lost: AtomicBool::new(false),
            holes: AtomicBool::new(true),
        })
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file, and those below it, as a source of an output. It is set only for read-only overlays.
    pub fn source_file(&self) -> SourceFile {
        match &self.lower {
            Some(lower) => self.source.and(lower.source_file()),
            None => self.source,
        }
    }

    /// The number of bytes in this file, including zeros.
    pub fn bytes(&self) -> u64 {
        (self.map.count() * GRANULE).min(self.layout.size)
    }

    /// Whether byte `at` of the image is in this overlay or one below it, and where the run of such bytes ends, at
    /// most at `end`.
    pub fn run(&self, at: u64, end: u64) -> (bool, u64) {
        if self.lower.is_none() {
            return self.own_run(at, end);
        }
        let (layer, mut to) = self.layer(at, end);
        while to < end {
            let (next, then) = self.layer(to, end);
            if next.is_some() != layer.is_some() {
                break;
            }
            to = then;
        }
        (layer.is_some(), to)
    }

    fn own_run(&self, at: u64, end: u64) -> (bool, u64) {
        let (there, granule) = self.map.run(at / GRANULE, end.div_ceil(GRANULE));
        (there, (granule * GRANULE).min(end))
    }

    /// Reads bytes that are in this overlay or one below it, from byte `at` of the image on.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        let (mut at, mut room) = (at, room);
        while self.lower.is_some() && !room.is_empty() {
            let (layer, to) = self.layer(at, at + room.len() as u64);
            let (now, later) = room.split_at_mut((to - at) as usize);
            let layer = layer.ok_or(io::ErrorKind::NotFound)?;
            layer.storage.read(layer.layout.data + at, now)?;
            (at, room) = (to, later);
        }
        self.storage.read(self.layout.data + at, room)
    }

    /// Whether byte `at`, which is in this overlay or one below it, is in a hole of that file, and where the hole or
    /// the data ends, at most at `end`.
    pub fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        let (layer, end) = self.layer(at, end);
        let layer = layer.unwrap_or(self);
        let data = layer.layout.data;
        let (hole, to) = layer.storage.hole(data + at, data + end);
        (hole, to - data)
    }

    /// Changes the version before anything else is written, so that overlays over the old one are told from it.
    fn change_version(&self) -> io::Result<()> {
        if self.changed.load(Ordering::Acquire) {
            return Ok(());
        }
        let _guard = lock(&self.changing);
        if self.changed.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut version = Version::default();
        let got = rustix::rand::getrandom(&mut version, GetRandomFlags::empty())?;
        // Bytes that are not random could be those of another version.
        if got != version.len() {
            return Err(io::Error::other("the system gives no random bytes"));
        }
        self.storage
            .write(VERSION_AT, &mut [IoSlice::new(&version)])?;
        self.sync()?;
        self.changed.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns when everything written before is durable.
    ///
    /// # Errors
    /// It may not be durable. After a disk error every flush fails, and the next server finds the data that was
    /// flushed before.
    pub fn flush(&self) -> io::Result<()> {
        self.commits.run(|| {
            // The granules in the map now were written before, so the first sync makes them durable.
            let pages = self.map.take_dirty();
            let done = self.sync().and_then(|()| match pages.is_empty() {
                true => Ok(()),
                false => {
                    self.map.write_durable(&*self.storage, &pages)?;
                    self.sync()
                }
            });
            if done.is_err() {
                self.map.mark_dirty(&pages);
            }
            done
        })
    }

    /// Makes everything durable, at the end of a server.
    ///
    /// # Errors
    /// It may not be durable.
    pub fn close(&self) -> Result<(), Error> {
        self.flush().map_err(|reason| Error::File {
            name: self.name.clone(),
            what: "make sure that what was written is on its disk",
            reason,
        })
    }

    /// Whether the system lost written data, so that no flush can succeed any more.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_lost() {
            return Err(rustix::io::Errno::IO.into());
        }
        let done = self.storage.sync();
        if done.is_err() {
            self.lost.store(true, Ordering::Relaxed);
            // The system treats lost pages as written, so the next server must trust the durable map only.
            let unknown = BootId::default();
            let _ = self.storage.write(BOOT_AT, &mut [IoSlice::new(&unknown)]);
        }
        done
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("name", &self.name)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
