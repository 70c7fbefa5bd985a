//! Several ranges of the image at once, for a server with many requests and one thread to answer them.

use std::ops::Range;

use evener_runtime::Pool;

use super::cache::DecodedBlock;
use super::store::{Pending, Piece, ReadFailure, Store, Window};
use crate::block::Block;

/// The bytes of a piece.
#[derive(Clone, Copy, Debug)]
pub enum PieceBytes<'a> {
    /// A number of zeros.
    Zero(u64),
    /// These bytes.
    Bytes(&'a [u8]),
}

impl Piece {
    /// Its bytes.
    pub fn piece_bytes(&self) -> PieceBytes<'_> {
        match self {
            Piece::Zero(len) => PieceBytes::Zero(*len),
            Piece::Data(block, range) => PieceBytes::Bytes(&block.bytes()[range.clone()]),
        }
    }
}

/// Ranges that are read together. Their missing blocks are decoded at once, so that all workers are busy even if each
/// range is in a single block. The memory is kept from one batch to the next.
#[derive(Debug, Default)]
pub struct ReadBatch {
    windows: Vec<Window>,
    /// How many of the windows are in use.
    used: usize,
    /// What has to be decoded: the number of a window and of a task of it.
    tasks: Vec<(usize, usize)>,
}

impl ReadBatch {
    /// Creates a batch without ranges.
    pub fn new() -> ReadBatch {
        ReadBatch::default()
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The number of blocks to decode.
    pub fn blocks(&self) -> usize {
        self.tasks.len()
    }

    /// Looks up a range. If all of it is decoded, its pieces are returned and it does not become part of the batch.
    /// Otherwise the caller must [deliver](Store::deliver) the batch, since other threads may wait for its blocks.
    ///
    /// # Errors
    /// The image cannot locate the bytes.
    pub fn add(
        &mut self,
        store: &Store,
        range: Range<u64>,
    ) -> Result<Option<&[Piece]>, ReadFailure> {
        if self.used == self.windows.len() {
            self.windows.push(Window::default());
        }
        let window = &mut self.windows[self.used];
        window.whole_blocks = true;
        store.look_up(range, u64::MAX, window)?;
        if !window.has_pending() {
            return Ok(Some(window.pieces()));
        }
        let number = self.used;
        self.tasks
            .extend((0..window.tasks.len()).map(|task| (number, task)));
        self.used += 1;
        Ok(None)
    }

    /// [Reads ahead](Store::prefetch), while the batch has no range.
    pub fn prefetch(&mut self, store: &Store, pool: &Pool, range: Range<u64>) {
        if self.windows.is_empty() {
            self.windows.push(Window::default());
        }
        if self.used == 0 {
            store.prefetch(pool, range, &mut self.windows[0]);
        }
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.windows[..self.used].iter_mut().for_each(Window::clear);
        self.tasks.clear();
        self.used = 0;
    }
}

impl Store {
    /// Decodes and reads the missing blocks of a batch, on the workers of `pool` and this thread, and clears the
    /// batch.
    ///
    /// `put` gets all bytes of all ranges, in parts: the number of the range, the offset of the part in the range,
    /// and its bytes. The thread that decodes a block for this batch calls `put` for it; this thread does so for all
    /// others. `done` is called when a range has all its bytes, or will never have them.
    pub fn deliver(
        &self,
        pool: &Pool,
        batch: &mut ReadBatch,
        put: impl Fn(usize, u64, PieceBytes<'_>) + Sync,
        mut done: impl FnMut(usize, Result<(), ReadFailure>),
    ) {
        let (windows, tasks) = (&batch.windows, &batch.tasks);
        let ready = |number: usize, block: &Block, decoded: &DecodedBlock| {
            let window = tasks[number].0;
            let (at, part) = windows[window].part_of(block);
            put(window, at, PieceBytes::Bytes(&decoded.bytes()[part]));
        };
        let task = |number: usize| {
            let (window, task) = tasks[number];
            &windows[window].tasks[task]
        };
        self.decode_each(pool, tasks.len(), task, ready);
        // This comes after decoding, when no thread waits for this one any more.
        for (number, window) in batch.windows[..batch.used].iter_mut().enumerate() {
            let outcome = self.deliver_rest(window, |at, part| put(number, at, part));
            done(number, outcome);
        }
        batch.clear();
    }

    /// Delivers what was not decoded for this window.
    fn deliver_rest(
        &self,
        window: &mut Window,
        put: impl Fn(u64, PieceBytes<'_>),
    ) -> Result<(), ReadFailure> {
        let mut at = 0;
        let mut pending = window.pending.drain(..).peekable();
        for (place, piece) in window.pieces.iter().enumerate() {
            let failure = ReadFailure {
                at: window.from + at,
            };
            match pending.next_if(|(number, _)| *number == place) {
                None => put(at, piece.piece_bytes()),
                // The thread that decoded it has called `put`.
                Some((_, Pending::Own(block, _))) => {
                    block.wait().as_ref().ok_or(failure)?;
                }
                Some((_, Pending::Other(block, part, start))) => {
                    let block = self.wait_for(&block, start, part.end).ok_or(failure)?;
                    put(at, PieceBytes::Bytes(&block.bytes()[part]));
                }
                Some((_, Pending::Stored(offset, len, from))) => {
                    let read = self.read_stored(offset, len, from).ok_or(failure)?;
                    put(at, read.piece_bytes());
                }
                Some((_, Pending::Overlay(from, len))) => {
                    put(
                        at,
                        self.read_overlay(from, len).ok_or(failure)?.piece_bytes(),
                    );
                }
            }
            at += piece.len();
        }
        Ok(())
    }
}
