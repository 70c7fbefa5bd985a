//! What was written to an image that is served, in a sparse file beside it.
//!
//! A *granule* of 4 KiB is in the overlay or it is not: then its bytes are those of the image. `FORMAT.md` says what
//! the file looks like. What was written into a page of the system outlives the process, what was flushed outlives a
//! power cut; so there are two maps, of which the second is only ever told of granules that have reached the disk.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `open.rs` | made, found, locked |
//! | `header.rs` | its first page, and where its parts lie |
//! | `base.rs` | what tells an image from others |
//! | `map.rs` | which granules are in it |
//! | `write.rs` | bytes written, zeros, what is no longer needed |
//! | `ranges.rs` | who works on which granules |
//! | `syncs.rs` | many flushes at once |
//! | `medium.rs` | what is asked of the file |
//! | `error.rs` | what can be wrong |

mod base;
mod error;
mod header;
mod map;
mod medium;
mod open;
mod ranges;
mod syncs;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};

use evener_files::SourceFile;

pub use base::Base;
pub use error::{Error, Fault};
pub use header::{GRANULE, MAX_SIZE};
pub use open::{About, is_overlay};
pub use write::Rest;

use header::{BOOT_AT, Layout};
use map::{Believed, Map};
use medium::Medium;
use ranges::Ranges;
use syncs::Syncs;

/// What a machine calls the time from one start to the next.
type Boot = [u8; 16];

/// An overlay that is open, and nobody else's. All of it works from any number of threads at once.
pub struct Overlay {
    name: String,
    source: SourceFile,
    layout: Layout,
    medium: Box<dyn Medium>,
    map: Map,
    ranges: Ranges,
    syncs: Syncs,
    /// The system could not write something, and forgets what: nothing is sure to be durable any more.
    lost: AtomicBool,
    /// Holes can be made, as far as is known.
    holes: AtomicBool,
}

impl Overlay {
    /// The overlay in a medium that has a header, to be written too if `writes` says so. `boot` is the machine's, if it
    /// tells.
    fn on(
        medium: Box<dyn Medium>,
        name: String,
        layout: Layout,
        boot: Option<Boot>,
        writes: bool,
    ) -> io::Result<Overlay> {
        let mut noted = Boot::default();
        medium.read(BOOT_AT, &mut noted)?;
        let same = boot == Some(noted);
        let believed = match (same, writes) {
            (true, _) => Believed::First,
            (false, true) => Believed::SecondIntoFirst,
            (false, false) => Believed::Second,
        };
        let map = Map::load(&*medium, layout, believed)?;
        if !same && writes {
            let boot = boot.unwrap_or_default();
            medium.write(BOOT_AT, &mut [IoSlice::new(&boot)])?;
        }
        Ok(Overlay {
            name,
            source: SourceFile::default(),
            layout,
            medium,
            map,
            ranges: Ranges::default(),
            syncs: Syncs::default(),
            lost: AtomicBool::new(false),
            holes: AtomicBool::new(true),
        })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file as the source of an output, where it is only read.
    pub fn source_file(&self) -> SourceFile {
        self.source
    }

    /// Bytes that are in it, zeros too.
    pub fn bytes(&self) -> u64 {
        (self.map.count() * GRANULE).min(self.layout.size)
    }

    /// Whether byte `at` of the image is in it, and up to where it is the same, `end` at most.
    pub fn run(&self, at: u64, end: u64) -> (bool, u64) {
        let (there, granule) = self.map.run(at / GRANULE, end.div_ceil(GRANULE));
        (there, (granule * GRANULE).min(end))
    }

    /// Bytes of the image that are in it, from byte `at` on.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.medium.read(self.layout.data + at, room)
    }

    /// Whether bytes that are in it take no room, and up to where it is the same, `end` at most.
    pub fn hole(&self, at: u64, end: u64) -> (bool, u64) {
        let data = self.layout.data;
        let (hole, to) = self.medium.hole(data + at, data + end);
        (hole, to - data)
    }

    /// Returns when all that was written before survives a power cut.
    ///
    /// # Errors
    /// It may not. After an error of the disk no flush succeeds any more, and whoever opens it next finds what was flushed
    /// before.
    pub fn flush(&self) -> io::Result<()> {
        self.syncs.join(|| {
            // What is in the map now was written before, and so is durable with the first sync.
            let pages = self.map.copy_dirty();
            let done = self.sync().and_then(|()| match pages.is_empty() {
                true => Ok(()),
                false => {
                    self.map.settle(&*self.medium, &pages)?;
                    self.sync()
                }
            });
            if done.is_err() {
                self.map.unsettle(&pages);
            }
            done
        })
    }

    /// Makes all durable, for a server that ends.
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

    /// Whether the system could not write something and has forgotten what, so that no flush succeeds any more.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_lost() {
            return Err(rustix::io::Errno::IO.into());
        }
        let done = self.medium.sync();
        if done.is_err() {
            self.lost.store(true, Ordering::Relaxed);
            // The system takes for written what it could not write, so the next server may believe the second map only.
            let nobodys = Boot::default();
            let _ = self.medium.write(BOOT_AT, &mut [IoSlice::new(&nobodys)]);
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
