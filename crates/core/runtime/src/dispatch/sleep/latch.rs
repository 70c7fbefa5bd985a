//! The latch on which the caller of a batch waits for its jobs.

use super::spin::spin_until;
use crate::dispatch::sync::{AtomicU64, Ordering, UnsafeCell, thread};

/// The waiter has stored its handle and parks until [`RELEASED`].
const WAITING: u64 = 1;
/// One job, in the units of the word.
const ONE: u64 = 2;
/// Stored by the last finisher when the waiter has parked. No thread touches the latch after.
const RELEASED: u64 = u64::MAX;

/// Counts the jobs of a batch down to zero. It lies in the frame of the thread that waits, which may return as soon as
/// the count is zero. So finishers touch nothing after their subtraction, with one exception: when the waiter has
/// parked, the last finisher releases it by a store.
#[derive(Debug)]
pub(crate) struct CountdownLatch {
    word: AtomicU64,
    waiter: UnsafeCell<Option<thread::Thread>>,
}

impl CountdownLatch {
    pub(crate) fn new(jobs: u32) -> CountdownLatch {
        CountdownLatch {
            word: AtomicU64::new(u64::from(jobs) * ONE),
            waiter: UnsafeCell::new(None),
        }
    }

    /// Reports `jobs` jobs as ended. Unless the caller owns the latch, it may be gone when this returns.
    #[inline]
    pub(crate) fn finish(&self, jobs: u32) {
        let sum = u64::from(jobs) * ONE;
        if self.word.fetch_sub(sum, Ordering::AcqRel) - sum == WAITING {
            self.release();
        }
    }

    #[cold]
    fn release(&self) {
        // SAFETY: the waiter wrote its handle before it set WAITING, which the caller of this has read, and it
        // neither writes it again nor leaves before RELEASED is stored below. Only the last finisher comes here.
        let waiter = self.waiter.with_mut(|w| unsafe { (*w).take() });
        self.word.store(RELEASED, Ordering::Release);
        if let Some(waiter) = waiter {
            waiter.unpark();
        }
    }

    /// Waits until all jobs are reported. One thread only, the owner.
    pub(crate) fn wait(&self) {
        if spin_until(|| self.word.load(Ordering::Acquire) == 0) {
            return;
        }
        // SAFETY: no thread reads the handle before WAITING is set below, and only the owner sets it, once.
        self.waiter
            .with_mut(|w| unsafe { *w = Some(thread::current()) });
        if self.word.fetch_or(WAITING, Ordering::AcqRel) == 0 {
            return;
        }
        while self.word.load(Ordering::Acquire) != RELEASED {
            thread::park();
        }
    }
}
