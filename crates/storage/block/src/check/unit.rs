//! A unit of an image that is decoded.

use std::sync::{Mutex, MutexGuard};

use evener_files::lock;
use evener_runtime::buffer::{Rows, RowsRef};

use crate::block::Block;

/// A unit of input: its blocks.
#[derive(Default)]
pub struct UnitIn {
    pub(super) blocks: Vec<Block>,
    pub(super) last: bool,
}

/// A part of an image, for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its length in bytes.
    pub len: u64,
    /// Whether all bytes are zero. The unit does not contain them then.
    pub zero: bool,
}

/// A unit of output.
pub struct UnitOut {
    pub(super) rows: Rows<u8>,
    pieces: Mutex<(Vec<Piece>, bool)>,
}

impl UnitOut {
    /// Room for `blocks` blocks of up to `block` bytes.
    pub(super) fn new(block: usize, blocks: usize) -> UnitOut {
        UnitOut {
            rows: Rows::zeroed(block, blocks),
            pieces: Mutex::new((Vec::with_capacity(blocks), false)),
        }
    }

    fn pieces_mut(&self) -> MutexGuard<'_, (Vec<Piece>, bool)> {
        lock(&self.pieces)
    }

    /// Sets the pieces. All jobs of a unit set the same.
    pub(super) fn describe(&self, pieces: impl Iterator<Item = Piece>, last: bool) {
        let mut all = self.pieces_mut();
        all.0.clear();
        all.0.extend(pieces);
        all.1 = last;
    }

    /// Its pieces, and whether the image ends with them. Unless piece n is zero, its bytes are at the beginning of row
    /// n.
    pub(super) fn pieces(&self) -> impl std::ops::Deref<Target = (Vec<Piece>, bool)> + '_ {
        self.pieces_mut()
    }

    /// The rows.
    pub fn rows(&self) -> RowsRef<'_, u8> {
        self.rows.read()
    }

    /// The number of bytes in a row.
    pub fn width(&self) -> usize {
        self.rows.width()
    }
}
