//! What belongs to one worker: its event word, its mailbox, and whether it may use the shared queues.

use super::affinity::ThreadIdCell;
use super::job::Job;
use super::sleep::{EventWord, spin_until};
use super::sync::{AtomicU32, Ordering, Padded, UnsafeCell, thread};

/// One worker's slot in the state that a pool shares. `events` and `mailbox` lie on one cache line.
#[repr(C, align(128))]
pub(crate) struct WorkerSlot {
    pub(crate) events: EventWord,
    pub(crate) mailbox: Mailbox,
    pub(crate) admission: Padded<Admission>,
    pub(crate) thread_id: ThreadIdCell,
}

impl WorkerSlot {
    pub(crate) fn new() -> WorkerSlot {
        WorkerSlot {
            events: EventWord::new(),
            mailbox: Mailbox::new(),
            admission: Padded(Admission::new()),
            thread_id: ThreadIdCell::new(),
        }
    }
}

/// A worker's mailbox: room for one share, one producer and one consumer. The sequence number in the [`EventWord`]
/// beside it says that a share has come (as in Giacomoni et al., FastForward, PPoPP 2008). So both travel on one cache
/// line, to which the consumer writes nothing.
#[derive(Debug)]
pub(crate) struct Mailbox(UnsafeCell<Option<Job>>);

// SAFETY: the cell is the producer's until it advances the sequence number, and the consumer's from there until it
// reports the share, by the contracts of `put` and `take`; advancing and reporting order their accesses.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    pub(crate) fn new() -> Mailbox {
        Mailbox(UnsafeCell::new(None))
    }

    /// Puts a share in.
    ///
    /// # Safety
    /// One thread at a time calls this, after the share that was put in before has been reported, and then advances the
    /// worker's sequence number.
    #[inline]
    pub(crate) unsafe fn put(&self, job: Job) {
        // SAFETY: the cell is the producer's, which is the caller.
        self.0.with_mut(|cell| unsafe { *cell = Some(job) });
    }

    /// The share that was put in.
    ///
    /// # Safety
    /// Only the mailbox's worker calls this, once for each sequence number, while the share is not reported.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Option<Job> {
        // SAFETY: the cell is the consumer's, which is the caller.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// Whether a worker may look into the shared queues. One word says whether it is admitted and whether it is inside, so
/// a caller that revokes the admission knows if it must wait for the worker to come out.
pub(crate) struct Admission(AtomicU32);

impl Admission {
    const ADMITTED: u32 = 1;
    const INSIDE: u32 = 2;

    pub(crate) fn new() -> Admission {
        Admission(AtomicU32::new(Admission::ADMITTED))
    }

    /// Runs `f` if the worker is admitted. The worker only.
    pub(crate) fn enter(&self, f: impl FnOnce()) {
        if self.0.fetch_or(Admission::INSIDE, Ordering::Acquire) & Admission::ADMITTED != 0 {
            f();
        }
        self.0.fetch_and(!Admission::INSIDE, Ordering::Release);
    }

    pub(crate) fn grant(&self) {
        self.0.fetch_or(Admission::ADMITTED, Ordering::Release);
    }

    /// Returns when the worker is outside and will stay there.
    pub(crate) fn revoke(&self) {
        if self.0.fetch_and(!Admission::ADMITTED, Ordering::Acquire) & Admission::INSIDE == 0 {
            return;
        }
        // No batch is running, so the worker finds empty queues and comes out. That takes long only if the worker lost
        // its processor, so this thread should not keep one either.
        while !spin_until(|| self.0.load(Ordering::Acquire) & Admission::INSIDE == 0) {
            thread::yield_now();
        }
    }
}
