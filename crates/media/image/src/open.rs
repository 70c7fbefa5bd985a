//! A graph on a stream that stays open, for frames in memory of others: none is copied.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use evener_image::frame::Frame;
//! use evener_image::graph::{Graph, Planes};
//! use evener_image::open::OpenGraph;
//! use evener_image::{Chroma, ColourRange, Depth, Format};
//! use evener_runtime::Runtime;
//! use evener_runtime::stream::{RunOptions, Turn};
//!
//! let format = Format {
//!     width: 64,
//!     height: 48,
//!     chroma: Chroma::Mono,
//!     depth: Depth::U8,
//!     range: ColourRange::Full,
//! };
//! let graph = Graph::parse("blur")?;
//! let open = OpenGraph::new(Runtime::new()?, &graph, &format, Planes::Auto, RunOptions::default())?;
//! let (input, output) = (Frame::new(&format), Frame::new(open.output()));
//! let soon = Instant::now() + Duration::from_secs(5);
//! assert_eq!(open.push(soon, input, output, "first"), Turn::Done(()));
//! let Turn::Done((_input, output, "first")) = open.pull(soon) else { panic!("no result") };
//! assert_eq!(output.format(), &format);
//! open.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use evener_files::lock;
use evener_runtime::plan::ParsePlanError;
use evener_runtime::stream::{Open, Report, RunOptions, StreamError, Turn};
use evener_runtime::{Part, Runtime, Service, Shape, Structure};

use crate::exec::service::{FilterService, Scratch};
use crate::format::Format;
use crate::frame::Frame;
use crate::graph::{Graph, GraphError, Planes};

/// A frame and the memory for its result.
struct Job {
    input: Frame,
    output: Frame,
}

/// A job until its result is pulled.
type Slot = Arc<RwLock<Option<Job>>>;

/// A graph on a stream that stays open. With each frame goes a `T`, which comes back with the result.
pub struct OpenGraph<T = ()> {
    open: Open<Lent>,
    /// Jobs under way, in order.
    jobs: Mutex<VecDeque<(Slot, T)>>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The graph does not fit the frames.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Frames that come one by one cannot run under the plan.
    #[error(transparent)]
    Plan(#[from] ParsePlanError),
    /// There is no thread.
    #[error(transparent)]
    Runtime(#[from] evener_runtime::Error),
}

impl<T: Send> OpenGraph<T> {
    /// Opens a stream of frames of `format` through `graph`, on a runtime of its own.
    ///
    /// # Errors
    /// The graph does not fit the format, the plan not the graph, or the operating system refuses a thread.
    pub fn new(
        runtime: Runtime,
        graph: &Graph,
        format: &Format,
        planes: Planes,
        mut options: RunOptions<'static>,
    ) -> Result<OpenGraph<T>, OpenError> {
        let bound = graph.bind(format, planes)?;
        let service = graph.serve(&bound, planes, runtime.topology());
        let shapes = service.shapes(runtime.topology().private_cache());
        let known: Vec<_> = shapes.iter().map(|shape| shape.structure).collect();
        options.plan = options.plan.among(&known)?;
        Ok(OpenGraph {
            open: runtime.open(Lent(service), options)?,
            jobs: Mutex::new(VecDeque::new()),
        })
    }

    /// The format of frames.
    pub fn input(&self) -> &Format {
        self.open.service().0.input_format()
    }

    /// The format of results.
    pub fn output(&self) -> &Format {
        self.open.service().0.output_format()
    }

    /// Waits until [`OpenGraph::push`] would not wait, at most until `until`. Another thread may take the room.
    pub fn room(&self, until: Instant) -> Turn<()> {
        self.open.room(until)
    }

    /// Waits for room until `until`, and begins a frame, whose result goes into `output`. Where that is not
    /// [`Turn::Done`], all three are dropped.
    ///
    /// A thread that pushes and pulls must pull before it has pushed many.
    ///
    /// # Panics
    /// If they are not of the formats of this stream.
    pub fn push(&self, until: Instant, input: Frame, output: Frame, with: T) -> Turn<()> {
        self.push_with(until, || (input, output, with))
    }

    /// As [`OpenGraph::push`], but a frame, the memory for its result and what goes with them are only made when there is
    /// room. `make` is called in the order of units.
    ///
    /// # Panics
    /// If they are not of the formats of this stream.
    pub fn push_with(&self, until: Instant, make: impl FnOnce() -> (Frame, Frame, T)) -> Turn<()> {
        self.open.push(until, |slot| {
            let (input, output, with) = make();
            assert_eq!(input.format(), self.input());
            assert_eq!(output.format(), self.output());
            self.open.service().0.fill_constant(&output);
            let job = Arc::new(RwLock::new(Some(Job { input, output })));
            lock(&self.jobs).push_back((Arc::clone(&job), with));
            *slot = Some(job);
        })
    }

    /// Waits for the next result until `until`: its frame, itself, and what went with them.
    pub fn pull(&self, until: Instant) -> Turn<(Frame, Frame, T)> {
        self.pull_with(until, |input, output, with| (input, output, with))
    }

    /// As [`OpenGraph::pull`], but gives them to `take`, which is called in the order of units.
    pub fn pull_with<R>(&self, until: Instant, take: impl FnOnce(Frame, Frame, T) -> R) -> Turn<R> {
        self.open.pull(until, |()| {
            let next = lock(&self.jobs).pop_front();
            let (job, with) = next.expect("a result has a job");
            let job = job.write().unwrap_or_else(PoisonError::into_inner).take();
            let Job { input, output } = job.expect("a job has its frames until it is pulled");
            take(input, output, with)
        })
    }

    /// Frames that were pushed and not pulled yet.
    pub fn under_way(&self) -> u64 {
        self.open.under_way()
    }

    /// No more frames come. Results of those that came can still be pulled.
    pub fn end(&self) {
        self.open.end();
    }

    /// Ends the stream early: frames that are not begun have no result.
    pub fn cancel(&self) {
        self.open.cancel();
    }

    /// Ends the stream, and waits until it has. Results that were not pulled are dropped.
    ///
    /// # Errors
    /// Why the stream ended before.
    pub fn close(self) -> Result<Report, StreamError> {
        self.open.close()
    }
}

impl<T> fmt::Debug for OpenGraph<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenGraph").field(&self.open).finish()
    }
}

/// A graph whose units bring the memory for their results.
struct Lent(FilterService);

impl Service for Lent {
    type Input = Option<Slot>;
    type Output = ();
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.0.key()
    }

    fn input(&self) -> Option<Slot> {
        None
    }

    fn output(&self) {}

    fn scratch(&self) -> Scratch {
        self.0.scratch()
    }

    fn prepare(&self, structure: &'static Structure) {
        self.0.prepare(structure);
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        self.0.shapes(private_cache)
    }

    fn run(
        &self,
        part: &Part,
        input: &Option<Slot>,
        (): &(),
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let held = Held::new(input)?;
        let Job { input, output } = held.job()?;
        self.0.run(part, input, output, scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Option<Slot>],
        _: &[&()],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let held: Result<Vec<Held<'_>>, String> =
            inputs.iter().map(|input| Held::new(input)).collect();
        let held = held?;
        let jobs: Result<Vec<&Job>, String> = held.iter().map(Held::job).collect();
        let jobs = jobs?;
        let inputs: Vec<&Frame> = jobs.iter().map(|job| &job.input).collect();
        let outputs: Vec<&Frame> = jobs.iter().map(|job| &job.output).collect();
        self.0.run_group(part, &inputs, &outputs, scratch)
    }
}

/// A job while a part of it is computed.
struct Held<'a>(RwLockReadGuard<'a, Option<Job>>);

impl<'a> Held<'a> {
    fn new(slot: &'a Option<Slot>) -> Result<Held<'a>, String> {
        let slot = slot.as_ref().ok_or("a unit without a frame")?;
        Ok(Held(slot.read().unwrap_or_else(PoisonError::into_inner)))
    }

    fn job(&self) -> Result<&Job, String> {
        self.0.as_ref().ok_or("a frame that was taken back".into())
    }
}
