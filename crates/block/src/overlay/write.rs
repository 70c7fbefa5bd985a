//! Bytes written, zeros, and what is no longer needed.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Overlay;
use super::error::Fault;
use super::header::GRANULE;

/// What zeros are written from where there can be no holes.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Fills room with the image's own bytes from a byte on.
pub type Rest<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> Result<(), Fault>;

impl Overlay {
    /// Whether writing these bytes needs some of the image's.
    pub fn needs_rest(&self, bytes: &Range<u64>) -> bool {
        let cut = |at: u64| {
            !at.is_multiple_of(GRANULE) && at < self.layout.size && !self.map.has(at / GRANULE)
        };
        cut(bytes.start) || cut(bytes.end)
    }

    /// Writes bytes of the image from byte `at` on. A granule that is not in the overlay comes into it whole, its other
    /// bytes by `rest`.
    ///
    /// # Errors
    /// The image or the overlay is in the way. Granules that were not in the overlay are not in it then; of others any of the
    /// bytes may be written.
    ///
    /// # Panics
    /// If the bytes go on behind the end of the image.
    pub fn write(&self, at: u64, bytes: &[u8], rest: Rest<'_>) -> Result<(), Fault> {
        let end = at + bytes.len() as u64;
        assert!(end <= self.layout.size, "bytes {at} to {end}");
        let granules = at / GRANULE..end.div_ceil(GRANULE);
        let there = self.map.run(granules.start, granules.end);
        if bytes.is_empty() || there == (true, granules.end) {
            return Ok(self.put(at, &mut [IoSlice::new(bytes)])?);
        }
        // Whoever fills up the same granule must not put old bytes over these.
        let _held = self.ranges.hold(granules.clone());
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
            rest(first, before)?;
        }
        if !behind.is_empty() {
            rest(end, behind)?;
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
        self.map.mark(&*self.medium, granules)?;
        Ok(())
    }

    fn put(&self, at: u64, slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.medium.write(self.layout.data + at, slices)
    }

    /// Makes bytes of the image zero, as holes unless they are to take `room`. If it is to be `fast` it is done as
    /// holes or not at all.
    ///
    /// # Errors
    /// As for [`Overlay::write`], and [`Fault::Slow`].
    pub fn zero(
        &self,
        bytes: Range<u64>,
        room: bool,
        fast: bool,
        rest: Rest<'_>,
    ) -> Result<(), Fault> {
        let whole = self.whole(&bytes);
        if whole.is_empty() {
            return self.fill(bytes, rest);
        }
        if !room && self.punch(whole.clone())? {
            let inner = whole.start * GRANULE..(whole.end * GRANULE).min(self.layout.size);
            self.fill(bytes.start..inner.start, rest)?;
            return self.fill(inner.end..bytes.end, rest);
        }
        match fast {
            true => Err(Fault::Slow),
            false => self.fill(bytes, rest),
        }
    }

    /// Gives the room of bytes back, which are zero from then on, where whole granules are among them and there can be
    /// holes; others stay as they are.
    ///
    /// # Errors
    /// As for [`Overlay::write`].
    pub fn trim(&self, bytes: &Range<u64>) -> Result<(), Fault> {
        let whole = self.whole(bytes);
        if !whole.is_empty() {
            self.punch(whole)?;
        }
        Ok(())
    }

    /// The granules of which all bytes are among these.
    fn whole(&self, bytes: &Range<u64>) -> Range<u64> {
        let start = bytes.start.div_ceil(GRANULE);
        match bytes.end == self.layout.size {
            true => start..self.layout.granules(),
            false => start..(bytes.end / GRANULE).max(start),
        }
    }

    /// Whether granules are zero now: holes can be made.
    fn punch(&self, granules: Range<u64>) -> Result<bool, Fault> {
        if !self.holes.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let _held = self.ranges.hold(granules.clone());
        let start = granules.start * GRANULE;
        let end = (granules.end * GRANULE).min(self.layout.size);
        match self.medium.punch(self.layout.data + start, end - start) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.holes.store(false, Ordering::Relaxed);
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        self.map.mark(&*self.medium, granules)?;
        Ok(true)
    }

    /// Writes zeros.
    fn fill(&self, bytes: Range<u64>, rest: Rest<'_>) -> Result<(), Fault> {
        let step = ZEROS.len() as u64;
        let mut at = bytes.start;
        while at < bytes.end {
            // Up to a whole granule, so that none in between is filled up from the image.
            let to = ((at / step + 1) * step).min(bytes.end);
            self.write(at, &ZEROS[..(to - at) as usize], rest)?;
            at = to;
        }
        Ok(())
    }
}
