//! A unit of an image that is packed.

use std::sync::Mutex;

use evener_files::{lock, unpoisoned};
use evener_runtime::buffer::{Rows, RowsRef};

use crate::hash::Hash;

/// The part of an image that a unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first byte in the image.
    pub start: u64,
    /// Bytes of it: whole blocks, unless the image ends with it.
    pub len: u64,
    /// All of them are zero. Then there may be any number.
    pub zero: bool,
    /// The image ends with it.
    pub last: bool,
}

/// A unit as it is read.
pub struct UnitIn {
    /// Where it lies.
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
    /// It was packed.
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

/// A unit as it is written.
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

    /// Where it lies.
    pub fn span(&self) -> Span {
        *lock(&self.span)
    }

    /// The result of one of its blocks.
    pub fn result(&self, block: usize) -> BlockResult {
        *unpoisoned(self.results[block].lock())
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
