//! How a stream is put together: `rt.stream(source).through(service). … .into(sink)`.

use std::sync::Arc;

use super::cancel::CancelToken;
use super::erased::{self, AnyService, Typed};
use super::error::{BoxError, StreamError};
use super::flow::Ends;
use super::options::{Options, RunOptions};
use super::ports::{Sink, Source, Through};
use super::report::{Names, Report};
use super::run::run;
use super::schedule::Schedule;
use super::tally::{ByteCount, Progress};
use crate::plan::Choice;
use crate::replay::Recording;
use crate::runtime::Runtime;
use crate::service::Service;

impl Runtime {
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
}

/// A stream that lacks a service; made by [`Runtime::stream`].
#[must_use = "nothing runs before `.through(service).into(sink)`"]
pub struct FromSource<'a, Src> {
    runtime: &'a Runtime,
    source: Src,
}

impl<'a, Src> FromSource<'a, Src> {
    /// Sends the source through a service, or through something that becomes one for this source.
    /// If it cannot, [`Stream::into`] says so.
    pub fn through<T: Through<Src>>(self, through: T) -> Stream<'a, Src, T::Service> {
        let service = through
            .bind(&self.source, self.runtime.topology())
            .map_err(Into::into);
        Stream {
            runtime: self.runtime,
            source: self.source,
            service,
            options: Options::default(),
        }
    }
}

/// A stream that lacks a sink. Everything but the sink has a default.
#[must_use = "nothing runs before `.into(sink)`"]
pub struct Stream<'a, Src, S: Service> {
    runtime: &'a Runtime,
    source: Src,
    service: Result<S, BoxError>,
    options: Options<'a>,
}

impl<'a, Src, S: Service> Stream<'a, Src, S> {
    /// Takes what was chosen about the run.
    pub fn options(mut self, options: RunOptions<'a>) -> Self {
        self = self.plan(options.plan).workers(options.workers);
        self.options.on_progress = options.on_progress;
        self.cancel(options.cancel)
    }

    /// The service, if it could be bound to the source; for what a sink must know beforehand.
    pub fn service(&self) -> Option<&S> {
        self.service.as_ref().ok()
    }

    /// Which plan: [`Choice::Auto`], the default, or one that is named.
    pub fn plan(mut self, choice: Choice) -> Self {
        self.options.choice = choice;
        self
    }

    /// Pins the number of workers; by default the tuner chooses, up to those of the runtime.
    pub fn workers(mut self, workers: Option<u32>) -> Self {
        self.options.workers = workers;
        self
    }

    /// Says that the source cannot wait. Reading then never stops for computing: when all buffers are filled, the
    /// oldest unit not yet begun is dropped and counted. At least 3 inputs are in flight. Units keep the numbers they
    /// were read with. Structures that have several units in work at once are not used.
    pub fn live(mut self, live: bool) -> Self {
        self.options.live = live;
        self
    }

    /// The most inputs, and the most outputs, that exist at once; at least 1. By default there are 4 inputs and 3
    /// outputs, or 1 where reading or writing is in line; for a plan that has several units in work, two more than
    /// those; and 32 if units take less than 50 µs and there are many, so that one wake-up of a thread serves several,
    /// or if a farm's buffers are small, so that a slow worker stops no other. A wavefront has at least two more than
    /// [`Shape::units`](crate::Shape::units).
    pub fn in_flight(mut self, units: usize) -> Self {
        self.options.in_flight = Some(units.max(1));
        self
    }

    /// Lets the stream be ended early.
    ///
    /// The stream then does not wait for a read that is in progress: the thread `evener-in` and the source live on
    /// until that read returns. (A source read in line is waited for.)
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.options.cancel = token;
        self
    }

    /// Calls `f` now and then, at most ten times a second, with how far the stream is, and once when all is done. The caller
    /// is a thread that has completed a unit, or has waited a second for one to be read. `f` should be quick: it takes computing time.
    pub fn on_progress(mut self, f: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.options.on_progress = Some(Box::new(f));
        self
    }

    /// Shows in progress and report what `bytes` counts: the bytes done so far, which source, service or sink add to
    /// it.
    pub fn counting(mut self, bytes: &ByteCount) -> Self {
        self.options.bytes = Some(bytes.clone());
        self
    }

    /// Records what the chunks of a wavefront take, to [replay](crate::replay::wavefront) them.
    pub fn recording(mut self, recording: &Recording) -> Self {
        self.options.recording = Some(recording.clone());
        self
    }

    /// Whether the sink is finished, not aborted, when the stream fails. Off by default. The sink of a cancelled stream
    /// is finished: it has not failed.
    pub fn keep_partial(mut self, keep: bool) -> Self {
        self.options.keep_partial = keep;
        self
    }

    /// What the report calls units and items, in the plural: `("frames", "rows")`.
    pub fn named(mut self, units: &str, items: &str) -> Self {
        self.options.names = Names {
            units: units.into(),
            items: items.into(),
            rate: format!("{units}/s"),
        };
        self
    }

    /// What the report calls units per second: `"fps"`.
    pub fn rate_named(mut self, rate: &str) -> Self {
        self.options.names.rate = rate.into();
        self
    }

    /// Has `schedule` give the plans in place of the tuner; for tests and experiments.
    /// [`Stream::plan`] and [`Stream::workers`] have no effect then.
    pub fn scheduled_by(mut self, schedule: impl Schedule + 'a) -> Self {
        self.options.schedule = Some(Box::new(schedule));
        self
    }

    /// Runs the stream until the source ends, on this thread, on the runtime's workers, and on two threads for input
    /// and output. A stream that should take less than a millisecond, and waits for no other program, has this thread
    /// alone.
    ///
    /// # Errors
    /// [`StreamError`]: what could not be set up, or what ended the stream before its source did. Units before a
    /// unit that could not be read or computed are still written. Of several errors it is the earliest.
    pub fn into<K: Sink<S>>(self, sink: K) -> Result<Report, StreamError>
    where
        Src: Source<S> + 'static,
    {
        let service = self.service.map_err(|cause| StreamError::Bind { cause })?;
        let service = AnyService::new(Arc::new(Typed(service)));
        let ends = Ends::Own(erased::source(self.source), erased::sink(sink));
        run(self.runtime, &service, self.options, ends)
    }
}
