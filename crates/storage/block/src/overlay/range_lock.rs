//! Locks on ranges of granules.

use std::ops::Range;
use std::sync::{Condvar, Mutex};

use evener_files::{lock, unpoisoned};

/// Ranges that are locked, each by one thread.
#[derive(Debug, Default)]
pub struct RangeLock {
    held: Mutex<Vec<Range<u64>>>,
    released: Condvar,
}

/// A locked range, until this is dropped.
#[derive(Debug)]
pub struct RangeGuard<'a> {
    ranges: &'a RangeLock,
    range: Range<u64>,
}

impl RangeLock {
    /// Waits until no range that overlaps `range` is locked, and locks it. A thread may lock one range at a time.
    pub fn lock(&self, range: Range<u64>) -> RangeGuard<'_> {
        let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        let mut held = lock(&self.held);
        while held.iter().any(overlaps) {
            held = unpoisoned(self.released.wait(held));
        }
        held.push(range.clone());
        RangeGuard {
            ranges: self,
            range,
        }
    }
}

impl Drop for RangeGuard<'_> {
    fn drop(&mut self) {
        let mut held = lock(&self.ranges.held);
        if let Some(at) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(at);
        }
        drop(held);
        self.ranges.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn ranges_that_overlap_are_locked_one_after_the_other() {
        let ranges = RangeLock::default();
        let places: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            for number in 0..4u64 {
                let (ranges, places) = (&ranges, &places);
                scope.spawn(move || {
                    for round in 0..500 {
                        let start = (number * 7 + round * 3) % 6;
                        let range = start..start + 1 + round % 3;
                        let _held = ranges.lock(range.clone());
                        for at in range.clone() {
                            assert_eq!(places[at as usize].swap(1, Ordering::Relaxed), 0);
                        }
                        thread::yield_now();
                        for at in range {
                            places[at as usize].store(0, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(ranges.held.lock().unwrap().is_empty());
    }
}
