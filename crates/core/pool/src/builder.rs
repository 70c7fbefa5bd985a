//! How a pool is made: number of threads, names, stacks, handlers.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::deque;
use crate::pool::{self, MAX_WORKERS, Shared};
use crate::thread_pool::ThreadPool;
use crate::worker::Worker;

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type IndexHandler = dyn Fn(usize) + Send + Sync;

/// What the threads of a pool are made of, and call.
#[derive(Default)]
pub(crate) struct Handlers {
    /// In bytes.
    pub(crate) stack_size: Option<usize>,
    pub(crate) start: Option<Box<IndexHandler>>,
    pub(crate) exit: Option<Box<IndexHandler>>,
    pub(crate) panic: Option<Box<PanicHandler>>,
}

/// Makes a [`ThreadPool`], or the global pool.
///
/// ```
/// use evener_pool::ThreadPoolBuilder;
///
/// let pool = ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.install(|| evener_pool::current_num_threads()), 3);
/// # Ok::<(), evener_pool::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    breadth_first: bool,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    handlers: Handlers,
    spawn: S,
}

/// Starts threads by [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct DefaultSpawn;

/// Starts threads by a closure; see [`ThreadPoolBuilder::spawn_handler`].
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

/// How threads are started.
pub trait ThreadSpawn: sealed::Sealed {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// What the operating system says.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;

    /// Whether threads can be started later by the pool itself.
    #[doc(hidden)]
    const DEFERRED: bool = false;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::DefaultSpawn {}
    impl<F> Sealed for super::CustomSpawn<F> {}
}

impl ThreadSpawn for DefaultSpawn {
    const DEFERRED: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.builder().spawn(|| thread.run()).map(drop)
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// One thread of a pool that is being made; see [`ThreadPoolBuilder::spawn_handler`].
pub struct ThreadBuilder {
    index: usize,
    name: Option<String>,
    shared: Arc<Shared>,
}

impl ThreadBuilder {
    /// The index of the thread in its pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that [`ThreadPoolBuilder::thread_name`] gave it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size in bytes that [`ThreadPoolBuilder::stack_size`] gave.
    pub fn stack_size(&self) -> Option<usize> {
        self.shared.handlers.stack_size
    }

    /// Starts a thread with this name and this stack.
    fn builder(&self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(size) = self.stack_size() {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// Works until the pool is dropped.
    pub fn run(self) {
        self.shared.work(self.index);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index)
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish_non_exhaustive()
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            breadth_first: false,
            name: None,
            handlers: Handlers::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A pool with a thread for each CPU that this process may use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool whose threads borrow from this frame. `wrapper` runs in each thread and calls [`ThreadBuilder::run`];
    /// `with_pool` uses the pool, which is gone when this returns.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        std::thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let builder = thread.builder();
                    builder.spawn_scoped(scope, || wrapper(thread)).map(drop)
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes a pool.
    ///
    /// # Errors
    /// [`ThreadPoolBuildError`] if the system refuses a thread, or if the current thread is to be part of the pool and is
    /// part of another.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.build_shared(false).map(ThreadPool::of)
    }

    /// Makes the global pool. This is optional: the first use makes it with the defaults.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`], and if there is a global pool.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        pool::init_global(|| self.build_shared(true))
    }

    /// Threads of a global pool that need nothing special are started when there is work for them, and the program's own
    /// threads may work in their place.
    pub(crate) fn build_shared(
        mut self,
        global: bool,
    ) -> Result<Arc<Shared>, ThreadPoolBuildError> {
        if self.use_current_thread && Worker::current().is_some() {
            return Err(ThreadPoolBuildError {
                kind: ErrorKind::CurrentThreadInPool,
            });
        }
        let threads = self.threads().min(MAX_WORKERS);
        let handlers = &self.handlers;
        let lends = global
            && S::DEFERRED
            && !self.use_current_thread
            && !self.breadth_first
            && self.name.is_none()
            && handlers.stack_size.is_none()
            && handlers.start.is_none()
            && handlers.exit.is_none();
        let shared = Shared::new(threads, self.breadth_first, lends, self.handlers);
        if lends {
            shared.idle.unstarted(0..threads, threads..2 * threads);
            return Ok(shared);
        }
        let own = usize::from(self.use_current_thread);
        if self.use_current_thread {
            // The thread is a worker from now on, for good, so the pool is as well.
            std::mem::forget(Arc::clone(&shared));
            let worker = &shared.workers[0];
            worker.own(None);
            // This thread does not enter and leave the pool. So each of its pushes checks that a worker watches.
            worker.deque.want(deque::CALL);
            Worker::set_current(worker);
        }
        // Whether an error or a panic ends this, the threads that were started end as well.
        let unfinished = Unfinished(shared);
        for index in own..threads {
            let thread = ThreadBuilder {
                index,
                name: self.name.as_mut().map(|name| name(index)),
                shared: Arc::clone(&unfinished.0),
            };
            self.spawn
                .spawn(thread)
                .map_err(|error| ThreadPoolBuildError {
                    kind: ErrorKind::Io(error),
                })?;
        }
        let shared = Arc::clone(&unfinished.0);
        shared.hold();
        Ok(shared)
    }
}

/// A pool whose owner has not got it yet.
struct Unfinished(Arc<Shared>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Threads are started by `spawn`, which is called once for each and starts one that calls [`ThreadBuilder::run`].
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            breadth_first: self.breadth_first,
            name: self.name,
            handlers: self.handlers,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names threads by their index.
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(mut self, name: F) -> Self {
        self.name = Some(Box::new(name));
        self
    }

    /// How many threads the pool has. With 0, as many as the variable `RAYON_NUM_THREADS` says, or else one for each CPU
    /// that this process may use.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.num_threads = threads;
        self
    }

    /// The thread that makes the pool is its worker 0 from then on. It runs jobs of the pool while it waits for its own.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Is called with what a job threw that nobody waits for. Without, the process aborts.
    pub fn panic_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(handler));
        self
    }

    /// The size in bytes of the threads' stacks.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.handlers.stack_size = Some(bytes);
        self
    }

    /// A worker runs the jobs that it has spawned in the order in which it spawned them.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Is called by each thread with its index when it starts.
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, handler: H) -> Self {
        self.handlers.start = Some(Box::new(handler));
        self
    }

    /// Is called by each thread with its index when it ends.
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, handler: H) -> Self {
        self.handlers.exit = Some(Box::new(handler));
        self
    }

    fn threads(&self) -> usize {
        let named = |variable| std::env::var(variable).ok()?.parse().ok();
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        match self.num_threads {
            0 => match named("RAYON_NUM_THREADS") {
                Some(0) => cpus(),
                Some(threads) => threads,
                None => named("RAYON_RS_NUM_CPUS")
                    .filter(|&threads| threads > 0)
                    .unwrap_or_else(cpus),
            },
            threads => threads,
        }
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("stack_size", &self.handlers.stack_size)
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}

/// A pool that could not be made.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    GlobalExists,
    CurrentThreadInPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_exists() -> ThreadPoolBuildError {
        ThreadPoolBuildError {
            kind: ErrorKind::GlobalExists,
        }
    }
}

impl std::error::Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::GlobalExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            ErrorKind::CurrentThreadInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            ErrorKind::Io(error) => error.fmt(f),
        }
    }
}
