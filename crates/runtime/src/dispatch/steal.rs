//! `steal`: a span of jobs per worker; the owner takes single jobs from its front, idle workers steal the upper
//! half of the longest.
//!
//! Jobs of a batch are consecutive numbers, so a deque of them is a pair of bounds, and one atomic word holds it.
//! There is one batch at a time (the pool's turn), so a span needs not say whose jobs it holds: a job taken out of
//! any span, at any time, is a job of the batch under way, and that batch cannot end before the job is reported.

use super::batch::Header;
use super::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, Padded, spin_loop};
use super::wake::Call;
use super::worker::Team;
use super::{Caller, WorkerId};

/// Looks around for something to steal before a worker gives up: a range on its way from one span to another is
/// in neither for a moment.
#[cfg(not(loom))]
const LOOKS: usize = 3;
#[cfg(loom)]
const LOOKS: usize = 1;

pub(crate) struct Steal {
    header: AtomicPtr<Header>,
    /// Spans that may hold something: those of workers 0..size.
    size: AtomicUsize,
    spans: Box<[Padded<Span>]>,
}

impl Steal {
    pub(crate) fn new(workers: usize) -> Steal {
        Steal {
            header: AtomicPtr::new(std::ptr::null_mut()),
            size: AtomicUsize::new(0),
            spans: (0..workers).map(|_| Padded(Span::new())).collect(),
        }
    }

    /// Runs a batch as its caller. The caller has the pool's turn.
    pub(crate) fn lead(&self, header: &Header, team: &Team<'_>, caller: Caller) {
        self.header
            .store(std::ptr::from_ref(header).cast_mut(), Ordering::Relaxed);
        self.size.store(team.size(), Ordering::Relaxed);
        // All in one span: a worker that is still looking around from the last batch may begin at once, and a
        // second store into a span of its own would overwrite what it has stolen.
        self.spans[0].put(0, header.jobs());
        team.call_all(Call::SPANS);
        if caller != Caller::Waits {
            self.follow(WorkerId(0));
        }
    }

    /// Takes jobs of its own span, then of others', until there are none.
    pub(crate) fn follow(&self, worker: WorkerId) {
        let own = &self.spans[worker.0];
        let mut looks = 0;
        while looks < LOOKS {
            let Some(first) = own.take().or_else(|| self.steal(worker)) else {
                looks += 1;
                spin_loop();
                continue;
            };
            looks = 0;
            // SAFETY: `header` was stored before the jobs were put into any span, and this thread has taken one
            // that it reports last, so it is that batch's header and stays.
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

    /// Moves the upper half of the longest span into `worker`'s own, which is empty, less the job it returns.
    fn steal(&self, worker: WorkerId) -> Option<u32> {
        loop {
            let spans = &self.spans[..self.size.load(Ordering::Relaxed)];
            let victim = spans
                .iter()
                .max_by_key(|span| span.len())
                .filter(|span| span.len() > 0)?;
            if let Some((first, end)) = victim.split() {
                if end - first > 1 {
                    self.spans[worker.0].put(first + 1, end);
                }
                return Some(first);
            }
            spin_loop();
        }
    }
}

/// Jobs `first..end` that nobody has taken, in one word.
#[derive(Debug)]
pub(crate) struct Span(AtomicU64);

fn pack(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

impl Span {
    pub(crate) fn new() -> Span {
        Span(AtomicU64::new(0))
    }

    /// Fills an empty span. The owner only; nobody else changes an empty span, so a store is enough.
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

    /// Takes everything and says how much it was.
    pub(crate) fn clear(&self) -> u32 {
        self.change(|first, _| (first, 0, 0))
            .map_or(0, |(first, end)| end - first)
    }

    /// Replaces a span that is not empty; `to` gives what is reported and the new bounds. Returns the former and
    /// the old end. The acquire makes visible what happened before the jobs were put in, and a value that comes
    /// back after a change is as good as the old one, since it is the jobs themselves and not a claim on them.
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
