//! A unit of a file.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evener_runtime::buffer::{Aligned, Rows, RowsRef};

use super::Operation;

/// Rows of a unit: with rows of 16 KiB a MiB of text.
pub const UNIT_ROWS: usize = 64;

/// A unit as it is read: at most [`UNIT_ROWS`] rows, fewer only at the end of a file.
pub struct UnitIn {
    bytes: Aligned<u8>,
    len: usize,
    /// Number of its first row in the file.
    pub first: u64,
    /// Whether the file ends with it.
    pub last: bool,
}

impl UnitIn {
    /// Room for a unit of `O`.
    pub fn new<O: Operation>() -> UnitIn {
        UnitIn {
            bytes: Aligned::zeroed(UNIT_ROWS * O::READ),
            len: 0,
            first: 0,
            last: false,
        }
    }

    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// All there is room for; [`UnitIn::keep`] says what of it counts.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The unit is the first `len` bytes of its room.
    pub fn keep(&mut self, len: usize) {
        self.len = len.min(self.bytes.len());
    }
}

/// A unit as it is written.
pub struct UnitOut {
    pub(crate) rows: Rows<u8>,
    len: AtomicUsize,
    last: AtomicBool,
}

impl UnitOut {
    /// Room for a unit of `O`.
    pub fn new<O: Operation>() -> UnitOut {
        UnitOut {
            rows: Rows::zeroed(O::WRITTEN, UNIT_ROWS),
            len: AtomicUsize::new(0),
            last: AtomicBool::new(false),
        }
    }

    /// What all jobs of a unit say alike.
    pub(crate) fn describe(&self, len: usize, last: bool) {
        self.len.store(len, Ordering::Relaxed);
        self.last.store(last, Ordering::Relaxed);
    }

    /// Bytes to write.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file ends with it.
    pub fn is_last(&self) -> bool {
        self.last.load(Ordering::Relaxed)
    }

    /// The rows; of these [`UnitOut::len`] bytes count.
    pub fn bytes(&self) -> RowsRef<'_, u8> {
        self.rows.read()
    }
}
