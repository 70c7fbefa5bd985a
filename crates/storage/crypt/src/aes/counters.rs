//! Groups of counters after the first round, which costs one addition a block.
//!
//! Counters that differ in the last byte alone differ after the first round in one column, by what that byte and the key
//! decide. A table has this difference for every byte, so of 256 counters one goes through the round and the others
//! follow. The table is read by the number of a block, which is no secret: the time that takes tells nothing of the key.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::blocks::Blocks;
use super::ctr::GROUP;
use super::schedule::RoundKeys;

/// Counters that one entry of the table each serves.
const RUN: usize = 256;

/// What the last byte of a counter changes after the first round, against the byte 0.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(super) struct Changes([[u8; 16]; RUN]);

impl Changes {
    /// A table that is not set yet.
    pub(super) fn empty() -> Self {
        Changes([[0; 16]; RUN])
    }

    /// Sets it for the first of the round keys.
    #[inline(always)]
    pub(super) fn set<B: Blocks>(&mut self, b: B, first_key: &[u8; 64]) {
        let b = b.single();
        // SAFETY: 16 bytes are loaded from and stored in arrays of no less.
        unsafe {
            let key = b.load(first_key.as_ptr());
            let zero = b.xor(key, key);
            let origin = b.round(key, zero);
            for (byte, difference) in self.0.iter_mut().enumerate() {
                let counter = b.reversed(b.counters(byte as u128));
                let state = b.round(b.xor(counter, key), zero);
                b.store(b.xor(state, origin), difference.as_mut_ptr());
            }
        }
    }

    /// The differences of the counters from `at` on, one for each block of a register.
    ///
    /// # Safety
    /// They are in the table: `at` and the blocks of a register make at most [`RUN`].
    #[inline(always)]
    unsafe fn of<B: Blocks>(&self, b: B, at: usize) -> B::V {
        // SAFETY: the caller's promise.
        unsafe { b.load(self.0.as_ptr().add(at).cast()) }
    }
}

/// Counters that a kernel goes through group by group.
pub(super) struct Counters<B: Blocks> {
    /// Those of the next group's first register, as numbers.
    next: B::V,
    /// The last byte of the first of them.
    at: usize,
    /// That counter with 0 for its last byte, after the first round, in every block.
    base: B::V,
}

impl<B: Blocks> Counters<B> {
    /// Those from `first` on.
    #[inline(always)]
    pub(super) fn new(b: B, keys: &RoundKeys, first: u128) -> Self {
        Counters::from(b, keys, b.counters(first), usize::from(first as u8))
    }

    #[inline(always)]
    fn from(b: B, keys: &RoundKeys, next: B::V, at: usize) -> Self {
        let run = b.add(b.repeated(next), (at as u64).wrapping_neg());
        let base = first_round(b, keys, run);
        Counters { next, at, base }
    }

    /// A group of counters after the first round. Their lower 64 bits do not pass their end within the group.
    #[inline(always)]
    pub(super) fn group(&mut self, b: B, keys: &RoundKeys) -> [B::V; GROUP] {
        let mut states = [self.base; GROUP];
        let end = self.at + GROUP * B::N;
        if end <= RUN {
            for (i, state) in states.iter_mut().enumerate() {
                // SAFETY: what is read lies before `end`.
                *state = b.xor(*state, unsafe { keys.changes().of(b, self.at + i * B::N) });
            }
        } else {
            for (i, state) in states.iter_mut().enumerate() {
                *state = first_round(b, keys, b.add(self.next, (i * B::N) as u64));
            }
        }
        self.next = b.add(self.next, (GROUP * B::N) as u64);
        self.at = end;
        if end >= RUN {
            *self = Counters::from(b, keys, self.next, end - RUN);
        }
        states
    }
}

/// Numbers as counters, after the first round.
#[inline(always)]
fn first_round<B: Blocks>(b: B, keys: &RoundKeys, numbers: B::V) -> B::V {
    // SAFETY: every key has more than two rounds.
    unsafe { b.round(b.xor(b.reversed(numbers), keys.of(b, 0)), keys.of(b, 1)) }
}
