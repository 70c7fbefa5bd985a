//! The pool: threads, their placement, and one batch at a time on them.

use std::ops::Range;
use std::sync::OnceLock;

use tracing::warn;

use super::affinity::{Affinity, ThreadRef};
use super::batch::{Batch, Caller, JobPanic, Outcome, WorkerId};
use super::flavors::mailbox;
use super::job::{BatchBody, Header};
use super::participants::Participants;
use super::sleep::{Events, spin_until};
use super::sync::{Arc, thread};
use super::worker::{self, CurrentWorker, Shared};
use crate::named::Dispatch;

/// Most workers a pool can have.
pub const MAX_WORKERS: usize = 1024;

/// A pool that could not be made, or whose workers could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The number of workers is out of range.
    #[error("a pool of {workers} workers: choose 1 to {MAX_WORKERS}")]
    Workers {
        /// The number asked for.
        workers: usize,
    },
    /// The operating system refused a thread.
    #[error(
        "starting worker {worker} failed ({source}): use fewer workers or raise the limit on threads"
    )]
    Spawn {
        /// Which worker.
        worker: usize,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system refused a set of processors.
    #[error(
        "worker {worker} cannot run on CPUs {cpus:?} ({source}): name CPUs that this process may use"
    )]
    Place {
        /// Which worker.
        worker: usize,
        /// The processors asked for.
        cpus: Vec<usize>,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Workers. The thread that calls [`run`](Pool::run) is worker 0, so a pool of N has N - 1 threads of its own; they
/// use no processor time while there is nothing to do.
pub struct Pool {
    pub(super) shared: Arc<Shared>,
    /// Those that were started; none where the system refused one.
    threads: OnceLock<Vec<thread::JoinHandle<()>>>,
    /// Where workers run that are not pinned.
    unpinned: Affinity,
}

impl Pool {
    /// Starts `workers - 1` threads, named `evener-w1` and so on. None is pinned.
    ///
    /// # Errors
    /// [`Error::Workers`] unless `workers` is 1 to [`MAX_WORKERS`]; [`Error::Spawn`] when a thread is refused.
    pub fn new(workers: usize) -> Result<Pool, Error> {
        let pool = Pool::unstarted(workers)?;
        let threads = pool.start()?;
        pool.threads.get_or_init(|| threads);
        Ok(pool)
    }

    /// The same, but threads are started by the first batch that needs one. Where one is refused then, each caller runs its
    /// batches alone.
    ///
    /// # Errors
    /// [`Error::Workers`] as [`Pool::new`].
    pub fn unstarted(workers: usize) -> Result<Pool, Error> {
        if workers == 0 || workers > MAX_WORKERS {
            return Err(Error::Workers { workers });
        }
        Ok(Pool {
            shared: Arc::new(Shared::new(workers)),
            threads: OnceLock::new(),
            unpinned: Affinity::current(),
        })
    }

    fn start(&self) -> Result<Vec<thread::JoinHandle<()>>, Error> {
        let workers = self.workers();
        let mut threads = Vec::with_capacity(workers - 1);
        for worker in 1..workers {
            let (shared, unpinned) = (Arc::clone(&self.shared), self.unpinned.clone());
            let thread = thread::Builder::new()
                .name(format!("evener-w{worker}"))
                .spawn(move || {
                    // A thread inherits where the one that starts it may run, which may be pinned by now.
                    if let Err(error) = unpinned.pin(ThreadRef::Current, &[]) {
                        warn!(%error, "a worker runs where the thread that started it does");
                    }
                    worker::work(&shared, WorkerId(worker));
                });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    end(&self.shared, threads);
                    return Err(Error::Spawn { worker, source });
                }
            }
        }
        Ok(threads)
    }

    /// The threads, which are started if they were not.
    fn threads(&self) -> &[thread::JoinHandle<()>] {
        self.threads.get_or_init(|| {
            self.start().unwrap_or_else(|error| {
                warn!("one thread computes: {error}");
                Vec::new()
            })
        })
    }

    /// Whether threads were started.
    pub fn is_started(&self) -> bool {
        self.threads.get().is_some()
    }

    /// How many workers there are, the calling thread of `run` included.
    pub fn workers(&self) -> usize {
        self.shared.slots.len()
    }

    /// Pins workers: `cpus[i]` are the processors worker `i` may run on, by the numbers of the operating system; an
    /// empty or missing set lets it run wherever this process could when the pool was made. Worker 0 is the
    /// calling thread. Entries beyond the number of workers are not used. Does nothing on systems other than Linux.
    ///
    /// # Errors
    /// [`Error::Place`] for the first worker whose set is refused; workers before it are placed.
    pub fn place(&self, cpus: &[Vec<usize>]) -> Result<(), Error> {
        for worker in 0..=self.threads().len() {
            let wanted = cpus.get(worker).map_or(&[][..], Vec::as_slice);
            let thread = match worker {
                0 => ThreadRef::Current,
                _ => ThreadRef::Other(self.shared.slots[worker].thread_id.wait()),
            };
            self.unpinned
                .pin(thread, wanted)
                .map_err(|source| Error::Place {
                    worker,
                    cpus: wanted.to_vec(),
                    source,
                })?;
        }
        Ok(())
    }

    /// Where workers run that are not pinned.
    pub(crate) fn unpinned(&self) -> &Affinity {
        &self.unpinned
    }

    /// Runs `body` over `0..batch.items`, cut into jobs of `batch.grain` items, on at most `batch.workers` workers,
    /// and returns when no job is running any more. Every job but the last has exactly `grain` items and begins at
    /// a multiple of `grain`, in every flavour. The caller takes part.
    ///
    /// - A batch of one job, or for one worker, is run by the caller; no other thread learns of it.
    /// - A call from inside a job, of this or any pool, runs on the worker that makes it: in a job of this pool with
    ///   the [`WorkerId`] of that job, else as worker 0.
    /// - Several threads may call at once. Workers run one batch at a time. A caller that does not get the workers
    ///   within some microseconds, or at once if it [hurries](Caller::Hurries), runs its batch alone. So jobs of one
    ///   batch may wait for another batch. In each batch the caller is worker 0: several callers must not share
    ///   per-worker state.
    ///
    /// Jobs must not wait for each other: any number of them may run one after the other on one worker.
    ///
    /// # Errors
    /// [`JobPanic`] when a job panicked; jobs that had not begun by then were skipped.
    pub fn run<F>(&self, batch: &Batch, body: &F) -> Result<Outcome, JobPanic>
    where
        F: Fn(WorkerId, Range<u32>) + Sync,
    {
        self.run_with(
            batch,
            |worker| worker,
            |&mut worker, items| body(worker, items),
        )
    }

    /// As [`Pool::run`], for jobs that need state of their worker. A worker calls `init` before a run of jobs, passes
    /// the result to `job` with each of them, and drops it after the last.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub fn run_with<T, I, J>(&self, batch: &Batch, init: I, job: J) -> Result<Outcome, JobPanic>
    where
        I: Fn(WorkerId) -> T + Sync,
        J: Fn(&mut T, Range<u32>) + Sync,
    {
        if batch.items == 0 {
            return Ok(Outcome::Finished);
        }
        let body = BatchBody { init, job };
        let header = Header::new(batch, &body);
        self.run_all(batch, &header);
        header.outcome()
    }

    /// Runs all jobs of a batch. When this returns, no job is left and no queue refers to the header; and it returns,
    /// since jobs do not unwind.
    fn run_all(&self, batch: &Batch, header: &Header) {
        let shared = &*self.shared;
        let alone = |worker| header.execute(worker, 0..header.jobs());
        if let Some(current) = CurrentWorker::get() {
            return alone(current.in_pool(shared));
        }
        let _current = CurrentWorker::set(shared, WorkerId(0));
        let limit = self.workers().min(batch.workers as usize);
        // A caller that waits has no job, so one worker more can have one.
        let waits = usize::from(batch.caller == Caller::Waits);
        let count = limit.min((header.jobs() as usize).saturating_add(waits));
        if count < 2 || header.jobs() < 2 {
            return alone(WorkerId(0));
        }

        // One batch at a time: queues hold the jobs of one, and a share never waits behind another caller's.
        let mut guard = shared.lock.try_lock();
        let locked = guard.is_some()
            || batch.caller != Caller::Hurries
                && spin_until(|| {
                    guard = shared.lock.try_lock();
                    guard.is_some()
                });
        if !locked {
            return alone(WorkerId(0));
        }
        let threads = self.threads();
        if threads.len() + 1 < count {
            return alone(WorkerId(0));
        }
        let participants = Participants::new(&shared.slots, threads, count);
        match batch.dispatch {
            Dispatch::Fifo => {
                participants.admit(limit, &shared.lock);
                shared.fifo.run_caller(header, &participants, batch.caller);
            }
            Dispatch::Mailbox => mailbox::run_caller(header, &participants, batch.caller),
            Dispatch::Steal => {
                participants.admit(limit, &shared.lock);
                shared.steal.run_caller(header, &participants, batch.caller);
            }
        }
        header.wait();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        end(&self.shared, self.threads.take().unwrap_or_default());
    }
}

/// Ends the threads of workers 1 and on.
fn end(shared: &Shared, threads: Vec<thread::JoinHandle<()>>) {
    Participants::new(&shared.slots, &threads, threads.len() + 1).signal_all(Events::CLOSE);
    for thread in threads {
        // A worker catches what its jobs throw, so there is no panic to pass on.
        let _ = thread.join();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_started_by_the_first_batch_that_needs_one() {
        let pool = Pool::unstarted(3).unwrap();
        let run = |workers| {
            let batch = Batch {
                dispatch: Dispatch::Mailbox,
                items: 6,
                grain: 1,
                workers,
                deadline: None,
                caller: Caller::Works,
            };
            let ran = std::sync::Mutex::new(0);
            let body = |_, items: Range<u32>| *ran.lock().unwrap() += items.len();
            pool.run(&batch, &body).unwrap();
            assert_eq!(ran.into_inner().unwrap(), 6);
        };
        assert_eq!(pool.workers(), 3);
        run(1);
        assert!(!pool.is_started());
        run(2);
        assert!(pool.is_started());
        assert_eq!(pool.threads().len(), 2);
    }

    #[test]
    fn where_a_thread_was_refused_each_caller_runs_its_batches_alone() {
        let pool = Pool::unstarted(3).unwrap();
        pool.threads.set(Vec::new()).unwrap();
        for dispatch in Dispatch::ALL {
            let batch = Batch {
                dispatch,
                items: 6,
                grain: 1,
                workers: 3,
                deadline: None,
                caller: Caller::Waits,
            };
            let here = thread::current().id();
            let body = |_, _| assert_eq!(thread::current().id(), here);
            assert_eq!(pool.run(&batch, &body), Ok(Outcome::Finished));
        }
        pool.place(&[Vec::new(), vec![0], vec![0]]).unwrap();
    }
}
