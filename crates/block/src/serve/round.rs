//! Several ranges of the image at once, for a server that has many requests and one thread to answer them.

use std::ops::Range;

use evener_runtime::Pool;

use super::cache::Plain;
use super::store::{Bad, Coming, Piece, Store, Window};
use crate::image::Block;

/// Some bytes of a range.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// So many zeros.
    Zero(u64),
    /// These.
    Bytes(&'a [u8]),
}

impl Piece {
    /// Its bytes.
    pub fn part(&self) -> Part<'_> {
        match self {
            Piece::Zero(len) => Part::Zero(*len),
            Piece::Data(plain, range) => Part::Bytes(&plain.bytes()[range.clone()]),
        }
    }
}

/// Ranges that are worked on together: what they lack is decoded as one batch, so that workers have something to do
/// even where each range is a part of one block. Kept from one round to the next, so that it need not grow again.
#[derive(Debug, Default)]
pub struct Round {
    windows: Vec<Window>,
    /// How many of the windows are in use.
    used: usize,
    /// What has to be decoded: windows, and places among their leads.
    leads: Vec<(usize, usize)>,
}

impl Round {
    /// With no range.
    pub fn new() -> Round {
        Round::default()
    }

    /// How many ranges it has.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many blocks are to be decoded for it.
    pub fn blocks(&self) -> usize {
        self.leads.len()
    }

    /// Looks a range up. One that is all there does not become a part of the
    /// round: its pieces come back instead. Whoever has looked has to [deliver](Store::deliver), as others may wait.
    ///
    /// # Errors
    /// The image cannot say where its bytes are.
    pub fn look(&mut self, store: &Store, range: Range<u64>) -> Result<Option<&[Piece]>, Bad> {
        if self.used == self.windows.len() {
            self.windows.push(Window::default());
        }
        let window = &mut self.windows[self.used];
        window.whole = true;
        store.look(range, u64::MAX, window)?;
        if !window.is_cold() {
            return Ok(Some(window.pieces()));
        }
        let number = self.used;
        self.leads
            .extend((0..window.leads.len()).map(|lead| (number, lead)));
        self.used += 1;
        Ok(None)
    }

    /// [Reads ahead](Store::prefetch), while the round has no range.
    pub fn prefetch(&mut self, store: &Store, pool: &Pool, range: Range<u64>) {
        if self.windows.is_empty() {
            self.windows.push(Window::default());
        }
        if self.used == 0 {
            store.prefetch(pool, range, &mut self.windows[0]);
        }
    }

    /// Lets go of all ranges.
    pub fn clear(&mut self) {
        self.windows[..self.used].iter_mut().for_each(Window::clear);
        self.leads.clear();
        self.used = 0;
    }
}

impl Store {
    /// Brings what the ranges of a round lack, on the workers of `pool` and this thread, and ends the round. `put` gets
    /// all bytes of all ranges, in parts, each with the number of its range and where in it it begins; what was decoded
    /// it gets on the thread that has decoded it, the rest on this one. `done` is called when a range has all, or lacks
    /// some for ever.
    pub fn deliver(
        &self,
        pool: &Pool,
        round: &mut Round,
        put: impl Fn(usize, u64, Part<'_>) + Sync,
        mut done: impl FnMut(usize, Result<(), Bad>),
    ) {
        let (windows, leads) = (&round.windows, &round.leads);
        let ready = |number: usize, block: &Block, plain: &Plain| {
            let window = leads[number].0;
            let (at, part) = windows[window].part_of(block);
            put(window, at, Part::Bytes(&plain.bytes()[part]));
        };
        let lead = |number: usize| {
            let (window, lead) = leads[number];
            &windows[window].leads[lead]
        };
        self.decode_each(pool, leads.len(), lead, ready);
        // Only now, when nobody waits for this thread any more.
        for (number, window) in round.windows[..round.used].iter_mut().enumerate() {
            let outcome = self.rest(window, |at, part| put(number, at, part));
            done(number, outcome);
        }
        round.clear();
    }

    /// Puts what was not decoded for this window.
    fn rest(&self, window: &mut Window, put: impl Fn(u64, Part<'_>)) -> Result<(), Bad> {
        let mut at = 0;
        let mut coming = window.coming.drain(..).peekable();
        for (place, piece) in window.pieces.iter().enumerate() {
            let bad = Bad {
                at: window.from + at,
            };
            match coming.next_if(|(due, _)| *due == place) {
                None => put(at, piece.part()),
                // Whoever decoded it for this window has put it.
                Some((_, Coming::Mine(flight, _))) => {
                    flight.wait().as_ref().ok_or(bad)?;
                }
                Some((_, Coming::Theirs(flight, part, start))) => {
                    let plain = self.theirs(&flight, start, part.end).ok_or(bad)?;
                    put(at, Part::Bytes(&plain.bytes()[part]));
                }
                Some((_, Coming::File(offset, len, from))) => {
                    put(at, self.read(offset, len, from).ok_or(bad)?.part());
                }
                Some((_, Coming::Over(from, len))) => {
                    put(at, self.read_over(from, len).ok_or(bad)?.part());
                }
            }
            at += piece.len();
        }
        Ok(())
    }
}
