//! A unit of an image that is packed.

use std::sync::Mutex;

use evener_files::{lock, unpoisoned};
use evener_runtime::buffer::{Rows, RowsRef};

use crate::hash::Hash;

/// The part of an image that a unit covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first byte in the image.
    pub start: u64,
    /// Its length in bytes: whole blocks, unless the image ends with it.
    pub len: u64,
    /// Whether all bytes are zero. The length is then unlimited.
    pub zero: bool,
    /// Whether the image ends with it.
    pub last: bool,
}

/// A unit of input.
pub struct UnitIn {
    /// Its part of the image.
    pub span: Span,
    /// Its bytes, if they come from a pipe.
    pub bytes: Vec<u8>,
}

/// The result of packing a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockResult {
    /// All of it is zero.
    #[default]
    Zero,
    /// The block was packed.
    Packed {
        /// The number of the codec.
        codec: u8,
        /// Packed bytes.
        len: usize,
        /// The hash of the bytes before packing.
        hash: Hash,
        /// The checksum of the packed bytes.
        sum: u32,
    },
}

/// A unit of output.
pub struct UnitOut {
    pub(super) rows: Rows<u8>,
    results: Box<[Mutex<BlockResult>]>,
    span: Mutex<Span>,
}

impl UnitOut {
    /// Room for `blocks` blocks that are packed in up to `room` bytes each.
    pub(super) fn new(room: usize, blocks: usize) -> UnitOut {
        UnitOut {
            rows: Rows::zeroed(room, blocks),
            results: (0..blocks).map(|_| Mutex::default()).collect(),
            span: Mutex::default(),
        }
    }

    /// Sets the span. All jobs of a unit set the same.
    pub(super) fn describe(&self, span: Span) {
        *lock(&self.span) = span;
    }

    pub(super) fn put(&self, block: usize, result: BlockResult) {
        *unpoisoned(self.results[block].lock()) = result;
    }

    /// Its part of the image.
    pub fn span(&self) -> Span {
        *lock(&self.span)
    }

    /// The result for one of its blocks.
    pub fn result(&self, block: usize) -> BlockResult {
        *unpoisoned(self.results[block].lock())
    }

    /// Packed blocks, each at the start of a row.
    pub fn rows(&self) -> RowsRef<'_, u8> {
        self.rows.read()
    }

    /// The number of bytes in a row.
    pub fn width(&self) -> usize {
        self.rows.width()
    }
}
