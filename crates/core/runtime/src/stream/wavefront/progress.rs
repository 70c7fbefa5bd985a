//! The progress of one line, and the steps that others wait for.

use crate::dispatch::sync::{AtomicU64, Ordering};

/// The steps of a line that are done, and the fewest that a parked line waits for. They are one word, which is changed
/// by read-modify-writes, so publishing steps and asking for some have an order: the README shows what follows.
#[derive(Debug)]
pub(super) struct Progress(AtomicU64);

/// Steps done lie below, steps wanted above; 0 where none are.
const WANTED: u32 = 32;

fn done(word: u64) -> u32 {
    word as u32
}

fn wanted(word: u64) -> u32 {
    (word >> WANTED) as u32
}

fn with_wanted(word: u64, steps: u32) -> u64 {
    u64::from(steps) << WANTED | u64::from(done(word))
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress(AtomicU64::new(0))
    }

    /// Steps done. What they wrote is visible to the caller.
    pub(super) fn done(&self) -> u32 {
        done(self.0.load(Ordering::Acquire))
    }

    /// Some more steps are done. Whether a parked line waits for them. Only the worker that has the line publishes.
    #[must_use]
    pub(super) fn publish(&self, steps: u32) -> bool {
        let before = self.0.fetch_add(u64::from(steps), Ordering::AcqRel);
        wanted(before) != 0 && done(before) + steps >= wanted(before)
    }

    /// Asks for the first `steps` steps. `true`: they are done. Otherwise the [`Progress::publish`] that completes them
    /// says so. Only the holder of the board asks.
    pub(super) fn want(&self, steps: u32) -> bool {
        let mut word = self.0.load(Ordering::Acquire);
        while done(word) < steps {
            let least = match wanted(word) {
                0 => steps,
                others => others.min(steps),
            };
            let new = with_wanted(word, least);
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match self.0.compare_exchange(word, new, order.0, order.1) {
                Ok(_) => return false,
                Err(now) => word = now,
            }
        }
        true
    }

    /// Others wait for `steps` steps, or for none at 0. For the worker that has the line, while it holds the board: so
    /// nothing else changes the word.
    pub(super) fn set_wanted(&self, steps: u32) {
        let word = self.0.load(Ordering::Acquire);
        self.0.store(with_wanted(word, steps), Ordering::Release);
    }

    /// Begins a line of another unit, for which none waits.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Release);
    }
}
