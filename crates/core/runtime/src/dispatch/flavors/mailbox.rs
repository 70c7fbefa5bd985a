//! `mailbox`: a mailbox per worker, into which the caller puts that worker's share of the jobs.
//!
//! Shares are equal, contiguous and in order: worker 0, the caller, has the first. A share is one descriptor, which its
//! worker cuts by grain. No worker takes from another's mailbox. A mailbox has room for one share: a batch puts one in,
//! and the next batch begins when that has been reported.

use crate::dispatch::batch::{Caller, WorkerId};
use crate::dispatch::job::{Header, Job};
use crate::dispatch::participants::Participants;
use crate::dispatch::slot::Mailbox;

/// Runs a batch as its caller, which holds the batch lock.
pub(crate) fn run_caller(header: &Header, participants: &Participants<'_>, caller: Caller) {
    let first = usize::from(caller == Caller::Waits);
    let count = (participants.count() - first) as u64;
    let jobs = u64::from(header.jobs());
    let share = |i: u64| (jobs * i / count) as u32..(jobs * (i + 1) / count) as u32;
    // The caller's own share is reported before it is run, since only the caller waits for it. Later the latch would
    // have to come back from a worker's cache.
    let own = match caller {
        Caller::Waits => 0..0,
        Caller::Works | Caller::Hurries => share(0),
    };
    header.finish(own.len() as u32);
    for worker in 1..participants.count() {
        let job = Job::new(header, share((worker - first) as u64));
        // SAFETY: this thread holds the batch lock, and each worker gets one share.
        unsafe { participants.send(worker, job) };
    }
    header.execute(WorkerId(0), own);
}

/// Runs the share in the mailbox.
///
/// # Safety
/// As [`Mailbox::take`]; `worker` is the mailbox's worker.
pub(crate) unsafe fn run_worker(mailbox: &Mailbox, worker: WorkerId) {
    // SAFETY: promised by the caller.
    if let Some(job) = unsafe { mailbox.take() } {
        // SAFETY: this thread took the share and has not reported it.
        let count = unsafe { job.execute(worker) };
        // SAFETY: it is reported by this very call.
        unsafe { job.header() }.finish(count);
    }
}
