//! What was written to an image that is served: a sparse file beside it.
//!
//! A *granule* of 4 KiB is in the overlay as a whole, or not at all; then its bytes are those of the image. `FORMAT.md`
//! describes the file. What was written survives the end of the process, since it is in the page cache, but only what
//! was flushed survives a power cut. So there are two maps of granules. The second has only those that have reached the
//! disk.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `open.rs` | creating, finding and locking overlays |
//! | `header.rs` | the first page, and where the parts of the file lie |
//! | `base.rs` | the image under an overlay, and how it is identified |
//! | `map.rs` | which granules are in the overlay |
//! | `write.rs` | writes, zeros and trims |
//! | `range_lock.rs` | which thread works on which granules |
//! | `group_commit.rs` | many flushes at once |
//! | `storage.rs` | what is asked of the file |
//! | `error.rs` | errors |

mod base;
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
use std::sync::atomic::{AtomicBool, Ordering};

use evener_files::SourceFile;

pub use base::Base;
pub use error::{Error, WriteError};
pub use header::{GRANULE, MAX_SIZE};
pub use open::{OverlaySummary, is_overlay};
pub use write::ReadBase;

use group_commit::GroupCommit;
use header::{BOOT_AT, Layout};
use map::{Map, TrustedMap};
use range_lock::RangeLock;
use storage::Storage;

/// The identity of a boot of the machine.
type BootId = [u8; 16];

/// An open and locked overlay. Any number of threads can use it at once.
pub struct Overlay {
    name: String,
    source: SourceFile,
    layout: Layout,
    storage: Box<dyn Storage>,
    map: Map,
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
            ranges: RangeLock::default(),
            commits: GroupCommit::default(),
            lost: AtomicBool::new(false),
            holes: AtomicBool::new(true),
        })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file as a source of an output. It is set only where the overlay is read only.
    pub fn source_file(&self) -> SourceFile {
        self.source
    }

    /// Bytes that are in it, zeros too.
    pub fn bytes(&self) -> u64 {
        (self.map.count() * GRANULE).min(self.layout.size)
    }

    /// Whether byte `at` of the image is in it, and where the run of such bytes ends, at most at `end`.
    pub fn run(&self, at: u64, end: u64) -> (bool, u64) {
        let (there, granule) = self.map.run(at / GRANULE, end.div_ceil(GRANULE));
        (there, (granule * GRANULE).min(end))
    }

    /// Reads bytes that are in it, from byte `at` of the image on.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.storage.read(self.layout.data + at, room)
    }

    /// Whether byte `at`, which is in it, lies in a hole of the file, and where the hole or the data ends, at most at
    /// `end`.
    pub fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        let data = self.layout.data;
        let (hole, to) = self.storage.hole(data + at, data + end);
        (hole, to - data)
    }

    /// Returns when all that was written before is durable.
    ///
    /// # Errors
    /// It may not be. After an error of the disk every flush fails, and the next server finds what was flushed before.
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
    /// It may not be.
    pub fn close(&self) -> Result<(), Error> {
        self.flush().map_err(|reason| Error::File {
            name: self.name.clone(),
            what: "make sure that what was written is on its disk",
            reason,
        })
    }

    /// Whether the system lost something that was written, so that no flush can succeed any more.
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
