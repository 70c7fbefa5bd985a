//! `mailbox`: a slot per worker, where the caller places that worker's share of the jobs.
//!
//! Shares are equal, contiguous and in order: worker 0, the caller, has the first. A share is one descriptor,
//! which its worker cuts by grain; nobody takes from another's mailbox. One slot is enough, since a batch puts one
//! share into it and the next batch begins when that has been worked off.

use super::batch::{Header, Job};
use super::sync::{AtomicU32, Ordering, UnsafeCell};
use super::wake::Call;
use super::worker::Team;
use super::{Caller, WorkerId};

/// Runs a batch as its caller. The caller has the pool's turn.
pub(crate) fn lead(header: &Header, team: &Team<'_>, caller: Caller) {
    let first = usize::from(caller == Caller::Waits);
    let size = (team.size() - first) as u64;
    let jobs = u64::from(header.jobs());
    let share = |i: u64| (jobs * i / size) as u32..(jobs * (i + 1) / size) as u32;
    // The caller's own share is counted before it is run, as nobody waits but the caller: later the count would have to
    // come back from a worker's cache for it.
    let mine = match caller {
        Caller::Waits => 0..0,
        Caller::Works | Caller::Hurries => share(0),
    };
    header.finish(mine.len() as u32);
    for worker in 1..team.size() {
        let job = Job::new(header, share((worker - first) as u64));
        // SAFETY: this thread has the turn, and a turn ends when all shares placed in it have been worked off.
        unsafe { team.desk(worker).mail.put(job) };
        team.call(worker, Call::MAIL);
    }
    header.execute(WorkerId(0), mine);
}

/// A worker's mailbox: a slot for one producer and one consumer with its state beside it (as in Giacomoni et al.,
/// FastForward, PPoPP 2008), so that a share and the news of it travel on one cache line.
#[derive(Debug)]
pub(crate) struct Mail {
    full: AtomicU32,
    job: UnsafeCell<Option<Job>>,
}

// SAFETY: `full` says whose the slot is, the producer's (0) or the consumer's (1); each gives it away with a
// release after its last access. There is one producer by the contract of `put`, one consumer by that of `take`.
unsafe impl Sync for Mail {}

impl Mail {
    pub(crate) fn new() -> Mail {
        Mail {
            full: AtomicU32::new(0),
            job: UnsafeCell::new(None),
        }
    }

    /// Puts a share in.
    ///
    /// # Safety
    /// One thread at a time calls this, and the slot is empty.
    #[inline]
    pub(crate) unsafe fn put(&self, job: Job) {
        debug_assert_eq!(self.full.load(Ordering::Acquire), 0);
        // SAFETY: the slot is empty, so it is the producer's, which is the caller.
        self.job.with_mut(|j| unsafe { *j = Some(job) });
        self.full.store(1, Ordering::Release);
    }

    /// Takes the share out, if there is one.
    ///
    /// # Safety
    /// Only the mailbox's worker calls this.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Option<Job> {
        if self.full.load(Ordering::Acquire) == 0 {
            return None;
        }
        // SAFETY: the slot is full, so it is the consumer's, which is the caller.
        let job = self.job.with(|j| unsafe { *j });
        self.full.store(0, Ordering::Release);
        job
    }

    /// Works off the share in the mailbox.
    ///
    /// # Safety
    /// Only the mailbox's worker calls this; `worker` is its number.
    pub(crate) unsafe fn follow(&self, worker: WorkerId) {
        // SAFETY: promised by the caller.
        if let Some(job) = unsafe { self.take() } {
            // SAFETY: this thread took the share and has not reported it.
            let count = unsafe { job.execute(worker) };
            // SAFETY: it is reported by this very call.
            unsafe { job.header() }.finish(count);
        }
    }
}
