//! Stacked overlays. Only the last one is written.

use std::io;
use std::path::{Path, PathBuf};

use super::base::Base;
use super::error::Error;
use super::write::ReadBase;
use super::{Overlay, WriteError};

impl Overlay {
    /// Opens stacked overlays, the first one on the image. The last one is writable, and is created if it does not
    /// exist; the others are read only. `None`: there are none.
    ///
    /// # Errors
    /// As [`Overlay::open`] and [`Overlay::read_only`]; or an overlay does not belong on the previous one in its
    /// current state.
    pub fn open_chain(paths: &[PathBuf], base: &Base) -> Result<Option<Overlay>, Error> {
        chain(paths, base, settled, Overlay::open)
    }

    /// Opens stacked overlays without writing to any. `None`: there are none.
    ///
    /// # Errors
    /// As [`Overlay::open_chain`].
    pub fn read_only_chain(paths: &[PathBuf], base: &Base) -> Result<Option<Overlay>, Error> {
        chain(paths, base, Overlay::read_only, Overlay::read_only)
    }

    /// The names of the overlays below this one, starting with the one on the image.
    pub fn lower_names(&self) -> Vec<&str> {
        let Some(lower) = &self.lower else {
            return Vec::new();
        };
        let mut names = lower.lower_names();
        names.push(lower.name());
        names
    }

    /// The number of bytes in this overlay or in those below it.
    pub fn bytes_of_chain(&self) -> u64 {
        let (mut at, mut bytes) = (0, 0);
        while at < self.layout.size {
            let (there, to) = self.run(at, self.layout.size);
            bytes += if there { to - at } else { 0 };
            at = to;
        }
        bytes
    }

    /// The overlay that has byte `at`, from this one downwards, and where the run of such bytes ends, at most at `end`.
    pub(super) fn layer(&self, at: u64, end: u64) -> (Option<&Overlay>, u64) {
        match (self.own_run(at, end), &self.lower) {
            ((false, to), Some(lower)) => lower.layer(at, to),
            ((false, to), None) => (None, to),
            ((true, to), _) => (Some(self), to),
        }
    }

    /// Reads bytes of one granule that is not in this overlay.
    pub(super) fn read_below(
        &self,
        at: u64,
        room: &mut [u8],
        base: ReadBase<'_>,
    ) -> Result<(), WriteError> {
        match &self.lower {
            Some(lower) if lower.run(at, at + 1).0 => lower.read(at, room).map_err(|error| {
                let said = format!("{} cannot be read at byte {at}: {error}", lower.name);
                WriteError::File(io::Error::other(said))
            }),
            _ => base(at, room),
        }
    }
}

type Open = fn(&Path, &Base) -> Result<Overlay, Error>;

fn chain(
    paths: &[PathBuf],
    base: &Base,
    open_lower: Open,
    open_last: Open,
) -> Result<Option<Overlay>, Error> {
    let Some((last, lower)) = paths.split_last() else {
        return Ok(None);
    };
    let (mut base, mut under) = (base.clone(), None);
    for path in lower {
        let mut overlay = open_lower(path, &base)?;
        base = base.over(&overlay.name, &overlay.version);
        overlay.lower = under.map(Box::new);
        under = Some(overlay);
    }
    let mut overlay = open_last(last, &base)?;
    overlay.lower = under.map(Box::new);
    Ok(Some(overlay))
}

/// Opens an overlay to be read, and makes durable what is in it: what is flushed into another over it depends on that.
fn settled(path: &Path, base: &Base) -> Result<Overlay, Error> {
    let overlay = Overlay::read_only(path, base)?;
    if overlay.map.is_durable() {
        overlay.close()?;
        return Ok(overlay);
    }
    // Its server was killed, or lost power.
    drop(overlay);
    Overlay::open(path, base)?.close()?;
    Overlay::read_only(path, base)
}
