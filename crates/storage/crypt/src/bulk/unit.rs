//! A unit of a file.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evener_runtime::buffer::{Aligned, Rows, RowsRef};

use super::Operation;

/// The default number of rows in a unit: a MiB of plaintext with rows of 16 KiB.
pub const UNIT_ROWS: usize = 64;

/// A unit of input: at most [`Operation::ROWS`] rows, fewer only at the end of a file.
pub struct UnitIn {
    bytes: Aligned<u8>,
    len: usize,
    /// Number of its first row in the file.
    pub first: u64,
    /// Whether the file ends with it.
    pub last: bool,
}

impl UnitIn {
    /// Allocates a unit of `O`.
    pub fn new<O: Operation>() -> UnitIn {
        UnitIn {
            bytes: Aligned::zeroed(O::ROWS * O::READ),
            len: 0,
            first: 0,
            last: false,
        }
    }

    /// The bytes that were read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The buffer to read into. [`UnitIn::keep`] sets how many of its bytes the unit has.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Makes the first `len` bytes of the buffer the unit.
    pub fn keep(&mut self, len: usize) {
        self.len = len.min(self.bytes.len());
    }
}

/// A unit of output.
pub struct UnitOut {
    pub(crate) rows: Rows<u8>,
    len: AtomicUsize,
    last: AtomicBool,
}

impl UnitOut {
    /// Allocates a unit of `O`.
    pub fn new<O: Operation>() -> UnitOut {
        UnitOut {
            rows: Rows::zeroed(O::WRITTEN, O::ROWS),
            len: AtomicUsize::new(0),
            last: AtomicBool::new(false),
        }
    }

    /// Sets the length. All jobs of a unit set the same.
    pub(crate) fn describe(&self, len: usize, last: bool) {
        self.len.store(len, Ordering::Relaxed);
        self.last.store(last, Ordering::Relaxed);
    }

    /// The number of bytes to write.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file ends with it.
    pub fn is_last(&self) -> bool {
        self.last.load(Ordering::Relaxed)
    }

    /// The rows, of which the first [`UnitOut::len`] bytes are the unit.
    pub fn bytes(&self) -> RowsRef<'_, u8> {
        self.rows.read()
    }
}
