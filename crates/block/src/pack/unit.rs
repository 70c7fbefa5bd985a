//! A unit of an image that is packed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evener_runtime::buffer::{Rows, RowsRef};

use crate::hash::Hash;

/// What a unit is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first byte in the image.
    pub start: u64,
    /// Bytes of it: whole blocks, unless the image ends with it.
    pub len: u64,
    /// All of them are zero, and there may be any number.
    pub zero: bool,
    /// The image ends with it.
    pub last: bool,
}

/// A unit as it is read.
pub struct UnitIn {
    /// Where it lies.
    pub span: Span,
    /// Its bytes, where they come from a pipe and could not be read again.
    pub bytes: Vec<u8>,
}

/// What became of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// All of it is zero.
    #[default]
    Zero,
    /// It was packed.
    Packed {
        /// Number of the codec.
        codec: u8,
        /// Packed bytes.
        len: usize,
        /// Of the bytes before they were packed.
        hash: Hash,
        /// Of the packed bytes.
        sum: u32,
    },
}

/// A unit as it is written.
pub struct UnitOut {
    pub(super) rows: Rows<u8>,
    heads: Box<[Mutex<Head>]>,
    span: Mutex<Span>,
}

impl UnitOut {
    /// Room for `blocks` blocks that are packed in up to `room` bytes each.
    pub(super) fn new(room: usize, blocks: usize) -> UnitOut {
        UnitOut {
            rows: Rows::zeroed(room, blocks),
            heads: (0..blocks).map(|_| Mutex::default()).collect(),
            span: Mutex::default(),
        }
    }

    /// What all jobs of a unit say alike.
    pub(super) fn describe(&self, span: Span) {
        *lock(&self.span) = span;
    }

    pub(super) fn put(&self, block: usize, head: Head) {
        *lock(&self.heads[block]) = head;
    }

    /// Where it lies.
    pub fn span(&self) -> Span {
        *lock(&self.span)
    }

    /// What became of one of its blocks.
    pub fn head(&self, block: usize) -> Head {
        *lock(&self.heads[block])
    }

    /// Packed blocks, each at the beginning of a row.
    pub fn rows(&self) -> RowsRef<'_, u8> {
        self.rows.read()
    }

    /// Bytes of a row.
    pub fn width(&self) -> usize {
        self.rows.width()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is replaced as a whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
