//! Jobs that each worker of a pool runs once.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::job::{Outcome, StackJob, heap_job};
use crate::latch::CountLatch;
use crate::pool::{self, Shared};
use crate::worker::Worker;

/// Tells a broadcast job where it runs.
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
    /// It says something of this thread.
    _not_send: PhantomData<*mut ()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn with<R>(work: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        match Worker::current() {
            Some(worker) => work(BroadcastContext {
                worker,
                _not_send: PhantomData,
            }),
            None => unreachable!("only workers run broadcast jobs"),
        }
    }

    /// The index of this worker in its pool.
    #[inline]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// How many workers the pool has.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.worker.shared().regular().len()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}

/// Runs `work` once on each worker of the current pool and returns the results by index.
///
/// ```
/// let indices = evener_pool::broadcast(|context| context.index());
/// assert!(indices.into_iter().eq(0..evener_pool::current_num_threads()));
/// ```
pub fn broadcast<OP, R>(work: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(work, &pool::current_pool())
}

/// Runs `work` once on each worker of the current pool, some time.
pub fn spawn_broadcast<OP>(work: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(work, &pool::current_pool());
}

pub(crate) fn broadcast_in<OP, R>(work: OP, shared: &Arc<Shared>) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let ended = CountLatch::new(shared.regular().len());
    let run = |_: bool| BroadcastContext::with(&work);
    let jobs: Vec<_> = (shared.regular().iter().map(|_| StackJob::new(&run, &ended))).collect();
    shared.send_to_all(jobs.iter().map(StackJob::as_job_ref));
    match Worker::current() {
        Some(worker) => worker.wait_until(&ended.latch),
        None => ended.latch.block(),
    }
    // SAFETY: all have run, for which this thread has waited. The outcomes are read once each, before any panic goes on.
    let outcomes: Vec<_> = jobs.iter().map(|job| unsafe { job.outcome() }).collect();
    outcomes.into_iter().map(Outcome::into_result).collect()
}

pub(crate) fn spawn_broadcast_in<OP>(work: OP, shared: &Arc<Shared>)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let work = Arc::new(work);
    shared.send_to_all(shared.regular().iter().map(|_| {
        shared.hold();
        let (pool, work) = (Arc::clone(shared), Arc::clone(&work));
        heap_job(move || {
            pool.catch(move || BroadcastContext::with(&*work));
            pool.release();
        })
    }));
}
