//! Any number of threads that wait for something to happen.

use std::sync::PoisonError;
use std::time::Duration;

use super::spin::spin_until;
use crate::dispatch::sync::{AtomicU64, Condvar, Mutex, Ordering, lock};

/// One event, in the bits above those of the waiters.
const EVENT: u64 = 1 << 16;
const WAITERS: u64 = EVENT - 1;

/// Counts events, and wakes threads that wait for the next one. A thread looks at the count, then at all that it could
/// do, and waits if it found nothing: unless an event came since it looked at the count.
///
/// Count and waiters are one word, so a thread that begins to wait and one that notifies have an order.
#[derive(Debug)]
pub(crate) struct EventCount {
    word: AtomicU64,
    mutex: Mutex<()>,
    happened: Condvar,
}

/// The events that a thread knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl EventCount {
    pub(crate) fn new() -> EventCount {
        EventCount {
            word: AtomicU64::new(0),
            mutex: Mutex::new(()),
            happened: Condvar::new(),
        }
    }

    /// The events until now.
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.word.load(Ordering::Acquire) & !WAITERS)
    }

    /// Something has happened: wakes at most so many waiters. What was done before is visible to a thread that sees the
    /// event.
    pub(crate) fn notify(&self, threads: usize) {
        let waiters = self.word.fetch_add(EVENT, Ordering::AcqRel) & WAITERS;
        if waiters == 0 || threads == 0 {
            return;
        }
        // A waiter holds this from when it is counted until it sleeps.
        drop(lock(&self.mutex));
        if threads as u64 >= waiters {
            self.happened.notify_all();
        } else {
            (0..threads).for_each(|_| self.happened.notify_one());
        }
    }

    /// Waits for an event that is not `seen`: spins briefly, then sleeps, at most for `most`. Whether there is one.
    pub(crate) fn wait(&self, seen: Seen, most: Duration) -> bool {
        let happened = || self.seen() != seen;
        if spin_until(happened) {
            return true;
        }
        let mut guard = lock(&self.mutex);
        let mut waits = self.word.fetch_add(1, Ordering::AcqRel) & !WAITERS == seen.0;
        while waits {
            let (held, timeout) = self
                .happened
                .wait_timeout(guard, most)
                .unwrap_or_else(PoisonError::into_inner);
            guard = held;
            waits = !happened() && !timeout.timed_out();
        }
        drop(guard);
        self.word.fetch_sub(1, Ordering::AcqRel);
        happened()
    }
}
