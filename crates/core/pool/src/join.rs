//! Two closures, the second of which another thread may run.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use crate::job::{JobRef, Outcome, StackJob};
use crate::latch::Latch;
use crate::pool;
use crate::worker::Worker;

/// Tells a closure of [`join_context`] where it runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// It says something of this thread.
    _not_send: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> FnContext {
        FnContext {
            migrated,
            _not_send: PhantomData,
        }
    }

    /// Whether the closure runs on another thread than the one that gave it away.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures, the second on another thread if one is idle long enough to take it, and returns both results.
///
/// If no thread takes the second closure, this costs some nanoseconds. Calls may be nested.
///
/// If a closure panics, the panic goes on here after both have ended; if both do, the panic of the first.
///
/// ```
/// fn sum(values: &[u64]) -> u64 {
///     if values.len() < 1000 {
///         return values.iter().sum();
///     }
///     let (left, right) = values.split_at(values.len() / 2);
///     let (left, right) = evener_pool::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&[2; 100_000]), 200_000);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| a(), |_| b())
}

/// Like [`join`]. The [`FnContext`] says whether the closure runs on another thread.
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) if worker.deque.has_many() => {
            in_turn(|| a(FnContext::new(false)), || b(FnContext::new(false)))
        }
        Some(worker) => join_on(worker, false, false, a, b),
        None => join_outside(a, b),
    }
}

/// Like [`join`], for closures that are known to take some microseconds: idle threads can take the second at once. No thread
/// is woken. For callers that are workers, as in [`enter`](crate::loops::enter).
#[inline]
pub fn join_offered<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) if !worker.deque.has_many() => join_on(worker, false, true, |_| a(), |_| b()),
        _ => in_turn(a, b),
    }
}

#[cold]
#[inline(never)]
fn join_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    pool::global().in_worker(true, |worker, injected| {
        join_on(worker, injected, false, a, b)
    })
}

#[inline]
fn join_on<A, B, RA, RB>(worker: &Worker, injected: bool, offer: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let job_b = StackJob::new(
        move |migrated| b(FnContext::new(migrated || injected)),
        Latch::new(),
    );
    let job = job_b.as_job_ref();
    let index = worker.deque.next();
    match offer {
        true => worker.push_offered(job),
        false => worker.push(job),
    }
    let waits = Waits(worker, &job_b);
    let a = a(FnContext::new(injected));
    std::mem::forget(waits);
    if worker.deque.take_back(index) || finish(worker, &job_b.latch, job) {
        // SAFETY: this thread has taken the job back.
        (a, unsafe { job_b.run_inline() })
    } else {
        // SAFETY: another thread has run it, for which this one has waited.
        (a, unsafe { job_b.outcome() }.into_result())
    }
}

/// Waits for the second closure if the first panics, as it may borrow from this frame, and drops what it returned.
struct Waits<'a, R: Send, F: FnOnce(bool) -> R + Send>(&'a Worker, &'a StackJob<Latch, F, R>);

impl<R: Send, F: FnOnce(bool) -> R + Send> Drop for Waits<'_, R, F> {
    fn drop(&mut self) {
        self.0.wait_until(&self.1.latch);
        // SAFETY: the latch is set, and the panic of the first closure keeps everybody else from asking.
        drop(unsafe { self.1.outcome() });
    }
}

/// Whether the job is still there. If not, it has ended when this returns.
#[cold]
fn finish(worker: &Worker, latch: &Latch, job: JobRef) -> bool {
    while !latch.is_set() {
        match worker.take_local() {
            Some(latest) if std::ptr::eq(latest.data, job.data) => return true,
            // SAFETY: it was taken out of a queue, so this is its only run.
            Some(other) => unsafe { other.run() },
            None => worker.wait_until(latch),
        }
    }
    false
}

/// Both closures on this thread.
#[inline(always)]
fn in_turn<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    let later = Later(ManuallyDrop::new(b));
    let a = a();
    let mut later = ManuallyDrop::new(later);
    // SAFETY: the guard is not dropped, so this is the only use.
    let b = unsafe { ManuallyDrop::take(&mut later.0) };
    (a, b())
}

/// Runs the second closure if the first panics, as both are run whatever happens.
struct Later<R, B: FnOnce() -> R>(ManuallyDrop<B>);

impl<R, B: FnOnce() -> R> Drop for Later<R, B> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: this is the only use, as a guard whose closure was taken is not dropped.
        let b = unsafe { ManuallyDrop::take(&mut self.0) };
        drop(Outcome::of(b));
    }
}
