//! When sources have something to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Times, the earliest first. A source that is over, or has something to do earlier, leaves its time in: what comes due is
/// to be compared with what the source waits for.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Timers {
    /// Adds a time of a source.
    pub fn add(&mut self, at: Instant, source: u32) {
        self.heap.push(Reverse((at, source)));
    }

    /// The earliest.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes one that is due.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, u32)> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(due)| due)
    }
}
