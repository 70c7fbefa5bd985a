//! A batch while it runs: the header in its caller's frame, and the descriptor of jobs.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::time::Instant;

use super::batch::{Batch, JobPanic, Outcome, WorkerId};
use super::sleep::CountdownLatch;
use super::sync::{AtomicU8, Mutex, Ordering, Padded, lock};

/// Jobs begin.
const RUN: u8 = 0;
/// The deadline has passed: jobs not yet begun are skipped.
const CUT: u8 = 1;
/// A job panicked: jobs not yet begun are skipped.
const PANICKED: u8 = 2;

/// A [`BatchBody`], whose type only its header's `call` knows.
type ErasedBody = *const ();

/// The closures of a batch: `init` is called when a worker begins a run of jobs, `job` for each job.
pub(crate) struct BatchBody<I, J> {
    pub(crate) init: I,
    pub(crate) job: J,
}

/// What all jobs of a batch share. It lies in the frame of the thread that called `Pool::run`, which does not leave
/// before the latch is at zero. So a thread may use it while it holds a job that is not yet reported. What every job
/// needs comes first, on one cache line.
#[repr(C)]
pub(crate) struct Header {
    // The closure's type is erased here and known again in `run_jobs`.
    body: ErasedBody,
    call: unsafe fn(&Header, ErasedBody, WorkerId, Range<u32>),
    items: u32,
    grain: u32,
    jobs: u32,
    stop: AtomicU8,
    deadline: Option<Instant>,
    panic: Mutex<Option<String>>,
    latch: Padded<CountdownLatch>,
}

impl Header {
    /// A header for `body`, which must outlive it; `batch.items` must not be 0.
    pub(crate) fn new<T, I, J>(batch: &Batch, body: &BatchBody<I, J>) -> Header
    where
        I: Fn(WorkerId) -> T + Sync,
        J: Fn(&mut T, Range<u32>) + Sync,
    {
        let grain = batch.grain.max(1);
        let jobs = batch.items.div_ceil(grain);
        Header {
            body: std::ptr::from_ref(body).cast(),
            call: run_jobs::<T, I, J>,
            items: batch.items,
            grain,
            jobs,
            stop: AtomicU8::new(RUN),
            deadline: batch.deadline,
            panic: Mutex::new(None),
            latch: Padded(CountdownLatch::new(jobs)),
        }
    }

    /// Number of jobs in the batch.
    pub(crate) fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Whether jobs not yet begun are to be skipped.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != RUN
    }

    /// Runs some jobs, or skips them once the batch is stopped. They are not reported yet.
    #[inline]
    pub(crate) fn execute(&self, worker: WorkerId, jobs: Range<u32>) {
        // SAFETY: `call` was made for the type that `body` points to, and what it points to outlives the header.
        unsafe { (self.call)(self, self.body, worker, jobs) }
    }

    /// Reports jobs as run or skipped. Only the header's owner may use it after.
    #[inline]
    pub(crate) fn finish(&self, jobs: u32) {
        if jobs > 0 {
            self.latch.finish(jobs);
        }
    }

    /// Waits for all jobs to be reported. The owner only.
    pub(crate) fn wait(&self) {
        self.latch.wait();
    }

    /// How the batch ended, after `wait`.
    pub(crate) fn outcome(&self) -> Result<Outcome, JobPanic> {
        match self.stop.load(Ordering::Relaxed) {
            RUN => Ok(Outcome::Finished),
            CUT => Ok(Outcome::CutOff),
            _ => {
                let message = lock(&self.panic).take().unwrap_or_default();
                Err(JobPanic { message })
            }
        }
    }

    /// The items of one job.
    #[inline]
    fn items(&self, job: u32) -> Range<u32> {
        let start = job * self.grain;
        start..start.saturating_add(self.grain).min(self.items)
    }

    /// Whether a job may begin now.
    #[inline]
    fn may_begin(&self) -> bool {
        if self.stopped() {
            return false;
        }
        if let Some(deadline) = self.deadline
            && Instant::now() >= deadline
        {
            self.stop.fetch_max(CUT, Ordering::Relaxed);
            return false;
        }
        true
    }

    #[cold]
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let message = match payload.downcast_ref::<&'static str>() {
            Some(text) => (*text).to_owned(),
            None => match payload.downcast_ref::<String>() {
                Some(text) => text.clone(),
                None => "the panic carried no text".to_owned(),
            },
        };
        lock(&self.panic).get_or_insert(message);
        self.stop.fetch_max(PANICKED, Ordering::Relaxed);
        // A payload may panic in its own drop. What that throws is leaked, or this might never end.
        if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(thrown);
        }
    }
}

/// Runs jobs of a batch whose body is a `BatchBody<I, J>`.
///
/// # Safety
/// `body` points to a live `BatchBody<I, J>`.
unsafe fn run_jobs<T, I, J>(header: &Header, body: ErasedBody, worker: WorkerId, jobs: Range<u32>)
where
    I: Fn(WorkerId) -> T + Sync,
    J: Fn(&mut T, Range<u32>) + Sync,
{
    // SAFETY: promised by the caller; both closures are `Sync`, so any thread may share them.
    let closures = unsafe { &*body.cast::<BatchBody<I, J>>() };
    // After a panic only the message of the batch's state is used. The closures' own state is their owner's, which
    // `Pool::run` tells of the panic.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut state = None;
        for job in jobs {
            if !header.may_begin() {
                return;
            }
            let state = state.get_or_insert_with(|| (closures.init)(worker));
            (closures.job)(state, header.items(job));
        }
    }));
    if let Err(payload) = ran {
        header.panicked(payload);
    }
}

/// What lies in a queue: a batch and a run of consecutive jobs of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    header: NonNull<Header>,
    /// As in the header. A worker on another core fetches both at once instead of one after the other.
    body: ErasedBody,
    first: u32,
    end: u32,
}

// SAFETY: the pointers are used only through `Job::header` and `Job::execute`, whose callers answer for the header
// being alive; everything in a header that is written while it is shared is an atomic, a mutex or the latch's own
// cell, and the body is `Sync`.
unsafe impl Send for Job {}

impl Job {
    pub(crate) fn new(header: &Header, jobs: Range<u32>) -> Job {
        Job {
            header: NonNull::from(header),
            body: header.body,
            first: jobs.start,
            end: jobs.end,
        }
    }

    #[inline]
    pub(crate) fn jobs(&self) -> Range<u32> {
        self.first..self.end
    }

    /// The batch.
    ///
    /// # Safety
    /// The jobs of this descriptor have not been reported as finished, and will not be while the result is used.
    #[inline]
    pub(crate) unsafe fn header<'a>(&self) -> &'a Header {
        // SAFETY: a header stays in place until all its jobs are reported; the caller holds some that are not.
        unsafe { self.header.as_ref() }
    }

    /// Runs its jobs, or skips them once the batch is stopped; returns how many they are. They are not reported yet.
    ///
    /// # Safety
    /// The jobs of this descriptor have not been reported as finished.
    #[inline]
    pub(crate) unsafe fn execute(&self, worker: WorkerId) -> u32 {
        // SAFETY: promised by the caller.
        let header = unsafe { self.header() };
        // SAFETY: the body is that of the header, so `call` was made for its type, and it outlives the header.
        unsafe { (header.call)(header, self.body, worker, self.jobs()) };
        self.end - self.first
    }
}
