//! The runtime: the machine, its workers, and remembered plans.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use tracing::warn;

use crate::affinity::StreamAffinity;
use crate::device::{Device, Program};
use crate::dispatch::Pool;
use crate::error::Error;
use crate::io::SpinBudget;
use crate::plan::{Choice, Dispatch, Placement};
use crate::rates::Rates;
use crate::remembered::Plans;
use crate::service::Shape;
use crate::stream::{Opening, open_devices};
use crate::sync::lock;
use crate::topology::Topology;
use crate::trace::Trace;
use crate::tuner::{Memory, TunerSetup};

/// Units of a lane after which one is compared with a core's.
const DEVICE_CHECKS: u64 = 1000;
/// The thread that opens devices.
const OPENER: &str = "evener-open";

/// The workers of a process. Streams run on it, one after the other or several at once.
///
/// Create one with [`Runtime::new`] or [`Runtime::builder`], keep it, and run all streams on it:
/// [`Runtime::stream`] reads a source and writes a sink, and [`Runtime::open`] returns a stream that stays open.
/// Dropping the runtime ends its threads. An idle runtime uses no CPU time.
///
/// ```
/// use evener_runtime::{Placement, Runtime};
///
/// let runtime = Runtime::builder().workers(2).placement(Placement::None).build()?;
/// assert_eq!(runtime.workers(), 2);
/// println!("{} CPUs", runtime.topology().cpus.len());
/// # Ok::<(), evener_runtime::Error>(())
/// ```
pub struct Runtime {
    topology: Topology,
    pool: Pool,
    rates: OnceLock<Rates>,
    placement: Placement,
    plans: Option<Plans>,
    trace: Trace,
    spin_budget: Arc<SpinBudget>,
    /// A stream has pinned each worker to its own CPU.
    workers_pinned: AtomicBool,
    devices: Devices,
    device_checks: u64,
    /// Threads that open devices. They must end before the process does, because they use drivers.
    opening: Mutex<Vec<JoinHandle<()>>>,
}

/// The settings of a runtime; created by [`Runtime::builder`].
#[derive(Debug, Default)]
pub struct Builder {
    workers: Option<usize>,
    placement: Placement,
    memory: Remember,
    trace: Trace,
    devices: Devices,
    device_checks: Option<u64>,
}

/// Where devices come from.
#[derive(Clone, Default)]
enum Devices {
    #[default]
    None,
    Found(Vec<Arc<dyn Device>>),
    /// They are searched for when a stream can use them.
    Later(fn() -> Vec<Arc<dyn Device>>),
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Devices::None => f.write_str("None"),
            Devices::Found(devices) => devices.fmt(f),
            Devices::Later(_) => f.write_str("Later"),
        }
    }
}

#[derive(Debug, Default)]
enum Remember {
    #[default]
    No,
    Yes,
    At(PathBuf),
}

impl Builder {
    /// Sets the number of workers, including the thread that runs a stream. The default is [`Topology::workers`].
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the CPUs of the workers relative to those of the threads for input and output. By default the operating
    /// system and the tuner decide; see [`Placement::None`]. While a stream runs, the thread that runs it is pinned
    /// too.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets whether winning plans are remembered in the user's cache directory. Later streams of the same service on
    /// the same machine try them first. Off by default.
    pub fn memory(mut self, remember: bool) -> Self {
        self.memory = if remember {
            Remember::Yes
        } else {
            Remember::No
        };
        self
    }

    /// Remembers plans in `file`.
    pub fn memory_at(mut self, file: impl Into<PathBuf>) -> Self {
        self.memory = Remember::At(file.into());
        self
    }

    /// Sets the trace that records when each job runs. By default nothing is recorded.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the devices that may compute units beside the workers. By default there are none.
    pub fn devices(mut self, devices: Vec<Arc<dyn Device>>) -> Self {
        self.devices = match devices.is_empty() {
            true => Devices::None,
            false => Devices::Found(devices),
        };
        self
    }

    /// As [`Builder::devices`], but calls `find` on a separate thread after a stream that can use devices has run for a
    /// while. Finding them takes longer than many streams.
    pub fn devices_found_by(mut self, find: fn() -> Vec<Arc<dyn Device>>) -> Self {
        self.devices = Devices::Later(find);
        self
    }

    /// Compares one unit in `every` of a device's lane with the result of a core. The default is 1000. The first unit
    /// is always compared.
    pub fn device_checks(mut self, every: u64) -> Self {
        self.device_checks = Some(every);
        self
    }

    /// Creates the runtime. Worker threads are started when there is work for them. If the system refuses one then, the
    /// thread that runs the stream computes alone.
    ///
    /// # Errors
    /// [`Error::Pool`] if the number of workers is out of range.
    pub fn build(self) -> Result<Runtime, Error> {
        let topology = Topology::detect();
        let pool = Pool::unstarted(self.workers.unwrap_or_else(|| topology.workers()))?;
        Ok(Runtime {
            pool,
            spin_budget: Arc::new(SpinBudget::new(&topology)),
            topology,
            rates: OnceLock::new(),
            placement: self.placement,
            plans: match self.memory {
                Remember::No => None,
                Remember::Yes => Memory::open_default().map(Plans::new),
                Remember::At(file) => Some(Plans::new(Memory::at(file))),
            },
            trace: self.trace,
            workers_pinned: AtomicBool::new(false),
            devices: self.devices,
            device_checks: self.device_checks.unwrap_or(DEVICE_CHECKS).max(1),
            opening: Mutex::default(),
        })
    }
}

impl Runtime {
    /// Creates a runtime with a worker for every CPU that this process may use. Nothing is pinned, remembered or
    /// traced.
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn new() -> Result<Runtime, Error> {
        Runtime::builder().build()
    }

    /// Returns a builder for other settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The topology of the machine.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The number of workers, including the thread that runs a stream.
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }

    /// The rates of the machine. The first call measures them, which takes a few milliseconds.
    pub fn rates(&self) -> &Rates {
        self.rates.get_or_init(|| Rates::measure(&self.pool))
    }

    /// Returns the setup of a tuner for all workers, a stream of unknown length, no remembered plan, and no other
    /// work on the same CPUs. If the choice names a plan with its grain, nothing is predicted, so rates are not
    /// measured.
    pub fn tuner_setup(&self, shapes: Vec<Shape>, choice: Choice) -> TunerSetup {
        let rates = match choice {
            Choice::Fixed { grain: Some(_), .. } => Rates::typical(),
            _ => *self.rates(),
        };
        TunerSetup {
            rates,
            ..self.typical_setup(shapes, choice)
        }
    }

    /// As [`Runtime::tuner_setup`], with typical rates unless those of this machine have been measured.
    pub(crate) fn typical_setup(&self, shapes: Vec<Shape>, choice: Choice) -> TunerSetup {
        TunerSetup {
            shapes,
            rates: self.rates.get().copied().unwrap_or(Rates::typical()),
            workers: self.workers() as u32,
            cpus: self.topology.parallelism(),
            outer_cache: self.topology.outer_cache(),
            dispatches: Dispatch::ALL.to_vec(),
            units: None,
            live: false,
            remembered: None,
            choice,
            fixed_workers: None,
            devices: 0,
            crowded: false,
        }
    }

    /// The CPUs of the workers relative to those of the threads for input and output.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The memory of winning plans.
    pub fn memory(&self) -> Option<&Memory> {
        self.plans.as_ref().map(Plans::memory)
    }

    /// The remembered plans, as read by this runtime.
    pub(crate) fn plans(&self) -> Option<&Plans> {
        self.plans.as_ref()
    }

    /// Whether there may be devices.
    pub(crate) fn has_devices(&self) -> bool {
        !matches!(self.devices, Devices::None)
    }

    /// One unit in this many is compared with the result of a core.
    pub(crate) fn device_checks(&self) -> u64 {
        self.device_checks
    }

    /// Opens the devices on a separate thread.
    pub(crate) fn open_devices(&self, program: &'static Program, opening: &Arc<Opening>) {
        let devices = self.devices.clone();
        let result = Arc::clone(opening);
        let body = move || {
            let found = match devices {
                Devices::None => Vec::new(),
                Devices::Found(devices) => devices,
                Devices::Later(find) => find(),
            };
            open_devices(&found, program, &result);
        };
        // A stream may wait for the end, so signal it even if a driver panics.
        let waited = Arc::clone(opening);
        let body = move || {
            if catch_unwind(AssertUnwindSafe(body)).is_err() {
                waited.give_up();
            }
        };
        let thread = thread::Builder::new().name(OPENER.into());
        match thread.spawn(body) {
            Ok(thread) => lock(&self.opening).push(thread),
            Err(error) => {
                warn!("devices are not used: {error}");
                opening.give_up();
            }
        }
    }

    /// The budget of spinning threads.
    pub(crate) fn spin_budget(&self) -> &Arc<SpinBudget> {
        &self.spin_budget
    }

    /// The trace that records jobs.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Pins workers and the calling thread according to the placement. The calling thread stays pinned while the
    /// result lives.
    pub(crate) fn stream_affinity(&self) -> Result<StreamAffinity<'_>, Error> {
        StreamAffinity::new(
            &self.pool,
            &self.topology,
            self.placement,
            &self.workers_pinned,
        )
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        for thread in lock(&self.opening).drain(..) {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;
    use crate::dispatch::affinity::{Affinity, ThreadRef};

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
            Affinity::current().pin(ThreadRef::Current, &own).unwrap();
            drop(runtime.stream_affinity().unwrap());
            may(&sched_getaffinity(None).unwrap())
        });
        assert_eq!(after.join().unwrap(), own);
    }

    fn allowed() -> usize {
        std::thread::available_parallelism().unwrap().get()
    }

    /// Where the calling thread may run while each worker has a processor of its own, if it is for the stream.
    fn cpus_while_pinned(runtime: &Runtime, meanwhile: impl FnOnce()) -> usize {
        let affinity = runtime.stream_affinity().unwrap();
        affinity.pin_workers(true);
        let may = allowed();
        meanwhile();
        may
    }

    #[test]
    fn one_stream_at_a_time_has_workers_keep_to_processors() {
        let all = allowed();
        if all < 2 {
            evener_testing::skip("one CPU");
            return;
        }
        let of = |workers| Runtime::builder().workers(workers);
        let runtime = of(all).build().unwrap();
        let own = cpus_while_pinned(&runtime, || {
            let other = || cpus_while_pinned(&runtime, || ());
            let other = std::thread::scope(|scope| {
                let free = || {
                    let cpus: Vec<usize> = runtime.topology.cpus.iter().map(|c| c.id).collect();
                    Affinity::current().pin(ThreadRef::Current, &cpus).unwrap();
                    other()
                };
                scope.spawn(free).join().unwrap()
            });
            assert_eq!(other, all);
        });
        assert_eq!((own, allowed()), (1, all));
        // Given back, so the next stream may.
        assert_eq!(cpus_while_pinned(&runtime, || ()), 1);
        for runtime in [of(all + 1), of(all).placement(Placement::IoSame)] {
            let runtime = runtime.build().unwrap();
            let placed = match runtime.placement {
                Placement::None => all,
                _ => 1,
            };
            assert_eq!(cpus_while_pinned(&runtime, || ()), placed);
        }
    }
}
