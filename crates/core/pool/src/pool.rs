//! What the threads of a pool share, the global pool, and how a thread of the program gets into a pool.

use std::any::Any;
use std::collections::VecDeque;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use crate::builder::{Handlers, ThreadPoolBuildError, ThreadPoolBuilder};
use crate::deque;
use crate::idle::{Borrowed, Idle};
use crate::job::{JobRef, StackJob};
use crate::latch::Latch;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock, thread};
use crate::worker::Worker;

/// Most workers of a pool.
pub(crate) const MAX_WORKERS: usize = 0xFFFF;

pub(crate) struct Shared {
    /// The pool's, and those that take the place of one which blocks.
    pub(crate) workers: Box<[Worker]>,
    count: usize,
    pub(crate) idle: Idle,
    /// Jobs of threads that are not workers of this pool.
    injected: Mutex<VecDeque<JobRef>>,
    injected_len: AtomicUsize,
    /// Reasons not to end: the pool's owner, and jobs that nobody waits for.
    holders: AtomicUsize,
    pub(crate) breadth_first: bool,
    /// Threads of the program may own a worker for the time of a call.
    pub(crate) lends: bool,
    pub(crate) handlers: Handlers,
}

impl Shared {
    pub(crate) fn new(
        count: usize,
        breadth_first: bool,
        lends: bool,
        handlers: Handlers,
    ) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            workers: (0..if lends { 2 * count } else { count })
                .map(|index| Worker::new(index, count))
                .collect(),
            count,
            idle: Idle::default(),
            injected: Mutex::default(),
            injected_len: AtomicUsize::new(0),
            holders: AtomicUsize::new(1),
            breadth_first,
            lends,
            handlers,
        });
        for worker in &shared.workers {
            worker
                .shared
                .store(Arc::as_ptr(&shared).cast_mut(), Ordering::Relaxed);
        }
        shared
    }

    /// Those that are not only there to take the place of others.
    pub(crate) fn regular(&self) -> &[Worker] {
        &self.workers[..self.count]
    }

    /// Whether a worker is only there to take the place of others.
    pub(crate) fn is_spare(&self, index: usize) -> bool {
        index >= self.count
    }

    /// Another handle.
    pub(crate) fn arc(&self) -> Arc<Shared> {
        let this = self.workers[0].shared.load(Ordering::Relaxed).cast_const();
        // SAFETY: `new` has stored the address of the `Arc` there; the caller's reference keeps it alive.
        unsafe {
            Arc::increment_strong_count(this);
            Arc::from_raw(this)
        }
    }

    pub(crate) fn is(&self, worker: &Worker) -> bool {
        std::ptr::eq(self, worker.shared())
    }

    /// The worker of this pool that this thread owns.
    pub(crate) fn current(&self) -> Option<&Worker> {
        Worker::current().filter(|worker| self.is(worker))
    }

    pub(crate) fn inject(&self, job: JobRef) {
        let mut injected = lock(&self.injected);
        injected.push_back(job);
        self.injected_len.store(injected.len(), Ordering::Release);
        drop(injected);
        self.idle.wake_one(self);
    }

    pub(crate) fn has_injected(&self) -> bool {
        self.injected_len.load(Ordering::Acquire) > 0
    }

    pub(crate) fn take_injected(&self) -> Option<JobRef> {
        if !self.has_injected() {
            return None;
        }
        let mut injected = lock(&self.injected);
        let job = injected.pop_front();
        self.injected_len.store(injected.len(), Ordering::Release);
        job
    }

    /// A job for every worker.
    pub(crate) fn send_to_all(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        for (worker, job) in self.regular().iter().zip(jobs) {
            lock(&worker.mail).push_back(job);
            worker.has_mail.store(true, Ordering::Release);
        }
        for worker in self.regular() {
            self.idle.wake_owner(worker, self);
        }
    }

    /// Adds a job of a scope or one that nobody waits for: to this thread's deque, if it is a worker of this pool.
    pub(crate) fn add(&self, job: JobRef, detached: bool) {
        match self.current() {
            Some(worker) if detached => worker.push_detached(job),
            Some(worker) => worker.push_spawned(job),
            None => self.inject(job),
        }
    }

    /// Whether nobody has a job and there is none.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.has_injected()
            && self
                .workers
                .iter()
                .all(|w| !w.active.load(Ordering::SeqCst) && w.deque.len() == 0)
    }

    pub(crate) fn hold(&self) {
        self.holders.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes back one [`Shared::hold`], or the owner's.
    pub(crate) fn release(&self) {
        if self.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.wake_all(self);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.holders.load(Ordering::Acquire) == 0
    }

    /// Starts the thread of a worker. Whether the system has one.
    pub(crate) fn start_thread(&self, index: usize) -> bool {
        let shared = self.arc();
        thread::Builder::new()
            .spawn(move || shared.work(index))
            .is_ok()
    }

    /// What the thread of a worker does, until the pool ends.
    pub(crate) fn work(&self, index: usize) {
        let worker = &self.workers[index];
        worker.own(None);
        Worker::set_current(worker);
        self.call_handler(self.handlers.start.as_deref(), index);
        loop {
            let next = worker.take_local().map(|job| (job, 0));
            let Some((job, root)) = next.or_else(|| self.idle.wait(worker, None)) else {
                break;
            };
            worker.active.store(true, Ordering::SeqCst);
            self.idle.call_watcher(self);
            worker.run_stolen(job, root);
            worker.active.store(false, Ordering::Release);
        }
        self.call_handler(self.handlers.exit.as_deref(), index);
        Worker::set_current(std::ptr::null());
    }

    fn call_handler(&self, handler: Option<&(dyn Fn(usize) + Send + Sync)>, index: usize) {
        if let Some(handler) = handler {
            self.catch(|| handler(index));
        }
    }

    /// Runs something whose panic nobody waits for.
    pub(crate) fn catch(&self, work: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            self.panicked(payload);
        }
    }

    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let handled = self.handlers.panic.as_ref().is_some_and(|handler| {
            match catch_unwind(AssertUnwindSafe(|| handler(payload))) {
                Ok(()) => true,
                Err(payload) => {
                    // Its drop might panic.
                    std::mem::forget(payload);
                    false
                }
            }
        });
        if !handled {
            let _ = writeln!(
                std::io::stderr(),
                "a job that nobody waits for has panicked: aborting"
            );
            std::process::abort();
        }
    }

    /// Runs `work` on a worker of this pool, which this thread may already be. The flag says whether the thread is a worker
    /// for this call only. With `calls`, an idle worker is woken to watch for jobs of the call.
    pub(crate) fn in_worker<R: Send>(
        &self,
        calls: bool,
        work: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        match Worker::current() {
            Some(worker) if self.is(worker) => work(worker, false),
            other => self.enter(other, calls, work),
        }
    }

    /// Makes this thread, which is not a worker, one of this pool, if that lends any and one is idle.
    pub(crate) fn guest(&self) -> Option<Guest<'_>> {
        let borrowed = self.lends.then(|| self.idle.borrow(self)).flatten()?;
        Some(Guest::new(self, borrowed))
    }

    #[cold]
    fn enter<R: Send>(
        &self,
        other: Option<&Worker>,
        calls: bool,
        work: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        if other.is_none()
            && let Some(guest) = self.guest()
        {
            match calls {
                true => self.idle.call_watcher(self),
                // A job that is added without being offered calls one after all.
                false => guest.worker().deque.want(deque::CALL),
            }
            return work(guest.worker(), true);
        }
        let job = StackJob::new(
            |_| match self.current() {
                Some(worker) => work(worker, true),
                None => unreachable!("only workers take jobs"),
            },
            Latch::new(),
        );
        self.inject(job.as_job_ref());
        match other {
            Some(worker) => worker.wait_until(&job.latch),
            None => job.latch.block(),
        }
        // SAFETY: another thread has run it, for which this one has waited.
        unsafe { job.outcome() }.into_result()
    }
}

/// A thread of the program that owns a worker for the time of one call.
pub(crate) struct Guest<'a> {
    shared: &'a Shared,
    borrowed: Borrowed,
    /// The handle of the worker's own thread.
    thread: Option<thread::Thread>,
}

impl<'a> Guest<'a> {
    fn new(shared: &'a Shared, borrowed: Borrowed) -> Guest<'a> {
        static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
        let worker = &shared.workers[borrowed.index];
        let thread = lock(&worker.thread).take();
        worker.own(Some(CALLS.fetch_add(1, Ordering::Relaxed)));
        worker.active.store(true, Ordering::SeqCst);
        Worker::set_current(worker);
        Guest {
            shared,
            borrowed,
            thread,
        }
    }

    fn worker(&self) -> &'a Worker {
        &self.shared.workers[self.borrowed.index]
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        Worker::set_current(std::ptr::null());
        let worker = self.worker();
        worker.leave();
        self.shared
            .idle
            .give_back(&self.borrowed, self.thread.take(), self.shared);
    }
}

static GLOBAL: OnceLock<Arc<Shared>> = OnceLock::new();

/// The global pool, which is made when it is used first.
pub(crate) fn global() -> &'static Arc<Shared> {
    GLOBAL.get_or_init(default)
}

fn default() -> Arc<Shared> {
    match ThreadPoolBuilder::new().build_shared(true) {
        Ok(shared) => shared,
        Err(error) => panic!("the global pool cannot be made: {error}"),
    }
}

/// Makes the global pool, unless there is one.
pub(crate) fn init_global(
    make: impl FnOnce() -> Result<Arc<Shared>, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    let mut made = Err(ThreadPoolBuildError::global_exists());
    let mut failed = None;
    GLOBAL.get_or_init(|| match make() {
        Ok(shared) => {
            made = Ok(());
            shared
        }
        Err(error) => {
            failed = Some(error);
            default()
        }
    });
    failed.map_or(made, Err)
}

/// The pool of this thread, or else the global one.
pub(crate) fn current_pool() -> Arc<Shared> {
    match Worker::current() {
        Some(worker) => worker.shared_arc(),
        None => Arc::clone(global()),
    }
}

/// Runs `work` on this thread if it is a worker of any pool, or else in the global pool.
#[inline]
pub(crate) fn in_worker<R: Send>(work: impl FnOnce(&Worker, bool) -> R + Send) -> R {
    match Worker::current() {
        Some(worker) => work(worker, false),
        None => global().in_worker(true, work),
    }
}
