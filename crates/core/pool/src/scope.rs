//! Any number of jobs that borrow from a frame, which waits for all of them.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::broadcast::BroadcastContext;
use crate::job::{JobFifo, JobRef, Outcome, heap_job};
use crate::latch::{CountLatch, Signal};
use crate::pool::{self, Shared};
use crate::sync::{Mutex, lock};
use crate::worker::Worker;

/// Spawns jobs that borrow; see [`scope`].
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// As [`Scope`]; of the jobs that one thread spawns, the oldest runs first.
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// For each worker, what it has spawned.
    fifos: Vec<JobFifo>,
}

struct Base<'scope> {
    shared: Arc<Shared>,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The body of the scope and its jobs report here.
    ended: CountLatch,
    #[expect(
        clippy::type_complexity,
        reason = "it names what jobs may borrow, and is invariant in it"
    )]
    _jobs: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

/// Calls `body` with a scope, waits for all jobs that were spawned in it, and returns what `body` returned. Jobs may borrow
/// what outlives the call, and spawn more jobs.
///
/// A panic of `body` or of a job goes on here when all have ended.
///
/// ```
/// let mut counts = [0; 4];
/// evener_pool::scope(|s| {
///     for (number, count) in counts.iter_mut().enumerate() {
///         s.spawn(move |_| *count = number * number);
///     }
/// });
/// assert_eq!(counts, [0, 1, 4, 9]);
/// ```
pub fn scope<'scope, OP, R>(body: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    pool::in_worker(|worker, _| Scope::run(Some(worker), worker.shared_arc(), body))
}

/// As [`scope`]; of the jobs that one thread spawns, the oldest runs first.
pub fn scope_fifo<'scope, OP, R>(body: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    pool::in_worker(|worker, _| ScopeFifo::run(Some(worker), worker.shared_arc(), body))
}

/// As [`scope`]; `body` runs on the current thread, though it may not be a worker.
pub fn in_place_scope<'scope, OP, R>(body: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    Scope::run(Worker::current(), pool::current_pool(), body)
}

/// As [`scope_fifo`]; `body` runs on the current thread, though it may not be a worker.
pub fn in_place_scope_fifo<'scope, OP, R>(body: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    ScopeFifo::run(Worker::current(), pool::current_pool(), body)
}

impl<'scope> Scope<'scope> {
    pub(crate) fn run<R>(
        owner: Option<&Worker>,
        shared: Arc<Shared>,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let scope = Scope {
            base: Base::new(shared),
        };
        scope.base.complete(owner, || body(&scope))
    }

    /// Adds a job, which runs any time before the scope ends.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job = job(self, body);
        self.base.shared.add(job, false);
    }

    /// Adds a job that each worker of the pool runs once.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        broadcast(self, body);
    }
}

impl<'scope> ScopeFifo<'scope> {
    pub(crate) fn run<R>(
        owner: Option<&Worker>,
        shared: Arc<Shared>,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let scope = ScopeFifo {
            fifos: shared.workers.iter().map(|_| JobFifo::default()).collect(),
            base: Base::new(shared),
        };
        scope.base.complete(owner, || body(&scope))
    }

    /// Adds a job, which runs any time before the scope ends.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let job = job(self, body);
        match self.base.shared.current() {
            Some(worker) => worker.push_spawned(self.fifos[worker.index()].push(job)),
            None => self.base.shared.inject(job),
        }
    }

    /// Adds a job that each worker of the pool runs once.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        broadcast(self, body);
    }
}

impl<'scope> Base<'scope> {
    fn new(shared: Arc<Shared>) -> Self {
        Base {
            shared,
            panic: Mutex::new(None),
            ended: CountLatch::new(1),
            _jobs: PhantomData,
        }
    }

    /// Runs a job or the body, and reports its end.
    fn run<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let result = match Outcome::of(work) {
            Outcome::Done(result) => Some(result),
            Outcome::Panicked(payload) => {
                let mut first = lock(&self.panic);
                match *first {
                    None => *first = Some(payload),
                    // Its drop might panic.
                    Some(_) => std::mem::forget(payload),
                }
                None
            }
        };
        // SAFETY: the latch is alive until the last has reported, of which this is one.
        unsafe { CountLatch::set(&raw const self.ended) };
        result
    }

    fn complete<R>(&self, owner: Option<&Worker>, body: impl FnOnce() -> R) -> R {
        let result = self.run(body);
        match owner {
            Some(worker) => worker.wait_until(&self.ended.latch),
            None => self.ended.latch.block(),
        }
        if let Some(payload) = lock(&self.panic).take() {
            resume_unwind(payload);
        }
        match result {
            Some(result) => result,
            None => unreachable!("the panic of the body went on"),
        }
    }
}

/// What both kinds of scopes are.
trait Within<'scope>: Sync {
    fn base(&self) -> &Base<'scope>;
}

impl<'scope> Within<'scope> for Scope<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

impl<'scope> Within<'scope> for ScopeFifo<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

/// A job that the scope waits for.
fn job<'scope, S: Within<'scope>>(scope: &S, body: impl FnOnce(&S) + Send + 'scope) -> JobRef {
    scope.base().ended.increment();
    let scope = Alive(scope);
    heap_job(move || {
        // SAFETY: the scope waits for this job.
        let scope = unsafe { scope.get() };
        // What the body has captured is dropped before the end is reported.
        scope.base().run(move || body(scope));
    })
}

/// A job for each worker.
fn broadcast<'scope, S: Within<'scope>>(
    scope: &S,
    body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync + 'scope,
) {
    let (shared, body) = (&scope.base().shared, Arc::new(body));
    shared.send_to_all(shared.regular().iter().map(|_| {
        let body = Arc::clone(&body);
        job(scope, move |scope| {
            BroadcastContext::with(|context| body(scope, context))
        })
    }));
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}

/// A scope that waits for whoever has this.
struct Alive<T>(*const T);

// SAFETY: scopes are `Sync`.
unsafe impl<T: Sync> Send for Alive<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Alive<T> {}

impl<T> Alive<T> {
    /// # Safety
    /// The scope waits for the caller.
    unsafe fn get(&self) -> &T {
        // SAFETY: promised by the caller.
        unsafe { &*self.0 }
    }
}
