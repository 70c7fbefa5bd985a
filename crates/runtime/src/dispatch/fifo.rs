//! `fifo`: one bounded ring that every worker takes the next job from.
//!
//! Many jobs go through the ring in runs, so that their number costs little; a run is short beside a worker's share
//! of what is left, and the last runs are single jobs, so that the load stays even.
//!
//! The ring is Vyukov's bounded queue (a sequence number in each slot says whose turn it is) with one producer at
//! a time: the caller that has the pool's turn.

use super::batch::{Header, Job};
use super::sync::{AtomicUsize, Ordering, Padded, UnsafeCell, spin_loop, thread};
use super::wake::Call;
use super::worker::Team;
use super::{Caller, WorkerId};

/// Descriptors the ring holds; a power of two.
#[cfg(not(loom))]
const CAPACITY: usize = 256;
#[cfg(loom)]
const CAPACITY: usize = 2;

/// A run is this part of one worker's share of the jobs still left, so runs become shorter until they are single
/// jobs (Polychronopoulos and Kuck, Guided Self-Scheduling, 1987, with a divisor against uneven jobs).
const RUN_DIVISOR: u32 = 8;

/// Descriptors in the ring before workers are called, so that they start while the rest is being put in.
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

    /// Runs a batch as its caller. The caller has the pool's turn.
    pub(crate) fn lead(&self, header: &Header, team: &Team<'_>, caller: Caller) {
        let jobs = header.jobs();
        let divisor = RUN_DIVISOR * team.size() as u32;
        let mut next = 0;
        let mut done = 0;
        loop {
            let mut pushed = 0;
            while next < jobs {
                let end = next + ((jobs - next) / divisor).max(1);
                // SAFETY: the turn makes this the only producer.
                if !unsafe { self.ring.push(Job::new(header, next..end)) } {
                    break;
                }
                next = end;
                pushed += 1;
                if pushed == HEAD_START {
                    team.call_all(Call::RING);
                }
            }
            // Workers leave when they find the ring empty, so each refill calls them again.
            if pushed != HEAD_START {
                team.call_all(Call::RING);
            }

            if caller == Caller::Waits {
                if next == jobs {
                    return;
                }
                if header.stopped() {
                    return header.finish(jobs - next);
                }
                // Nothing tells when the ring has room again, and nobody gains from knowing at once.
                thread::yield_now();
                continue;
            }

            // As many as keep the ring from running dry if all workers are as fast as this one.
            let mut budget = match next < jobs {
                true => (CAPACITY / 2 / team.size()).max(1),
                false => usize::MAX,
            };
            while budget > 0
                && let Some(job) = self.ring.pop()
            {
                // SAFETY: this thread took the job and reports it below.
                done += unsafe { job.execute(WorkerId(0)) };
                budget -= 1;
            }
            if header.stopped() {
                done += jobs - next;
                next = jobs;
            }
            if next == jobs && budget > 0 {
                break;
            }
        }
        header.finish(done);
    }

    /// Takes jobs until there are none.
    pub(crate) fn follow(&self, worker: WorkerId) {
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

/// Free for the producer at position `p` when `turn == p`, ready for the consumer at `p` when `turn == p + 1`.
/// A cache line of its own: neighbours are taken by different workers.
#[repr(align(64))]
struct Slot {
    turn: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
}

// SAFETY: a slot's job is written by the one producer between its turns and read by the one consumer that moved
// `head` over it; the turns order the two.
unsafe impl Sync for Ring {}
// SAFETY: a ring owns nothing but descriptors, which are `Send`.
unsafe impl Send for Ring {}

impl Ring {
    /// `capacity` is a power of two.
    pub(crate) fn new(capacity: usize) -> Ring {
        debug_assert!(capacity.is_power_of_two());
        Ring {
            head: Padded(AtomicUsize::new(0)),
            tail: Padded(AtomicUsize::new(0)),
            slots: (0..capacity)
                .map(|i| Slot {
                    turn: AtomicUsize::new(i),
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
        if slot.turn.load(Ordering::Acquire) != at {
            return false;
        }
        // SAFETY: the slot's turn is this one producer's, and the acquire above ordered the last reader before this write.
        slot.job.with_mut(|j| unsafe { *j = Some(job) });
        slot.turn.store(at.wrapping_add(1), Ordering::Release);
        self.tail.store(at.wrapping_add(1), Ordering::Relaxed);
        true
    }

    /// Takes the oldest job; `None` when the ring is empty.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Job> {
        let mut at = self.head.load(Ordering::Relaxed);
        loop {
            let slot = &self.slots[at & (self.slots.len() - 1)];
            let turn = slot.turn.load(Ordering::Acquire);
            let ready = at.wrapping_add(1);
            if turn == ready {
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
                        slot.turn
                            .store(at.wrapping_add(self.slots.len()), Ordering::Release);
                        return job;
                    }
                    Err(now) => at = now,
                }
            } else if turn == at {
                return None;
            } else {
                // Others moved on since `head` was read.
                spin_loop();
                at = self.head.load(Ordering::Relaxed);
            }
        }
    }
}
