//! `steal`: a range of jobs per worker. The owner takes single jobs from its front; idle workers steal the upper half
//! of the longest.
//!
//! Jobs of a batch are consecutive numbers, so a deque of them is a pair of bounds in one atomic word. The batch lock
//! lets one batch run at a time, so a range need not say whose jobs it holds: a job taken out of any range, at any
//! time, is a job of the running batch, and that batch cannot end before the job is reported.

use crate::dispatch::batch::{Caller, WorkerId};
use crate::dispatch::job::Header;
use crate::dispatch::participants::Participants;
use crate::dispatch::sleep::Events;
use crate::dispatch::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, Padded, spin_loop};

/// How often a worker looks for jobs to steal before it gives up. While a worker moves stolen jobs into its own range,
/// they are in no range for a moment.
#[cfg(not(loom))]
const ATTEMPTS: usize = 3;
#[cfg(loom)]
const ATTEMPTS: usize = 1;

pub(crate) struct Steal {
    header: AtomicPtr<Header>,
    /// Ranges that may hold jobs are those of workers `0..count`.
    count: AtomicUsize,
    ranges: Box<[Padded<JobRange>]>,
}

impl Steal {
    pub(crate) fn new(workers: usize) -> Steal {
        Steal {
            header: AtomicPtr::new(std::ptr::null_mut()),
            count: AtomicUsize::new(0),
            ranges: (0..workers).map(|_| Padded(JobRange::new())).collect(),
        }
    }

    /// Runs a batch as its caller, which holds the batch lock.
    pub(crate) fn run_caller(
        &self,
        header: &Header,
        participants: &Participants<'_>,
        caller: Caller,
    ) {
        self.header
            .store(std::ptr::from_ref(header).cast_mut(), Ordering::Relaxed);
        self.count.store(participants.count(), Ordering::Relaxed);
        // All jobs go into one range. A worker that still looks for jobs of the last batch may steal at once, and a
        // store into its own range would overwrite what it has stolen.
        self.ranges[0].put(0, header.jobs());
        participants.signal_all(Events::STEAL);
        if caller != Caller::Waits {
            self.run_worker(WorkerId(0));
        }
    }

    /// Takes jobs of the worker's own range, then of others, until there are none.
    pub(crate) fn run_worker(&self, worker: WorkerId) {
        let own = &self.ranges[worker.0];
        let mut attempts = 0;
        while attempts < ATTEMPTS {
            let Some(first) = own.take().or_else(|| self.steal(worker)) else {
                attempts += 1;
                spin_loop();
                continue;
            };
            attempts = 0;
            // SAFETY: `header` was stored before the jobs were put into any range, and this thread has taken one that
            // it reports last, so it is that batch's header and stays.
            let header = unsafe { &*self.header.load(Ordering::Relaxed) };
            header.execute(worker, first..first + 1);
            let mut done = 1;
            while let Some(job) = own.take() {
                header.execute(worker, job..job + 1);
                done += 1;
                if header.stopped() {
                    done += own.clear();
                }
            }
            header.finish(done);
        }
    }

    /// Moves the upper half of the longest range into `worker`'s own, which is empty, less the job it returns.
    fn steal(&self, worker: WorkerId) -> Option<u32> {
        loop {
            let ranges = &self.ranges[..self.count.load(Ordering::Relaxed)];
            let victim = ranges
                .iter()
                .max_by_key(|range| range.len())
                .filter(|range| range.len() > 0)?;
            if let Some((first, end)) = victim.split() {
                if end - first > 1 {
                    self.ranges[worker.0].put(first + 1, end);
                }
                return Some(first);
            }
            spin_loop();
        }
    }
}

/// Jobs `first..end` that no worker has taken, in one word.
#[derive(Debug)]
pub(crate) struct JobRange(AtomicU64);

fn pack(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

impl JobRange {
    pub(crate) fn new() -> JobRange {
        JobRange(AtomicU64::new(0))
    }

    /// Fills an empty range. The owner only: no other thread changes an empty range, so a store is enough.
    pub(crate) fn put(&self, first: u32, end: u32) {
        self.0.store(pack(first, end), Ordering::Release);
    }

    /// Jobs left, as of some moment.
    pub(crate) fn len(&self) -> u32 {
        let (first, end) = unpack(self.0.load(Ordering::Relaxed));
        end.saturating_sub(first)
    }

    /// Takes the first job.
    #[inline]
    pub(crate) fn take(&self) -> Option<u32> {
        self.change(|first, end| (first, first + 1, end))
            .map(|(first, _)| first)
    }

    /// Takes the upper half; of a single job, that job.
    pub(crate) fn split(&self) -> Option<(u32, u32)> {
        self.change(|first, end| {
            let middle = first + (end - first) / 2;
            (middle, first, middle)
        })
    }

    /// Takes all jobs. How many they were.
    pub(crate) fn clear(&self) -> u32 {
        self.change(|first, _| (first, 0, 0))
            .map_or(0, |(first, end)| end - first)
    }

    /// Replaces a range that is not empty. `to` gives what is returned and the new bounds; the old end is returned too.
    /// The acquire makes visible what happened before the jobs were put in. A word that comes back to an old value does
    /// no harm, since it is the jobs themselves.
    #[inline]
    fn change(&self, to: impl Fn(u32, u32) -> (u32, u32, u32)) -> Option<(u32, u32)> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (first, end) = unpack(word);
            if first >= end {
                return None;
            }
            let (taken, new_first, new_end) = to(first, end);
            match self.0.compare_exchange_weak(
                word,
                pack(new_first, new_end),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some((taken, end)),
                Err(now) => word = now,
            }
        }
    }
}
