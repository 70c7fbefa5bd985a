//! `fifo`: one bounded ring that every worker takes the next job from.
//!
//! Jobs go through the ring in runs, so that many of them cost little. A run is a small part of a worker's share of the
//! jobs left, and the last runs are single jobs, so that the load stays even.
//!
//! The ring is Vyukov's bounded queue, in which a sequence number in each slot says whether the slot is free or filled.
//! It has one producer at a time: the caller that holds the batch lock.

use crate::dispatch::batch::{Caller, WorkerId};
use crate::dispatch::job::{Header, Job};
use crate::dispatch::participants::Participants;
use crate::dispatch::sleep::Events;
use crate::dispatch::sync::{AtomicUsize, Ordering, Padded, UnsafeCell, spin_loop, thread};

/// Descriptors the ring holds; a power of two.
#[cfg(not(loom))]
const CAPACITY: usize = 256;
#[cfg(loom)]
const CAPACITY: usize = 2;

/// A run is this part of one worker's share of the jobs left. So runs become shorter until they are single jobs
/// (Polychronopoulos and Kuck, Guided Self-Scheduling, 1987, with a divisor against uneven jobs).
const RUN_DIVISOR: u32 = 8;

/// Descriptors in the ring before workers are woken, so that they start while the rest is put in.
const HEAD_START: u32 = 64;

pub(crate) struct Fifo {
    ring: Ring,
}

impl Fifo {
    pub(crate) fn new() -> Fifo {
        Fifo {
            ring: Ring::new(CAPACITY),
        }
    }

    /// Runs a batch as its caller, which holds the batch lock.
    pub(crate) fn run_caller(
        &self,
        header: &Header,
        participants: &Participants<'_>,
        caller: Caller,
    ) {
        let jobs = header.jobs();
        let mut next = 0;
        let mut done = 0;
        loop {
            next = self.fill(header, next, participants);
            if caller == Caller::Waits {
                if next == jobs {
                    return;
                }
                if header.stopped() {
                    return header.finish(jobs - next);
                }
                // Nothing tells when the ring has room again, and to know at once gains nothing.
                thread::yield_now();
                continue;
            }

            // As many as keep the ring from running dry if all workers are as fast as this one.
            let budget = match next < jobs {
                true => (CAPACITY / 2 / participants.count()).max(1),
                false => usize::MAX,
            };
            let (ran, emptied) = self.help(budget);
            done += ran;
            if header.stopped() {
                done += jobs - next;
                next = jobs;
            }
            if next == jobs && emptied {
                break;
            }
        }
        header.finish(done);
    }

    /// Puts jobs from `next` on into the ring while there is room, and wakes the workers. The first job left.
    fn fill(&self, header: &Header, mut next: u32, participants: &Participants<'_>) -> u32 {
        let jobs = header.jobs();
        let divisor = RUN_DIVISOR * participants.count() as u32;
        let mut pushed = 0;
        while next < jobs {
            let end = next + ((jobs - next) / divisor).max(1);
            // SAFETY: the batch lock makes this the only producer.
            if !unsafe { self.ring.push(Job::new(header, next..end)) } {
                break;
            }
            next = end;
            pushed += 1;
            if pushed == HEAD_START {
                participants.signal_all(Events::FIFO);
            }
        }
        // Workers leave when they find the ring empty, so each refill wakes them again.
        if pushed != HEAD_START {
            participants.signal_all(Events::FIFO);
        }
        next
    }

    /// Runs at most `budget` runs of jobs as the caller. How many jobs they were, and whether the ring was found empty.
    fn help(&self, budget: usize) -> (u32, bool) {
        let mut done = 0;
        for _ in 0..budget {
            let Some(job) = self.ring.pop() else {
                return (done, true);
            };
            // SAFETY: this thread took the job and reports it after this.
            done += unsafe { job.execute(WorkerId(0)) };
        }
        (done, false)
    }

    /// Takes jobs until there are none.
    pub(crate) fn run_worker(&self, worker: WorkerId) {
        let mut done = 0;
        let mut last = None;
        while let Some(job) = self.ring.pop() {
            // SAFETY: this thread took the job and has not reported it.
            done += unsafe { job.execute(worker) };
            last = Some(job);
        }
        if let Some(job) = last {
            // All jobs taken above belong to one batch: the next cannot begin before these are reported.
            // SAFETY: they are reported by this very call.
            unsafe { job.header() }.finish(done);
        }
    }
}

/// A bounded queue, one producer at a time, any number of consumers.
pub(crate) struct Ring {
    head: Padded<AtomicUsize>,
    tail: Padded<AtomicUsize>,
    slots: Box<[Slot]>,
}

/// Free for the producer at position `p` when `sequence == p`, ready for the consumer at `p` when `sequence == p + 1`.
/// It has a cache line of its own, since its neighbours are taken by different workers.
#[repr(align(64))]
struct Slot {
    sequence: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
}

// SAFETY: a slot's job is written by the one producer while the slot is free and read by the one consumer that moved
// `head` over it; the sequence numbers order the two.
unsafe impl Sync for Ring {}
// SAFETY: a ring owns nothing but descriptors, which are `Send`.
unsafe impl Send for Ring {}

impl Ring {
    /// `capacity` is a power of two.
    pub(crate) fn new(capacity: usize) -> Ring {
        assert!(capacity.is_power_of_two(), "a ring of {capacity} slots");
        Ring {
            head: Padded(AtomicUsize::new(0)),
            tail: Padded(AtomicUsize::new(0)),
            slots: (0..capacity)
                .map(|i| Slot {
                    sequence: AtomicUsize::new(i),
                    job: UnsafeCell::new(None),
                })
                .collect(),
        }
    }

    /// Puts a job in; `false` when the ring is full.
    ///
    /// # Safety
    /// One thread at a time calls this.
    #[inline]
    pub(crate) unsafe fn push(&self, job: Job) -> bool {
        let at = self.tail.load(Ordering::Relaxed);
        let slot = &self.slots[at & (self.slots.len() - 1)];
        if slot.sequence.load(Ordering::Acquire) != at {
            return false;
        }
        // SAFETY: the slot is free for this one producer, and the acquire above ordered the last reader before this
        // write.
        slot.job.with_mut(|j| unsafe { *j = Some(job) });
        slot.sequence.store(at.wrapping_add(1), Ordering::Release);
        self.tail.store(at.wrapping_add(1), Ordering::Relaxed);
        true
    }

    /// Takes the oldest job; `None` when the ring is empty.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Job> {
        let mut at = self.head.load(Ordering::Relaxed);
        loop {
            let slot = &self.slots[at & (self.slots.len() - 1)];
            let sequence = slot.sequence.load(Ordering::Acquire);
            let ready = at.wrapping_add(1);
            if sequence == ready {
                let moved = self.head.compare_exchange_weak(
                    at,
                    ready,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                match moved {
                    Ok(_) => {
                        // SAFETY: `head` moved over this slot by this thread alone, and the acquire above
                        // ordered the producer's write before this read.
                        let job = slot.job.with(|j| unsafe { *j });
                        slot.sequence
                            .store(at.wrapping_add(self.slots.len()), Ordering::Release);
                        return job;
                    }
                    Err(now) => at = now,
                }
            } else if sequence == at {
                return None;
            } else {
                // Others moved on since `head` was read.
                spin_loop();
                at = self.head.load(Ordering::Relaxed);
            }
        }
    }
}
