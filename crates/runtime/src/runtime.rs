//! The runtime: the machine, its workers, and what is known about both.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tracing::warn;

use crate::dispatch::Pool;
use crate::dispatch::place::{Home, Who, this_cpu};
use crate::error::Error;
use crate::io::Spare;
use crate::plan::{Choice, Dispatch, Placement, Plan};
use crate::rates::Rates;
use crate::service::{Service, Shape};
use crate::stream::{Executor, FromSource, StreamError};
use crate::topology::Topology;
use crate::trace::Trace;
use crate::tuner::{Memory, TunerSetup};

/// Workers on the machine as found. Streams, one after the other or several at once, run on it.
///
/// Dropping it ends its threads. It uses no processor time while nothing runs.
pub struct Runtime {
    topology: Topology,
    pool: Pool,
    rates: OnceLock<Rates>,
    placement: Placement,
    memory: Option<Memory>,
    trace: Trace,
    spare: Spare,
    /// A stream has given each worker a processor of its own.
    spread: AtomicBool,
}

/// What can be chosen about a runtime.
#[derive(Debug, Default)]
pub struct Builder {
    workers: Option<usize>,
    placement: Placement,
    memory: Remember,
    trace: Trace,
}

#[derive(Debug, Default)]
enum Remember {
    #[default]
    No,
    Yes,
    At(PathBuf),
}

impl Builder {
    /// How many workers, the thread that runs a stream included. By default as many as [`Topology::workers`] says.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Where workers run relative to the threads that do input and output. By default that is left to the
    /// operating system, and to the tuner; see [`Placement::None`]. While a stream runs, the thread that runs it is
    /// pinned too.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Whether plans that won are remembered in the user's cache directory, and tried first by later streams of the
    /// same service on the same machine. Off by default.
    pub fn memory(mut self, remember: bool) -> Self {
        self.memory = if remember {
            Remember::Yes
        } else {
            Remember::No
        };
        self
    }

    /// Remembers plans in a file of one's own.
    pub fn memory_at(mut self, file: impl Into<PathBuf>) -> Self {
        self.memory = Remember::At(file.into());
        self
    }

    /// Where to record what runs when. By default nowhere.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// [`Error::Pool`] when the number of workers is out of range or a thread is refused.
    pub fn build(self) -> Result<Runtime, Error> {
        let topology = Topology::detect();
        let pool = Pool::new(self.workers.unwrap_or_else(|| topology.workers()))?;
        Ok(Runtime {
            pool,
            spare: Spare::new(&topology),
            topology,
            rates: OnceLock::new(),
            placement: self.placement,
            memory: match self.memory {
                Remember::No => None,
                Remember::Yes => Memory::open_default(),
                Remember::At(file) => Some(Memory::at(file)),
            },
            trace: self.trace,
            spread: AtomicBool::new(false),
        })
    }
}

impl Runtime {
    /// A runtime with a worker for every processor this process may use, nothing pinned, remembered or traced.
    ///
    /// # Errors
    /// [`Error::Pool`] when a thread is refused.
    pub fn new() -> Result<Runtime, Error> {
        Runtime::builder().build()
    }

    /// For other choices.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A stream that begins at `source`.
    ///
    /// ```
    /// use evener_runtime::structure::SEQUENTIAL;
    /// use evener_runtime::{Discard, Part, Runtime, Service, Shape, Source, Work};
    /// use std::convert::Infallible;
    ///
    /// struct Nothing;
    ///
    /// impl Service for Nothing {
    ///     type Input = u64;
    ///     type Output = ();
    ///     type Scratch = ();
    ///     fn key(&self) -> String {
    ///         "nothing".into()
    ///     }
    ///     fn input(&self) -> u64 {
    ///         0
    ///     }
    ///     fn output(&self) {}
    ///     fn scratch(&self) {}
    ///     fn shapes(&self, _: usize) -> Vec<Shape> {
    ///         vec![Shape::new(&SEQUENTIAL, vec![8], 4, Work::default())]
    ///     }
    ///     fn run(&self, _: &Part, _: &u64, _: &(), _: &mut ()) -> Result<(), String> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// struct Count(u64);
    ///
    /// impl Source<Nothing> for Count {
    ///     type Error = Infallible;
    ///     fn read(&mut self, unit: &mut u64) -> Result<bool, Infallible> {
    ///         *unit = self.0;
    ///         self.0 += 1;
    ///         Ok(self.0 <= 10)
    ///     }
    /// }
    ///
    /// let rt = Runtime::new()?;
    /// let report = rt.stream(Count(0)).through(Nothing).into(Discard)?;
    /// assert_eq!(report.units, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream<Src>(&self, source: Src) -> FromSource<'_, Src> {
        FromSource {
            runtime: self,
            source,
        }
    }

    /// Runs one unit under one plan; see [`Executor::run`]. Private memory of workers is made anew, so time is better
    /// measured with [`Runtime::executor`].
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    pub fn execute<S: Service>(
        &self,
        service: &S,
        plan: &Plan,
        input: &S::Input,
        output: &S::Output,
    ) -> Result<(), StreamError> {
        self.executor(service).run(plan, input, output)
    }

    /// Runs units of a service one by one, each under a plan of its own.
    pub fn executor<'a, S: Service>(&'a self, service: &'a S) -> Executor<'a, S> {
        Executor::new(
            &self.pool,
            service,
            self.topology.private_cache(),
            self.trace.clone(),
        )
    }

    /// The machine as found.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many workers there are, the thread that runs a stream included.
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }

    /// Rates of the machine; the first call measures them, in a few milliseconds.
    pub fn rates(&self) -> &Rates {
        self.rates.get_or_init(|| Rates::measure(&self.pool))
    }

    /// What a tuner on all workers knows of this machine: of a stream of unknown length that nobody waits for on the same
    /// processors, without a remembered plan. Where a plan was named with its grain nothing has to be predicted, so its
    /// rates are not measured.
    pub fn tuner_setup(&self, shapes: Vec<Shape>, choice: Choice) -> TunerSetup {
        TunerSetup {
            shapes,
            rates: match choice {
                Choice::Fixed { grain: Some(_), .. } => Rates::typical(),
                _ => *self.rates(),
            },
            workers: self.workers() as u32,
            cpus: self.topology.parallelism(),
            outer_cache: self.topology.outer_cache(),
            dispatches: Dispatch::ALL.to_vec(),
            units: None,
            live: false,
            remembered: None,
            choice,
            fixed_workers: None,
            crowded: false,
        }
    }

    /// Where workers run relative to the threads that do input and output.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Where plans that won are remembered.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// How many threads may look for what they wait for.
    pub(crate) fn spare(&self) -> &Spare {
        &self.spare
    }

    /// Where what runs is recorded.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Pins workers and the calling thread as the placement says, the latter for as long as the result lives.
    pub(crate) fn seat(&self) -> Result<Seats<'_>, Error> {
        let mut seats = Seats {
            runtime: self,
            home: Arc::new(Home::find()),
            io: Vec::new(),
            note: None,
            may_spread: Cell::new(false),
            spread: Cell::new(false),
        };
        let cpus = self.topology.cpus.len();
        // Threads have to find back, which they cannot where the system does not say where they may run.
        let home = seats.home.is_known() && seats.home.is(self.pool.home());
        let open = self.placement == Placement::None && home;
        let may = open && cpus > 1 && cpus == self.workers();
        seats.may_spread.set(may);
        // Input and output go to the first processor, where interrupts are most often handled.
        let first = self.topology.cpus.first();
        if let (Some(first), true) = (first, self.placement != Placement::None) {
            let placed = self
                .topology
                .placement(self.placement, self.workers(), first.id);
            self.pool.place(&placed.cpus)?;
            seats.note = placed.note;
            if placed.cpus.iter().any(|cpus| !cpus.is_empty()) {
                seats.io.push(first.id);
            }
        }
        Ok(seats)
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.workers())
            .field("placement", &self.placement)
            .finish_non_exhaustive()
    }
}

/// Where the threads of one stream run. Dropping it lets the calling thread run where it could before.
pub(crate) struct Seats<'a> {
    runtime: &'a Runtime,
    home: Arc<Home>,
    io: Vec<usize>,
    note: Option<String>,
    /// There are as many workers as processors, and the user left it open where they run, and the calling thread.
    may_spread: Cell<bool>,
    /// This stream has given each worker a processor of its own.
    spread: Cell<bool>,
}

impl Seats<'_> {
    /// Lets each worker run on a processor of its own, or all where they could before. One stream at a time does so:
    /// each has a worker 0, and two of them would have the same processor.
    pub(crate) fn spread(&self, spread: bool) {
        let runtime = self.runtime;
        if spread == self.spread.get() || !self.may_spread.get() {
            return;
        }
        if spread {
            if runtime.spread.swap(true, Ordering::Acquire) {
                return;
            }
            match runtime.pool.place(&runtime.topology.one_each(this_cpu())) {
                Ok(()) => return self.spread.set(true),
                Err(error) => {
                    warn!(%error, "workers run where the operating system puts them");
                    self.may_spread.set(false);
                }
            }
        }
        if let Err(error) = runtime.pool.place(&[]) {
            warn!(%error, "cannot let workers run where they could before");
        }
        put(&self.home, &[]);
        self.spread.set(false);
        runtime.spread.store(false, Ordering::Release);
    }

    /// What was done instead where the machine cannot do what was asked.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The seat of a thread for input or output.
    pub(crate) fn io(&self) -> IoSeat {
        IoSeat {
            home: Arc::clone(&self.home),
            cpus: self.io.clone(),
        }
    }
}

impl Drop for Seats<'_> {
    fn drop(&mut self) {
        self.spread(false);
        if self.runtime.placement != Placement::None {
            put(&self.home, &[]);
        }
    }
}

/// Where a thread for input or output runs.
pub(crate) struct IoSeat {
    home: Arc<Home>,
    cpus: Vec<usize>,
}

impl IoSeat {
    /// Pins the calling thread, if it has a place of its own.
    pub(crate) fn take(&self) {
        // A thread inherits the place of the one that starts it, here of worker 0, so it is always put somewhere.
        put(&self.home, &self.cpus);
    }
}

fn put(home: &Home, cpus: &[usize]) {
    if let Err(error) = home.put(Who::Caller, cpus) {
        warn!(?cpus, %error, "cannot place a thread for input or output");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn rates_are_measured_where_something_is_left_to_choose() {
        let builder = Runtime::builder().workers(1).memory(false);
        let runtime = builder.build().unwrap();
        let rates = |grain| {
            let choice = Choice::Fixed {
                structure: "tiled".to_owned(),
                dispatch: None,
                grain,
            };
            runtime.tuner_setup(Vec::new(), choice).rates
        };
        assert_eq!(rates(Some(4)), Rates::typical());
        assert!(runtime.rates.get().is_none());
        assert_eq!(rates(None), *runtime.rates());
        assert_ne!(rates(None), Rates::typical());
    }

    #[test]
    fn a_thread_runs_again_where_it_could_before() {
        let builder = Runtime::builder().workers(1).placement(Placement::IoSame);
        let runtime = builder.build().unwrap();
        let may = |set: &rustix::thread::CpuSet| -> Vec<usize> {
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .collect()
        };
        let all = may(&sched_getaffinity(None).unwrap());
        let own = [*all.last().unwrap()];
        let after = std::thread::spawn(move || {
            Home::find().put(Who::Caller, &own).unwrap();
            drop(runtime.seat().unwrap());
            may(&sched_getaffinity(None).unwrap())
        });
        assert_eq!(after.join().unwrap(), own);
    }

    fn allowed() -> usize {
        std::thread::available_parallelism().unwrap().get()
    }

    /// Where the calling thread may run while each worker has a processor of its own, if it is for the stream.
    fn spread(runtime: &Runtime, meanwhile: impl FnOnce()) -> usize {
        let seats = runtime.seat().unwrap();
        seats.spread(true);
        let may = allowed();
        meanwhile();
        may
    }

    #[test]
    fn one_stream_at_a_time_has_workers_keep_to_processors() {
        let all = allowed();
        if all < 2 {
            eprintln!("skipped: one processor");
            return;
        }
        let of = |workers| Runtime::builder().workers(workers);
        let runtime = of(all).build().unwrap();
        let own = spread(&runtime, || {
            let other = || spread(&runtime, || ());
            let other = std::thread::scope(|scope| {
                let free = || {
                    let cpus: Vec<usize> = runtime.topology.cpus.iter().map(|c| c.id).collect();
                    Home::find().put(Who::Caller, &cpus).unwrap();
                    other()
                };
                scope.spawn(free).join().unwrap()
            });
            assert_eq!(other, all);
        });
        assert_eq!((own, allowed()), (1, all));
        // Given back, so the next stream may.
        assert_eq!(spread(&runtime, || ()), 1);
        for runtime in [of(all + 1), of(all).placement(Placement::IoSame)] {
            let runtime = runtime.build().unwrap();
            let placed = match runtime.placement {
                Placement::None => all,
                _ => 1,
            };
            assert_eq!(spread(&runtime, || ()), placed);
        }
    }
}
