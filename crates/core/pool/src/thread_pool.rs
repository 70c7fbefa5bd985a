//! A pool of the program's own, and what a thread can ask of the pool that it is in.

use std::fmt;
use std::sync::Arc;

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::pool::{self, Shared};
use crate::scope::{Scope, ScopeFifo};
use crate::spawn::{spawn_fifo_in, spawn_in};
use crate::worker::Worker;
use crate::{join, scope, scope_fifo};

/// A pool beside the global one. Its threads end when it is dropped and all that was spawned in it has ended; dropping it
/// does not wait for that.
pub struct ThreadPool {
    shared: Arc<Shared>,
}

impl ThreadPool {
    pub(crate) fn of(shared: Arc<Shared>) -> ThreadPool {
        ThreadPool { shared }
    }

    /// Runs `work` on a worker of this pool and returns its result. What it calls of this crate uses this pool.
    ///
    /// ```
    /// let pool = evener_pool::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let sum = pool.install(|| {
    ///     let (a, b) = evener_pool::join(|| 1, || 2);
    ///     a + b
    /// });
    /// assert_eq!(sum, 3);
    /// # Ok::<(), evener_pool::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, work: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.shared.in_worker(true, |_, _| work())
    }

    /// As [`broadcast`](crate::broadcast), in this pool.
    pub fn broadcast<OP, R>(&self, work: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(work, &self.shared)
    }

    /// How many workers this pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.shared.regular().len()
    }

    /// The index of this thread in this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.shared.current().map(Worker::index)
    }

    /// Whether this thread has jobs of this pool that nobody runs yet.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.shared.current().map(|worker| worker.deque.len() > 0)
    }

    /// As [`join`](crate::join()), in this pool.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(a, b))
    }

    /// As [`scope`](crate::scope()), in this pool.
    pub fn scope<'scope, OP, R>(&self, body: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(body))
    }

    /// As [`scope_fifo`](crate::scope_fifo()), in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, body: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(body))
    }

    /// As [`in_place_scope`](crate::in_place_scope()), in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, body: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        Scope::run(Worker::current(), Arc::clone(&self.shared), body)
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo()), in this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, body: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        ScopeFifo::run(Worker::current(), Arc::clone(&self.shared), body)
    }

    /// As [`spawn`](crate::spawn()), in this pool.
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, work: OP) {
        spawn_in(work, &self.shared);
    }

    /// As [`spawn_fifo`](crate::spawn_fifo()), in this pool.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static>(&self, work: OP) {
        spawn_fifo_in(work, &self.shared);
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast()), in this pool.
    pub fn spawn_broadcast<OP>(&self, work: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(work, &self.shared);
    }

    /// As [`yield_now`](crate::yield_now()), if this thread is a worker of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.shared.current().map(yield_to_any)
    }

    /// As [`yield_local`](crate::yield_local()), if this thread is a worker of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.shared.current().map(yield_to_own)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.release();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}

/// How many workers the current pool has; the global one, if this thread is in none.
pub fn current_num_threads() -> usize {
    match Worker::current() {
        Some(worker) => worker.shared().regular().len(),
        None => pool::global().regular().len(),
    }
}

/// The most workers that a pool can have.
pub fn max_num_threads() -> usize {
    pool::MAX_WORKERS
}

/// The index of this thread in its pool.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::current().map(Worker::index)
}

/// Whether this thread has jobs that nobody runs yet.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::current().map(|worker| worker.deque.len() > 0)
}

/// Runs one job, if there is any. `None` if this thread is in no pool.
pub fn yield_now() -> Option<Yield> {
    Worker::current().map(yield_to_any)
}

/// Runs one job of those that this thread has added, if there is any. `None` if this thread is in no pool.
pub fn yield_local() -> Option<Yield> {
    Worker::current().map(yield_to_own)
}

/// What came of [`yield_now`] and [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was none.
    Idle,
}

fn yield_to_any(worker: &Worker) -> Yield {
    match worker.take_any() {
        Some((job, root)) => {
            worker.run_stolen(job, root);
            Yield::Executed
        }
        None => Yield::Idle,
    }
}

fn yield_to_own(worker: &Worker) -> Yield {
    // What a guest has spawned is in the queue of all. It is newer than what it has joined.
    let spawned = match worker.is_guest() {
        true => worker.shared().take_injected(),
        false => None,
    };
    match spawned.or_else(|| worker.take_local()) {
        Some(job) => {
            worker.run_stolen(job, worker.root());
            Yield::Executed
        }
        None => Yield::Idle,
    }
}
