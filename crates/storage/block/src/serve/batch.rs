//! Several ranges of the image at once, for a server that has many requests and one thread to answer them.

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
    /// These.
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

/// Ranges that are read together. What they lack is decoded at once, so that all workers have something to do even where
/// each range lies in one block. Its memory is kept from one batch to the next.
#[derive(Debug, Default)]
pub struct ReadBatch {
    windows: Vec<Window>,
    /// How many of the windows are in use.
    used: usize,
    /// What has to be decoded: the number of a window and of a task of it.
    tasks: Vec<(usize, usize)>,
}

impl ReadBatch {
    /// A batch without ranges.
    pub fn new() -> ReadBatch {
        ReadBatch::default()
    }

    /// How many ranges it has.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many blocks have to be decoded for it.
    pub fn blocks(&self) -> usize {
        self.tasks.len()
    }

    /// Looks up a range. If all of it is there, its pieces are returned and it does not become a part of the batch.
    /// Otherwise the caller has to [deliver](Store::deliver) the batch, since other threads may wait for its blocks.
    ///
    /// # Errors
    /// The image cannot say where its bytes are.
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
    /// Decodes and reads what the ranges of a batch lack, on the workers of `pool` and this thread, and clears the
    /// batch.
    ///
    /// `put` gets all bytes of all ranges, in parts: the number of the range, where in the range the part begins, and
    /// its bytes. The thread that decodes a block for this batch calls `put` for it, this thread for all else. `done`
    /// is called when a range has all its bytes, or will never have them.
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
