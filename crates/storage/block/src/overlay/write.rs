//! Writes, zeros and trims.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Overlay;
use super::error::WriteError;
use super::header::GRANULE;
use crate::zero::ZEROS;

/// Reads bytes of the image alone.
pub type ReadBase<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> Result<(), WriteError>;

impl Overlay {
    /// Whether writing these bytes needs bytes of the image, to complete a granule.
    pub fn needs_base(&self, bytes: &Range<u64>) -> bool {
        let cut = |at: u64| {
            !at.is_multiple_of(GRANULE) && at < self.layout.size && !self.run(at, at + 1).0
        };
        cut(bytes.start) || cut(bytes.end)
    }

    /// Writes bytes from byte `at` of the image on. `base` completes a granule that is not in the overlay yet.
    ///
    /// # Errors
    /// The image cannot be read, or the overlay cannot be written. Granules that were not in the overlay are still
    /// not in it; in others any of the bytes may have been written.
    ///
    /// # Panics
    /// If the bytes reach beyond the end of the image.
    pub fn write(&self, at: u64, bytes: &[u8], base: ReadBase<'_>) -> Result<(), WriteError> {
        let end = at + bytes.len() as u64;
        assert!(end <= self.layout.size, "bytes {at} to {end}");
        let granules = at / GRANULE..end.div_ceil(GRANULE);
        if !bytes.is_empty() {
            self.change_version()?;
        }
        let there = self.map.run(granules.start, granules.end);
        if bytes.is_empty() || there == (true, granules.end) {
            return Ok(self.put(at, &mut [IoSlice::new(bytes)])?);
        }
        // Another thread that fills up the same granule must not put old bytes over these.
        let _guard = self.ranges.lock(granules.clone());
        let (mut front, mut back) = ([0; GRANULE as usize], [0; GRANULE as usize]);
        let first = granules.start * GRANULE;
        let last = (granules.end * GRANULE).min(self.layout.size);
        let before = match self.map.has(granules.start) {
            true => &mut [],
            false => &mut front[..(at - first) as usize],
        };
        let behind = match self.map.has(granules.end - 1) {
            true => &mut [],
            false => &mut back[..(last - end) as usize],
        };
        if !before.is_empty() {
            self.read_below(first, before, base)?;
        }
        if !behind.is_empty() {
            self.read_below(end, behind, base)?;
        }
        let from = at - before.len() as u64;
        self.put(
            from,
            &mut [
                IoSlice::new(before),
                IoSlice::new(bytes),
                IoSlice::new(behind),
            ],
        )?;
        self.map.mark(&*self.storage, granules)?;
        Ok(())
    }

    fn put(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.storage.write(self.layout.data + at, slices)
    }

    /// Makes bytes of the image zero. They become holes if possible, unless `allocate` forbids it. With `fast` they
    /// become holes or stay unchanged.
    ///
    /// # Errors
    /// As for [`Overlay::write`], and [`WriteError::Slow`].
    pub fn zero(
        &self,
        bytes: Range<u64>,
        allocate: bool,
        fast: bool,
        base: ReadBase<'_>,
    ) -> Result<(), WriteError> {
        let whole = self.whole(&bytes);
        if whole.is_empty() {
            return self.fill(bytes, base);
        }
        if !allocate && self.punch(whole.clone())? {
            let inner = whole.start * GRANULE..(whole.end * GRANULE).min(self.layout.size);
            self.fill(bytes.start..inner.start, base)?;
            return self.fill(inner.end..bytes.end, base);
        }
        match fast {
            true => Err(WriteError::Slow),
            false => self.fill(bytes, base),
        }
    }

    /// Frees the space of whole granules, which then are zero, if the storage has holes. Other bytes stay unchanged.
    ///
    /// # Errors
    /// As for [`Overlay::write`].
    pub fn trim(&self, bytes: &Range<u64>) -> Result<(), WriteError> {
        let whole = self.whole(bytes);
        if !whole.is_empty() {
            self.punch(whole)?;
        }
        Ok(())
    }

    /// The granules that lie in these bytes as a whole.
    fn whole(&self, bytes: &Range<u64>) -> Range<u64> {
        let start = bytes.start.div_ceil(GRANULE);
        match bytes.end == self.layout.size {
            true => start..self.layout.granules(),
            false => start..(bytes.end / GRANULE).max(start),
        }
    }

    /// Makes granules holes. `false`: the storage has none.
    fn punch(&self, granules: Range<u64>) -> Result<bool, WriteError> {
        if !self.holes.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.change_version()?;
        let _guard = self.ranges.lock(granules.clone());
        let start = granules.start * GRANULE;
        let end = (granules.end * GRANULE).min(self.layout.size);
        match self.storage.punch(self.layout.data + start, end - start) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.holes.store(false, Ordering::Relaxed);
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        self.map.mark(&*self.storage, granules)?;
        Ok(true)
    }

    /// Writes zeros.
    fn fill(&self, bytes: Range<u64>, base: ReadBase<'_>) -> Result<(), WriteError> {
        let step = ZEROS.len() as u64;
        let mut at = bytes.start;
        while at < bytes.end {
            // Each step but the last ends with a granule, so that none in between is filled up from the image.
            let to = ((at / step + 1) * step).min(bytes.end);
            self.write(at, &ZEROS[..(to - at) as usize], base)?;
            at = to;
        }
        Ok(())
    }
}
