//! What lies in a deque: a pointer to a job and the function that runs it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::latch::Signal;
use crate::sync::{Mutex, lock};

/// A job, whose type only `run` knows. It is run exactly once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobRef {
    pub(crate) data: *const (),
    pub(crate) run: unsafe fn(*const ()),
}

// SAFETY: jobs are made of closures that are `Send`.
unsafe impl Send for JobRef {}

impl JobRef {
    /// Runs it.
    ///
    /// # Safety
    /// This is the only run, and what the job borrows is alive, as it is until the job has reported its end.
    #[inline]
    pub(crate) unsafe fn run(self) {
        let unwound = AbortOnDrop;
        // SAFETY: promised by the caller; `run` was made for the type of `data`.
        unsafe { (self.run)(self.data) }
        std::mem::forget(unwound);
    }
}

/// Jobs catch what their closures throw. If something else unwinds, such as the drop of a second panic's payload, frames that
/// other threads use would be left.
struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// How a job ended.
pub(crate) enum Outcome<R> {
    Done(R),
    Panicked(Box<dyn Any + Send>),
}

impl<R> Outcome<R> {
    pub(crate) fn of(work: impl FnOnce() -> R) -> Outcome<R> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => Outcome::Done(result),
            Err(payload) => Outcome::Panicked(payload),
        }
    }

    /// The result; a panic goes on in the thread that asks.
    pub(crate) fn into_result(self) -> R {
        match self {
            Outcome::Done(result) => result,
            Outcome::Panicked(payload) => resume_unwind(payload),
        }
    }
}

/// A job in the frame of the thread that waits for it. The closure's argument says whether another thread runs it. The
/// closure is consumed once, by [`StackJob::run`] in another thread or by [`StackJob::run_inline`]. Nothing else is written
/// or moved, since every `join` pays for it.
pub(crate) struct StackJob<L, F, R> {
    pub(crate) latch: L,
    work: UnsafeCell<ManuallyDrop<F>>,
    outcome: UnsafeCell<MaybeUninit<Outcome<R>>>,
}

impl<L: Signal, F: FnOnce(bool) -> R + Send, R: Send> StackJob<L, F, R> {
    #[inline(always)]
    pub(crate) fn new(work: F, latch: L) -> Self {
        StackJob {
            latch,
            work: UnsafeCell::new(ManuallyDrop::new(work)),
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// What is put into a queue. The job must stay where it is until it was run or taken back.
    #[inline(always)]
    pub(crate) fn as_job_ref(&self) -> JobRef {
        JobRef {
            data: std::ptr::from_ref(self).cast(),
            run: Self::run,
        }
    }

    /// # Safety
    /// `data` is such a job, which no one else runs and whose owner waits for its latch.
    unsafe fn run(data: *const ()) {
        // SAFETY: promised by the caller. The job may be gone once the latch is set, which is done through a pointer.
        unsafe {
            let job = &*data.cast::<Self>();
            let work = ManuallyDrop::take(&mut *job.work.get());
            (*job.outcome.get()).write(Outcome::of(|| work(true)));
            L::set(&raw const job.latch);
        }
    }

    /// Runs the closure in the thread that made the job.
    ///
    /// # Safety
    /// The job was taken back, or never given away, and this is the only call.
    #[inline(always)]
    pub(crate) unsafe fn run_inline(&self) -> R {
        // SAFETY: promised by the caller.
        let work = unsafe { ManuallyDrop::take(&mut *self.work.get()) };
        work(false)
    }

    /// How the job ended.
    ///
    /// # Safety
    /// Another thread has set its latch, and this is the only call.
    pub(crate) unsafe fn outcome(&self) -> Outcome<R> {
        // SAFETY: promised by the caller; `run` has written it.
        unsafe { (*self.outcome.get()).assume_init_read() }
    }
}

/// A job of its own on the heap; it says itself to whom it reports.
pub(crate) fn heap_job<F: FnOnce() + Send>(work: F) -> JobRef {
    /// # Safety
    /// `data` came from `Box::into_raw` below, once.
    unsafe fn run<F: FnOnce()>(data: *const ()) {
        // SAFETY: promised by the caller.
        let work = unsafe { Box::from_raw(data.cast_mut().cast::<F>()) };
        work();
    }
    JobRef {
        data: Box::into_raw(Box::new(work)).cast_const().cast(),
        run: run::<F>,
    }
}

/// Jobs in the order in which they came. A deque gives the latest first, so each job is put here and the deque gets a
/// stand-in, which runs the oldest.
#[derive(Default)]
pub(crate) struct JobFifo(Mutex<VecDeque<JobRef>>);

impl JobFifo {
    /// The stand-in for `job`.
    pub(crate) fn push(&self, job: JobRef) -> JobRef {
        lock(&self.0).push_back(job);
        JobRef {
            data: std::ptr::from_ref(self).cast(),
            run: JobFifo::run_oldest,
        }
    }

    /// # Safety
    /// `data` is a `JobFifo` with as many jobs as there are stand-ins left.
    unsafe fn run_oldest(data: *const ()) {
        // SAFETY: promised by the caller; a job in the queue keeps it alive.
        let fifo = unsafe { &*data.cast::<JobFifo>() };
        let oldest = lock(&fifo.0).pop_front();
        let Some(oldest) = oldest else {
            unreachable!("there is a job for each stand-in")
        };
        // SAFETY: it was in the queue once, so this is its only run.
        unsafe { oldest.run() }
    }
}
