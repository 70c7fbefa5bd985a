//! Workers, and the three ways jobs reach them.
//!
//! A *batch* is a range of items cut by a grain into *jobs*. [`Pool::run`] hands the jobs of one batch to workers in
//! one of three flavours ([`Dispatch`]), takes part itself, and returns when all have ended. Nothing is allocated
//! and no closure is boxed per job: a job is a descriptor of a fixed size that points to a header in the frame of
//! `run`. `README.md` beside this file has the wake-up protocol and why it loses nothing.

mod batch;
mod fifo;
pub(crate) mod lane;
mod mailbox;
pub(crate) mod place;
mod steal;
pub(crate) mod sync;
mod wake;
mod worker;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ops::Range;
use std::time::Instant;

use crate::plan::Dispatch;
use batch::{Doing, Header};
use sync::{Arc, thread};
use wake::{Call, spin_until};
use worker::{Crew, Seat, Team};

/// Most workers a pool can have.
pub const MAX_WORKERS: usize = 1024;

/// Which worker of its pool runs a job: `0..workers`. Worker 0 is the thread that called [`Pool::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(pub usize);

/// A range of items, how it is cut, and how its jobs reach workers.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How jobs reach workers.
    pub dispatch: Dispatch,
    /// Items `0..items` are run, each once.
    pub items: u32,
    /// Items in one job; the last job may have fewer. 0 counts as 1.
    pub grain: u32,
    /// Workers that may take part: `0..workers`. 0 counts as 1, more than the pool has as all.
    pub workers: u32,
    /// No job begins after this.
    pub deadline: Option<Instant>,
    /// What the calling thread does meanwhile.
    pub caller: Caller,
}

/// What the thread that calls [`Pool::run`] does until the batch has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// It hands jobs out and runs some itself, as worker 0.
    #[default]
    Works,
    /// It works, and does not wait for its turn: while workers run a batch of another thread it runs all of this one
    /// itself. For services that many threads ask at once, where a wait would take a processor from one of them.
    Hurries,
    /// It hands jobs out and waits, so that workers `1..workers` run them all: for whoever wants to know what helping
    /// brings or costs. A batch of one job it runs all the same.
    Waits,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All items were run.
    Finished,
    /// The deadline passed: at least one job was skipped.
    CutOff,
}

/// A job of the batch panicked. The batch's other jobs were run or skipped; none is still running. Workers survive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job panicked: {message}")]
pub struct JobPanic {
    /// What the first panic said.
    pub message: String,
}

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
        "worker {worker} cannot run on processors {cpus:?} ({source}): name processors this process may use"
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
    crew: Arc<Crew>,
    threads: Vec<thread::JoinHandle<()>>,
    home: place::Home,
}

impl Pool {
    /// Starts `workers - 1` threads, named `evener-w1` and so on. None is pinned.
    ///
    /// # Errors
    /// [`Error::Workers`] unless `workers` is 1 to [`MAX_WORKERS`]; [`Error::Spawn`] when a thread is refused.
    pub fn new(workers: usize) -> Result<Pool, Error> {
        if workers == 0 || workers > MAX_WORKERS {
            return Err(Error::Workers { workers });
        }
        let mut pool = Pool {
            crew: Arc::new(Crew::new(workers)),
            threads: Vec::with_capacity(workers - 1),
            home: place::Home::find(),
        };
        for worker in 1..workers {
            let crew = Arc::clone(&pool.crew);
            let thread = thread::Builder::new()
                .name(format!("evener-w{worker}"))
                .spawn(move || worker::work(&crew, WorkerId(worker)))
                // Dropping the pool ends the workers started so far.
                .map_err(|source| Error::Spawn { worker, source })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// How many workers there are, the calling thread of `run` included.
    pub fn workers(&self) -> usize {
        self.threads.len() + 1
    }

    /// Pins workers: `cpus[i]` are the processors worker `i` may run on, by the numbers of the operating system; an
    /// empty or missing set lets it run wherever this process could when the pool was made. Worker 0 is the
    /// calling thread. Entries beyond the number of workers are not used. Does nothing on systems other than Linux.
    ///
    /// # Errors
    /// [`Error::Place`] for the first worker whose set is refused; workers before it are placed.
    pub fn place(&self, cpus: &[Vec<usize>]) -> Result<(), Error> {
        for worker in 0..self.workers() {
            let wanted = cpus.get(worker).map_or(&[][..], Vec::as_slice);
            let thread = match worker {
                0 => place::Who::Caller,
                _ => place::Who::Thread(self.crew.desk(worker).identity.wait()),
            };
            self.home
                .put(thread, wanted)
                .map_err(|source| Error::Place {
                    worker,
                    cpus: wanted.to_vec(),
                    source,
                })?;
        }
        Ok(())
    }

    /// Where workers run that are not pinned.
    pub(crate) fn home(&self) -> &place::Home {
        &self.home
    }

    /// Runs `body` over `0..batch.items`, cut into jobs of `batch.grain` items, on at most `batch.workers` workers,
    /// and returns when no job is running any more. Every job but the last has exactly `grain` items and begins at
    /// a multiple of `grain`, in every flavour. The caller takes part.
    ///
    /// - One job, or one worker: the caller runs all, and no other thread learns of it.
    /// - A call from inside a job, of this or any pool, runs on the worker that makes it: in a job of this pool
    ///   with the [`WorkerId`] of that job, else as worker 0.
    /// - Several threads may call at once. Workers run one batch at a time; a caller that does not get its turn
    ///   within some microseconds, or at once if it [hurries](Caller::Hurries), runs its batch alone rather than wait. So jobs of one batch may wait for
    ///   another batch. In each batch the caller is worker 0: several callers must not share per-worker state.
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

    /// As [`Pool::run`], for jobs that need something of their worker's: `begin` is called by a worker that comes to
    /// one job or several in a row, and what it gives goes to `job` with each of them, and is dropped after the last.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub fn run_with<T, B, J>(&self, batch: &Batch, begin: B, job: J) -> Result<Outcome, JobPanic>
    where
        B: Fn(WorkerId) -> T + Sync,
        J: Fn(&mut T, Range<u32>) + Sync,
    {
        if batch.items == 0 {
            return Ok(Outcome::Finished);
        }
        let doing = Doing { begin, job };
        let header = Header::new(batch, &doing);
        self.lead(batch, &header);
        header.outcome()
    }

    /// Has all jobs of a batch run. No job is left, nor any trace of the header in a queue, when this returns; and
    /// it returns, since jobs do not unwind.
    fn lead(&self, batch: &Batch, header: &Header) {
        let seat = Seat::of_this_thread();
        let alone = |worker| header.execute(worker, 0..header.jobs());
        if let Some(seat) = seat {
            return alone(WorkerId(seat.worker_in(&self.crew)));
        }
        let _seat = Seat::take(&self.crew, WorkerId(0));
        let limit = self.workers().min(batch.workers as usize);
        // A caller that waits has no job, and so one worker more can have one.
        let waits = usize::from(batch.caller == Caller::Waits);
        let size = limit.min((header.jobs() as usize).saturating_add(waits));
        if size < 2 || header.jobs() < 2 {
            return alone(WorkerId(0));
        }

        // One batch at a time: queues hold the jobs of one, and a share never waits behind another caller's.
        let mut turn = self.crew.turn();
        let got = turn.is_some()
            || batch.caller != Caller::Hurries
                && spin_until(|| {
                    turn = self.crew.turn();
                    turn.is_some()
                });
        if !got {
            return alone(WorkerId(0));
        }
        let team = Team::new(&self.crew, &self.threads, size);
        match batch.dispatch {
            Dispatch::Fifo => {
                team.admit(limit);
                self.crew.fifo.lead(header, &team, batch.caller);
            }
            Dispatch::Mailbox => mailbox::lead(header, &team, batch.caller),
            Dispatch::Steal => {
                team.admit(limit);
                self.crew.steal.lead(header, &team, batch.caller);
            }
        }
        header.wait();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        Team::new(&self.crew, &self.threads, self.threads.len() + 1).call_all(Call::CLOSE);
        for thread in self.threads.drain(..) {
            // A worker catches what its jobs throw, so there is no panic to pass on.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}
