//! A worker: its deque, the thread that owns it, and what it does when it has nothing to do.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::deque::{self, Deque};
use crate::idle;
use crate::job::{JobFifo, JobRef};
use crate::latch::Latch;
use crate::place::Place;
use crate::pool::Shared;
use crate::sync::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Mutex, Ordering, lock, thread,
};

/// One worker of a pool. A thread owns it: one that the pool has started, or for the time of one call a thread of the
/// program's, while the pool's own thread sleeps. `pub(crate)` methods are for the owner, but for those that say otherwise.
#[repr(align(128))]
pub(crate) struct Worker {
    pub(crate) deque: Deque,
    index: usize,
    /// The pool, which is set before a thread owns the worker.
    pub(crate) shared: AtomicPtr<Shared>,
    /// Jobs that are to run in order; see [`JobFifo`].
    pub(crate) fifo: JobFifo,
    /// Jobs that this worker is to run, and no other.
    pub(crate) mail: Mutex<VecDeque<JobRef>>,
    pub(crate) has_mail: AtomicBool,
    /// Whether the owner runs a job.
    pub(crate) active: AtomicBool,
    /// Where the job that the owner runs came from: 0, or the number of the call of a guest.
    root: AtomicUsize,
    /// Whom to unpark.
    pub(crate) thread: Mutex<Option<thread::Thread>>,
    /// Where the worker's own thread sleeps.
    pub(crate) place: Place,
    /// What a sleeping owner was woken for.
    pub(crate) woken: AtomicU8,
    /// The owner belongs to the program, and runs nothing but parts of its own call.
    guest: AtomicBool,
    random: AtomicUsize,
    /// Nanoseconds that the owner looks for a job before it asks for one.
    pub(crate) patience: AtomicU32,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

impl Worker {
    pub(crate) fn new(index: usize, workers: usize) -> Worker {
        Worker {
            deque: Deque::new(workers),
            index,
            shared: AtomicPtr::new(std::ptr::null_mut()),
            fifo: JobFifo::default(),
            mail: Mutex::default(),
            has_mail: AtomicBool::new(false),
            active: AtomicBool::new(false),
            root: AtomicUsize::new(0),
            thread: Mutex::new(None),
            place: Place::default(),
            woken: AtomicU8::new(0),
            guest: AtomicBool::new(false),
            random: AtomicUsize::new(index),
            patience: AtomicU32::new(0),
        }
    }

    /// The worker that this thread owns.
    #[inline(always)]
    pub(crate) fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: whoever set the pointer owns the worker until it sets another. Callers use the result within one call,
        // which cannot outlast that.
        unsafe { CURRENT.with(Cell::get).as_ref() }
    }

    /// Makes this thread the owner of `worker`, or of none, and returns the one that it owned.
    pub(crate) fn set_current(worker: *const Worker) -> *const Worker {
        CURRENT.with(|current| current.replace(worker))
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The pool. Any thread that may use the worker.
    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        // SAFETY: the pool holds the worker, so it is alive, and has stored its address before anybody could call this.
        unsafe { &*self.shared.load(Ordering::Relaxed) }
    }

    /// Another handle of the pool.
    pub(crate) fn shared_arc(&self) -> Arc<Shared> {
        self.shared().arc()
    }

    /// Takes this thread's handle, to be unparked by.
    pub(crate) fn own(&self, guest: Option<usize>) {
        *lock(&self.thread) = Some(thread::current());
        self.guest.store(guest.is_some(), Ordering::Relaxed);
        self.root.store(guest.unwrap_or(0), Ordering::Relaxed);
    }

    /// The guest leaves.
    pub(crate) fn leave(&self) {
        self.deque.want_nothing();
        self.active.store(false, Ordering::Release);
        self.guest.store(false, Ordering::Relaxed);
        self.root.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_guest(&self) -> bool {
        self.guest.load(Ordering::Relaxed)
    }

    /// Adds the latest job, for which there is room.
    #[inline(always)]
    pub(crate) fn push(&self, job: JobRef) {
        if self.deque.push(job) != deque::NOTHING {
            self.attend();
        }
    }

    #[cold]
    fn attend(&self) {
        if self.deque.expose() == deque::CALL {
            self.shared().idle.call_watcher(self.shared());
        }
    }

    /// Adds the latest job, for which there is room, and offers it to those who are awake.
    #[inline]
    pub(crate) fn push_offered(&self, job: JobRef) {
        self.deque.push(job);
        if !self.deque.is_public() {
            self.deque.expose();
        }
    }

    /// Adds a job that nobody waits for. A guest leaves it to others.
    pub(crate) fn push_detached(&self, job: JobRef) {
        match self.is_guest() {
            true => self.shared().inject(job),
            false => self.push_spawned(job),
        }
    }

    /// Adds a job that is not taken back, so it is offered at once.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        if self.deque.is_full() {
            if !self.is_guest() {
                return self.shared().inject(job);
            }
            // Guests do not look into the queue of all. This is for its own call.
            lock(&self.mail).push_back(job);
            return self.has_mail.store(true, Ordering::Release);
        }
        self.deque.push(job);
        self.deque.publish();
        self.shared().idle.call_watcher(self.shared());
    }

    /// The next job of this worker's own.
    pub(crate) fn take_local(&self) -> Option<JobRef> {
        let job = match self.deque.len() {
            0 => None,
            _ if self.shared().breadth_first => self.deque.pop_oldest(),
            _ => self.deque.pop(),
        };
        job.or_else(|| self.take_mail())
    }

    pub(crate) fn take_mail(&self) -> Option<JobRef> {
        if !self.has_mail.load(Ordering::Acquire) {
            return None;
        }
        let mut mail = lock(&self.mail);
        let job = mail.pop_front();
        self.has_mail.store(!mail.is_empty(), Ordering::Release);
        job
    }

    /// The workers that this one may steal from, beginning with any.
    pub(crate) fn others<'a>(
        &self,
        shared: &'a Shared,
    ) -> impl Iterator<Item = &'a Worker> + use<'a> {
        let root = self.is_guest().then(|| self.root());
        self.all_others(shared)
            .filter(move |other| root.is_none_or(|root| other.root() == root))
    }

    fn all_others<'a>(&self, shared: &'a Shared) -> impl Iterator<Item = &'a Worker> + use<'a> {
        let (count, own) = (shared.workers.len(), self.index);
        let mut x = self
            .random
            .load(Ordering::Relaxed)
            .wrapping_add(0x9E37_79B9);
        self.random.store(x, Ordering::Relaxed);
        x = (x ^ (x >> 15)).wrapping_mul(0x2C1B_3C6D);
        let first = (x ^ (x >> 12)) % count;
        let (upper, lower) = (&shared.workers[first..], &shared.workers[..first]);
        let all = upper.iter().chain(lower);
        all.filter(move |other| other.index != own)
    }

    /// Runs a job that belongs to the root `from`.
    pub(crate) fn run_stolen(&self, job: JobRef, from: usize) {
        let own = self.root.swap(from, Ordering::Relaxed);
        let started = Instant::now();
        // SAFETY: it was taken out of a queue, so this is its only run.
        unsafe { job.run() };
        idle::learn(self, started.elapsed());
        self.root.store(own, Ordering::Relaxed);
    }

    /// Where the job comes from that the owner runs. Any thread.
    pub(crate) fn root(&self) -> usize {
        self.root.load(Ordering::Relaxed)
    }

    /// A job of another worker's, and the root that it belongs to.
    pub(crate) fn take_from(
        &self,
        other: &Worker,
        take: impl Fn(&Deque) -> Option<JobRef>,
    ) -> Option<(JobRef, usize)> {
        let job = take(&other.deque)?;
        let root = other.root();
        if self.is_guest() && root != self.root() {
            // The other has begun something else meanwhile, of which this may be a part.
            self.shared().inject(job);
            return None;
        }
        Some((job, root))
    }

    /// Any job there is, for a worker that yields. A guest that yields asks for jobs, so it gets those of other calls too.
    pub(crate) fn take_any(&self) -> Option<(JobRef, usize)> {
        let shared = self.shared();
        let own = self.take_local().or_else(|| shared.take_injected());
        own.map(|job| (job, self.root())).or_else(|| {
            self.all_others(shared).find_map(|other| {
                other.deque.want(deque::EXPOSE);
                let job = other.deque.steal();
                let job = job.or_else(|| other.deque.steal_private())?;
                Some((job, other.root()))
            })
        })
    }

    /// Runs other jobs until the latch is set.
    pub(crate) fn wait_until(&self, latch: &Latch) {
        while !latch.is_set() {
            match self.take_local() {
                // SAFETY: it was taken out of a queue, so this is its only run.
                Some(job) => unsafe { job.run() },
                None => match self.shared().idle.wait(self, Some(latch)) {
                    Some((job, from)) => self.run_stolen(job, from),
                    None => return,
                },
            }
        }
    }
}
