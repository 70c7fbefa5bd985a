//! Streams that stay open: the caller pushes units and pulls results.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::cancel::CancelToken;
use super::erased::{AnyService, Typed, typed, typed_mut};
use super::error::StreamError;
use super::flow::{Ends, Outside};
use super::options::{Options, RunOptions};
use super::outlet::Keep;
use super::queue::{BufferQueue, Numbered, Taken};
use super::report::{Names, Report};
use super::run::run;
use crate::error::Error;
use crate::io::{SpinBudget, SpinWait};
use crate::runtime::Runtime;
use crate::service::Service;
use crate::sync::lock;

/// The thread that computes, as worker 0.
const THREAD: &str = "evener-run";
/// How long a wait for the rest of the results takes that is then repeated.
const LONG: Duration = Duration::from_secs(60);

impl Runtime {
    /// Opens a stream into which any threads push units and from which they pull results, in order. The stream takes
    /// over the runtime, because its workers may wait for units.
    ///
    /// The order of calls: [`Open::push`] and [`Open::pull`] as often as needed, and finally [`Open::close`], which
    /// returns the report. [`Open::end`] before that declares that no more units follow.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use evener_runtime::structure::SEQUENTIAL;
    /// use evener_runtime::{Part, Runtime, Service, Shape, Work};
    /// use evener_runtime::stream::{RunOptions, Turn};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// struct Double;
    ///
    /// impl Service for Double {
    ///     type Input = u64;
    ///     type Output = AtomicU64;
    ///     type Scratch = ();
    ///     fn key(&self) -> String {
    ///         "double".into()
    ///     }
    ///     fn input(&self) -> u64 {
    ///         0
    ///     }
    ///     fn output(&self) -> AtomicU64 {
    ///         AtomicU64::new(0)
    ///     }
    ///     fn scratch(&self) {}
    ///     fn shapes(&self, _: usize) -> Vec<Shape> {
    ///         vec![Shape::new(&SEQUENTIAL, vec![1], 1, Work::default())]
    ///     }
    ///     fn run(&self, _: &Part, input: &u64, output: &AtomicU64, _: &mut ()) -> Result<(), String> {
    ///         output.store(input * 2, Ordering::Relaxed);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let open = Runtime::new()?.open(Double, RunOptions::default())?;
    /// let soon = Instant::now() + Duration::from_secs(5);
    /// assert_eq!(open.push(soon, |input| *input = 21), Turn::Done(()));
    /// assert_eq!(open.pull(soon, |output| output.load(Ordering::Relaxed)), Turn::Done(42));
    /// assert_eq!(open.close()?.units, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Thread`] if the operating system refuses a thread.
    pub fn open<S>(self, service: S, options: RunOptions<'static>) -> Result<Open<S>, Error>
    where
        S: Service,
    {
        let budget = Arc::new(SpinBudget::both_ends(self.topology()));
        let queues = Outside {
            inputs: Arc::new(BufferQueue::new(0).spinning(SpinWait::new(&budget))),
            outputs: Arc::new(BufferQueue::new(0).spinning(SpinWait::new(&budget))),
        };
        let service = Arc::new(Typed(service));
        let cancel = options.cancel.clone();
        let (ends, of_thread) = (queues.clone(), AnyService::new(Arc::clone(&service)));
        let body = move || {
            let _ends = EndsOnDrop(ends.clone());
            let options = Options {
                choice: options.plan,
                workers: options.workers,
                on_progress: options.on_progress,
                cancel: options.cancel,
                names: Names::default(),
                ..Options::default()
            };
            run(&self, &of_thread, options, Ends::Outside(ends))
        };
        let thread = thread::Builder::new().name(THREAD.into()).spawn(body);
        let thread = thread.map_err(|source| Error::Thread {
            name: THREAD,
            source,
        })?;
        Ok(Open {
            service,
            queues,
            pushed: Mutex::new(0),
            pulled: AtomicU64::new(0),
            pulling: Mutex::new(()),
            cancel,
            thread: Some(thread),
        })
    }
}

/// The outcome of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<T> {
    /// Success.
    Done(T),
    /// There was no room, or no result, before the deadline.
    Late,
    /// The stream has ended; [`Open::close`] says why.
    Ended,
}

/// A stream that stays open; created by [`Runtime::open`]. Dropping it cancels it.
pub struct Open<S: Service> {
    service: Arc<Typed<S>>,
    queues: Outside,
    /// The number of the next unit.
    pushed: Mutex<u64>,
    pulled: AtomicU64,
    /// Held by the one that pulls, so that none finds the result gone that it has waited for.
    pulling: Mutex<()>,
    cancel: CancelToken,
    thread: Option<JoinHandle<Result<Report, StreamError>>>,
}

impl<S: Service> Open<S> {
    /// The service.
    pub fn service(&self) -> &S {
        &self.service.0
    }

    /// Waits until `until`, at the latest, for room, so that [`Open::push`] will not wait. Another thread may take
    /// the room.
    pub fn room(&self, until: Instant) -> Turn<()> {
        let inputs = &self.queues.inputs;
        match (inputs.is_emptied_by(until), inputs.has_empty()) {
            (false, _) => Turn::Late,
            (true, None) => Turn::Ended,
            (true, Some(_)) => Turn::Done(()),
        }
    }

    /// Waits for room until `until`, and lets `fill` overwrite the next unit.
    ///
    /// A thread that both pushes and pulls must pull early: there is room for only a few units, at least 4.
    pub fn push(&self, until: Instant, fill: impl FnOnce(&mut S::Input)) -> Turn<()> {
        let inputs = &self.queues.inputs;
        let mut number = lock(&self.pushed);
        if !inputs.is_emptied_by(until) {
            return Turn::Late;
        }
        let Some(mut value) = inputs.take_empty() else {
            return Turn::Ended;
        };
        let filled = catch_unwind(AssertUnwindSafe(|| fill(typed_mut(&mut value))));
        if let Err(payload) = filled {
            inputs.put_empty(value);
            resume_unwind(payload);
        }
        let unit = Numbered {
            number: *number,
            value,
        };
        *number += 1;
        inputs.put(unit, true);
        Turn::Done(())
    }

    /// Waits for the next result until `until`, and calls `take` with it.
    pub fn pull<R>(&self, until: Instant, take: impl FnOnce(&S::Output) -> R) -> Turn<R> {
        let outputs = &self.queues.outputs;
        let _pulling = lock(&self.pulling);
        if !outputs.is_filled_by(until, || ()) {
            return Turn::Late;
        }
        match outputs.take(|| ()) {
            Taken::Unit(unit) => {
                let result = catch_unwind(AssertUnwindSafe(|| take(typed(&unit.value))));
                outputs.recycle(unit.value);
                self.pulled.fetch_add(1, Ordering::Relaxed);
                Turn::Done(result.unwrap_or_else(|payload| resume_unwind(payload)))
            }
            Taken::End(_) | Taken::Stopped => Turn::Ended,
        }
    }

    /// The number of units that were pushed but not yet pulled.
    pub fn under_way(&self) -> u64 {
        *lock(&self.pushed) - self.pulled.load(Ordering::Relaxed)
    }

    /// Declares that no more units follow. Pending results can still be pulled; then the stream has ended.
    pub fn end(&self) {
        let _number = lock(&self.pushed);
        self.queues.inputs.stop_producers();
        self.queues.inputs.end(None);
    }

    /// Ends the stream early. Units not yet started have no result.
    pub fn cancel(&self) {
        self.cancel.cancel();
        self.queues.outputs.stop_producers();
    }

    /// Ends the stream, and waits for its end. Results that were not pulled are dropped.
    ///
    /// # Errors
    /// The reason for an earlier end: no plan fits, or a unit failed.
    pub fn close(mut self) -> Result<Report, StreamError> {
        self.end();
        while self.pull(Instant::now() + LONG, |_| ()) != Turn::Ended {}
        let thread = self.thread.take().expect("it is closed once");
        // What panics in a stream is caught where it is called, but for callbacks.
        thread
            .join()
            .unwrap_or_else(|payload| resume_unwind(payload))
    }
}

impl<S: Service> Drop for Open<S> {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.cancel();
            let thread = self.thread.take();
            // It was told of a panic when it happened.
            let _ = thread.map(JoinHandle::join);
        }
    }
}

impl<S: Service> fmt::Debug for Open<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open")
            .field("service", &self.service.0.key())
            .field("under_way", &self.under_way())
            .finish_non_exhaustive()
    }
}

/// Nothing waits for a stream that has ended, however it has.
struct EndsOnDrop(Outside);

impl Drop for EndsOnDrop {
    fn drop(&mut self) {
        self.0.inputs.stop_producers();
        self.0.outputs.end(Keep::Nothing);
    }
}
