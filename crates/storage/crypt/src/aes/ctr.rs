//! Counter mode on whole blocks.

use super::blocks::Blocks;
use super::counters::Counters;
use super::schedule::RoundKeys;
use super::{Token, compiled};

/// Registers that are computed at once. A round takes 3 or 4 clocks, and two begin in each clock.
pub(super) const GROUP: usize = 8;

/// A key, ready for counter mode.
pub(crate) struct CtrKernel {
    token: Token,
    keys: Box<RoundKeys>,
}

impl CtrKernel {
    /// The kernel for a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// The key has another length.
    pub(crate) fn new(token: Token, key: &[u8]) -> Self {
        let mut keys = Box::new(RoundKeys::empty());
        keys.set(token, key);
        CtrKernel { token, keys }
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// Adds the key stream from block number `counter` on to `buf`.
    ///
    /// # Panics
    /// `buf` is not a whole number of blocks.
    pub(crate) fn apply(&self, counter: u128, buf: &mut [u8]) {
        assert!(buf.len().is_multiple_of(16));
        let at = buf.as_mut_ptr();
        // SAFETY: the slice has this number of bytes, and they may be read and written.
        unsafe { self.run(counter, at, at, buf.len() / 16) }
    }

    /// The same from one buffer to another.
    ///
    /// # Panics
    /// `input` is not a whole number of blocks, or `output` has another length.
    pub(crate) fn apply_to(&self, counter: u128, input: &[u8], output: &mut [u8]) {
        assert!(input.len().is_multiple_of(16) && input.len() == output.len());
        // SAFETY: both slices have this number of bytes.
        unsafe {
            self.run(
                counter,
                input.as_ptr(),
                output.as_mut_ptr(),
                input.len() / 16,
            )
        }
    }

    /// # Safety
    /// Of [`stream`].
    unsafe fn run(&self, counter: u128, from: *const u8, to: *mut u8, blocks: usize) {
        let (mut counter, mut done) = (counter, 0);
        while done < blocks {
            // Registers count in 64 bits, so a run ends where these overflow.
            let room = (1u128 << 64) - (counter & u128::from(u64::MAX));
            let run = room.min((blocks - done) as u128) as usize;
            // SAFETY: `done + run` is at most `blocks`; the rest is the caller's promise.
            unsafe {
                apply_run(
                    self.token,
                    &self.keys,
                    counter,
                    from.add(16 * done),
                    to.add(16 * done),
                    run,
                )
            }
            counter = counter.wrapping_add(run as u128);
            done += run;
        }
    }
}

compiled! {
    unsafe fn apply_run(keys: &RoundKeys, counter: u128, from: *const u8, to: *mut u8, blocks: usize) = stream;
}

/// Adds the key stream from `counter` on to `blocks` blocks.
///
/// # Safety
/// `16 * blocks` bytes can be read from `from` and written to `to`, which are the same or do not overlap. The lower 64
/// bits of the counter do not pass their end on the way.
#[inline(always)]
pub(super) unsafe fn stream<B: Blocks>(
    b: B,
    keys: &RoundKeys,
    counter: u128,
    mut from: *const u8,
    mut to: *mut u8,
    blocks: usize,
) {
    let width = 16 * B::N;
    let rounds = keys.rounds();
    let mut left = blocks;
    // SAFETY: all that is read and written lies within the `left` blocks from `from` and `to` on.
    unsafe {
        let mut groups = Counters::new(b, keys, counter);
        while left >= GROUP * B::N {
            let mut states = groups.group(b, keys);
            for round in 2..rounds {
                let key = keys.of(b, round);
                for state in &mut states {
                    *state = b.round(*state, key);
                }
            }
            let last = keys.of(b, rounds);
            for (i, state) in states.iter().enumerate() {
                let input = b.load(from.add(i * width));
                let output = b.last_round(*state, b.xor(last, input));
                b.store(output, to.add(i * width));
            }
            from = from.add(GROUP * width);
            to = to.add(GROUP * width);
            left -= GROUP * B::N;
        }
        let mut counters = b.counters(counter.wrapping_add((blocks - left) as u128));
        while left >= B::N {
            let stream = keys.encrypt(b, b.reversed(counters));
            b.store(b.xor(stream, b.load(from)), to);
            counters = b.add(counters, B::N as u64);
            from = from.add(width);
            to = to.add(width);
            left -= B::N;
        }
        let single = b.single();
        let mut counter = counter.wrapping_add((blocks - left) as u128);
        while left > 0 {
            let stream = keys.encrypt(single, single.reversed(single.counters(counter)));
            single.store(single.xor(stream, single.load(from)), to);
            counter = counter.wrapping_add(1);
            from = from.add(16);
            to = to.add(16);
            left -= 1;
        }
    }
}
