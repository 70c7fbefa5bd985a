//! The workers of one batch, as its caller sees them, and the lock that gives a caller the workers.

use super::job::Job;
use super::sleep::Events;
use super::slot::WorkerSlot;
use super::sync::{AtomicU32, AtomicUsize, Ordering, Padded, thread};

/// One caller at a time runs a batch on the workers of a pool. The lock also knows how many workers are admitted to the
/// shared queues.
pub(crate) struct BatchLock {
    locked: AtomicU32,
    admitted: AtomicUsize,
}

impl BatchLock {
    pub(crate) fn new(workers: usize) -> Padded<BatchLock> {
        Padded(BatchLock {
            locked: AtomicU32::new(0),
            admitted: AtomicUsize::new(workers),
        })
    }

    /// The lock, if no other caller has it.
    pub(crate) fn try_lock(&self) -> Option<BatchGuard<'_>> {
        let locked = &self.locked;
        let got = locked.load(Ordering::Relaxed) == 0
            && locked
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        // Not `then_some`: that would make, and drop, a guard of a lock that was not taken.
        got.then(|| BatchGuard(self))
    }
}

/// Unlocks on drop.
pub(crate) struct BatchGuard<'a>(&'a BatchLock);

impl Drop for BatchGuard<'_> {
    fn drop(&mut self) {
        self.0.locked.store(0, Ordering::Release);
    }
}

/// The workers `0..count` that a batch is for. Worker 0 is the caller.
pub(crate) struct Participants<'a> {
    slots: &'a [WorkerSlot],
    threads: &'a [thread::JoinHandle<()>],
    count: usize,
}

impl<'a> Participants<'a> {
    pub(crate) fn new(
        slots: &'a [WorkerSlot],
        threads: &'a [thread::JoinHandle<()>],
        count: usize,
    ) -> Participants<'a> {
        Participants {
            slots,
            threads,
            count,
        }
    }

    /// How many there are, the caller included.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Wakes all but the caller.
    pub(crate) fn signal_all(&self, events: Events) {
        for worker in 1..self.count {
            if self.slots[worker].events.signal(events) {
                self.unpark(worker);
            }
        }
    }

    /// Puts a worker's share of a batch into its mailbox and wakes it. Not for the caller itself.
    ///
    /// # Safety
    /// This thread holds the batch lock, and puts no other share there before it unlocks.
    #[inline]
    pub(crate) unsafe fn send(&self, worker: usize, job: Job) {
        let slot = &self.slots[worker];
        // SAFETY: a batch lock is held until all shares of its batch are reported, so this is the only one.
        unsafe { slot.mailbox.put(job) };
        if slot.events.advance() {
            self.unpark(worker);
        }
    }

    fn unpark(&self, worker: usize) {
        self.threads[worker - 1].thread().unpark();
    }

    /// Admits workers below `limit` to the shared queues, and no others. The holder of `lock` only, before its batch.
    pub(crate) fn admit(&self, limit: usize, lock: &BatchLock) {
        let before = lock.admitted.load(Ordering::Relaxed);
        for worker in before..limit {
            self.slots[worker].admission.grant();
        }
        for worker in limit..before {
            self.slots[worker].admission.revoke();
        }
        if limit != before {
            lock.admitted.store(limit, Ordering::Relaxed);
        }
    }
}
