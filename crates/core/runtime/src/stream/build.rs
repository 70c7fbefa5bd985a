//! Builds a stream: `rt.stream(source).through(service). … .into(sink)`.

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
    /// Starts to build a stream that reads `source`.
    ///
    /// Add a service with [`FromSource::through`], set options on the [`Stream`], and run it with [`Stream::into`].
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

/// A stream that has no service yet; created by [`Runtime::stream`].
#[must_use = "nothing runs before `.through(service).into(sink)`"]
pub struct FromSource<'a, Src> {
    runtime: &'a Runtime,
    source: Src,
}

impl<'a, Src> FromSource<'a, Src> {
    /// Sends the source through a service, or through something that becomes a service for this source. If that
    /// fails, [`Stream::into`] returns the error.
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

/// A stream that has no sink yet; created by [`FromSource::through`].
///
/// Set options in any order; each has a default. Then [`Stream::into`] runs the stream and returns its [`Report`].
/// [`Runtime::stream`] has an example.
#[must_use = "nothing runs before `.into(sink)`"]
pub struct Stream<'a, Src, S: Service> {
    runtime: &'a Runtime,
    source: Src,
    service: Result<S, BoxError>,
    options: Options<'a>,
}

impl<'a, Src, S: Service> Stream<'a, Src, S> {
    /// Applies the settings of a run.
    pub fn options(mut self, options: RunOptions<'a>) -> Self {
        self = self.plan(options.plan).workers(options.workers);
        self.options.on_progress = options.on_progress;
        self.cancel(options.cancel)
    }

    /// The service, if it could be bound to the source. For properties that the sink needs in advance.
    pub fn service(&self) -> Option<&S> {
        self.service.as_ref().ok()
    }

    /// Sets the plan: [`Choice::Auto`], the default, or a named one.
    pub fn plan(mut self, choice: Choice) -> Self {
        self.options.choice = choice;
        self
    }

    /// Fixes the number of workers. By default the tuner chooses, up to those of the runtime.
    pub fn workers(mut self, workers: Option<u32>) -> Self {
        self.options.workers = workers;
        self
    }

    /// Declares that the source cannot wait. Reading then never stops for computing: when all buffers are full, the
    /// oldest unit not yet started is dropped and counted. At least 3 inputs are in flight. Units keep the numbers of
    /// their reading. Structures with several units in progress are not used.
    pub fn live(mut self, live: bool) -> Self {
        self.options.live = live;
        self
    }

    /// Sets the maximum number of inputs, and of outputs, in flight; at least 1. By default there are 4 inputs and 3
    /// outputs, or 1 if reading or writing is inline. A plan with several units in progress gets two more than those.
    /// There are 32 if there are many units of less than 50 µs, so that one wake-up serves several, or if a farm's
    /// buffers are small, so that a slow worker does not stop the others. A wavefront has at least two more than
    /// [`Shape::units`](crate::Shape::units).
    pub fn in_flight(mut self, units: usize) -> Self {
        self.options.in_flight = Some(units.max(1));
        self
    }

    /// Lets another thread end the stream early.
    ///
    /// The stream then does not wait for a read in progress: the thread `evener-in` and the source live until that
    /// read returns. (A stream does wait for an inline source.)
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.options.cancel = token;
        self
    }

    /// Calls `f` with the progress of the stream, at most ten times per second, and once at the end. The caller is a
    /// thread that has completed a unit, or has waited a second for one. `f` should be fast, because it takes
    /// computing time.
    pub fn on_progress(mut self, f: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.options.on_progress = Some(Box::new(f));
        self
    }

    /// Shows the count of `bytes` in progress and report: the bytes done so far, which the source, the service or the
    /// sink adds.
    pub fn counting(mut self, bytes: &ByteCount) -> Self {
        self.options.bytes = Some(bytes.clone());
        self
    }

    /// Records the times of the chunks of a wavefront, to [replay](crate::replay::wavefront) them.
    pub fn recording(mut self, recording: &Recording) -> Self {
        self.options.recording = Some(recording.clone());
        self
    }

    /// Sets whether the sink is finished, not aborted, when the stream fails. Off by default. The sink of a cancelled
    /// stream is finished, because the stream has not failed.
    pub fn keep_partial(mut self, keep: bool) -> Self {
        self.options.keep_partial = keep;
        self
    }

    /// Sets the names of units and items in the report, in the plural: `("frames", "rows")`.
    pub fn named(mut self, units: &str, items: &str) -> Self {
        self.options.names = Names {
            units: units.into(),
            items: items.into(),
            rate: format!("{units}/s"),
        };
        self
    }

    /// Sets the name of units per second in the report: `"fps"`.
    pub fn rate_named(mut self, rate: &str) -> Self {
        self.options.names.rate = rate.into();
        self
    }

    /// Lets `schedule` choose the plans instead of the tuner; for tests and experiments. [`Stream::plan`] and
    /// [`Stream::workers`] then have no effect.
    pub fn scheduled_by(mut self, schedule: impl Schedule + 'a) -> Self {
        self.options.schedule = Some(Box::new(schedule));
        self
    }

    /// Runs the stream until the source ends, on this thread, on the runtime's workers, and on two threads for input
    /// and output. A stream that is predicted to take less than a millisecond, and waits for no other program, uses
    /// this thread only.
    ///
    /// # Errors
    /// [`StreamError`]: the stream could not be set up, or ended before its source did. Units before a unit that
    /// could not be read or computed are still written. The earliest of several errors is returned.
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
