//! `mailbox`: a slot per worker, where the caller places that worker's share of the jobs.
//!
//! Shares are equal, contiguous and in order: worker 0, the caller, has the first. A share is one descriptor,
//! which its worker cuts by grain; nobody takes from another's mailbox. One slot is enough, since a batch puts one
//! share into it and the next batch begins when that has been worked off.

use super::batch::{Header, Job};
use super::sync::UnsafeCell;
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
        // SAFETY: this thread has the turn, and each worker gets one share.
        unsafe { team.post(worker, job) };
    }
    header.execute(WorkerId(0), mine);
}

/// A worker's mailbox: a slot for one producer and one consumer. The news of a share is in the [`Token`] beside it (as
/// in Giacomoni et al., FastForward, PPoPP 2008), so that both travel on one cache line, to which the consumer writes
/// nothing.
///
/// [`Token`]: super::wake::Token
#[derive(Debug)]
pub(crate) struct Mail(UnsafeCell<Option<Job>>);

// SAFETY: the slot is the producer's until it tells of a share, and the consumer's from there to when it reports the
// share, by the contracts of `put` and `take`; telling and reporting order their accesses.
unsafe impl Sync for Mail {}

impl Mail {
    pub(crate) fn new() -> Mail {
        Mail(UnsafeCell::new(None))
    }

    /// Puts a share in.
    ///
    /// # Safety
    /// One thread at a time calls this, after the share that was put in before has been reported, and tells the worker.
    #[inline]
    pub(crate) unsafe fn put(&self, job: Job) {
        // SAFETY: the slot is the producer's, which is the caller.
        self.0.with_mut(|slot| unsafe { *slot = Some(job) });
    }

    /// The share that the worker was told of.
    ///
    /// # Safety
    /// Only the mailbox's worker calls this, once for each share it was told of, which it has not reported.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Option<Job> {
        // SAFETY: the slot is the consumer's, which is the caller.
        self.0.with(|slot| unsafe { *slot })
    }

    /// Works off the share in the mailbox.
    ///
    /// # Safety
    /// As [`Mail::take`]; `worker` is the worker's number.
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
