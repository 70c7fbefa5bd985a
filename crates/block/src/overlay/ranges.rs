//! Who works on which granules.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Ranges that are in use, each by one thread.
#[derive(Debug, Default)]
pub struct Ranges {
    held: Mutex<Vec<Range<u64>>>,
    freed: Condvar,
}

/// A range in use, until this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    ranges: &'a Ranges,
    range: Range<u64>,
}

impl Ranges {
    /// Waits until nobody else uses any of `range`, and then has it. One thread holds one range at a time.
    pub fn hold(&self, range: Range<u64>) -> Held<'_> {
        let meets = |other: &Range<u64>| other.start < range.end && range.start < other.end;
        let mut held = self.lock();
        while held.iter().any(meets) {
            held = self
                .freed
                .wait(held)
                .unwrap_or_else(PoisonError::into_inner);
        }
        held.push(range.clone());
        Held {
            ranges: self,
            range,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.ranges.lock();
        if let Some(at) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(at);
        }
        drop(held);
        self.ranges.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn ranges_that_meet_wait_for_each_other() {
        let ranges = Ranges::default();
        let places: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            for number in 0..4u64 {
                let (ranges, places) = (&ranges, &places);
                scope.spawn(move || {
                    for round in 0..500 {
                        let start = (number * 7 + round * 3) % 6;
                        let range = start..start + 1 + round % 3;
                        let _held = ranges.hold(range.clone());
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
        assert!(ranges.lock().is_empty());
    }
}
