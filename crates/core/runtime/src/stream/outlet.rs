//! The writing side of a stream: a thread that writes behind, or inline writing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::erased::{AnySink, Unit};
use super::error::{BoxError, Panicked, panic_text};
use super::ports::Sink;
use super::queue::{BufferQueue, Numbered, Taken};
use crate::trace::{Trace, Track};

/// Buffers between the workers and the sink. It ends with what of the output is to be kept.
pub(super) type OutputQueue = BufferQueue<Unit, Keep>;

/// What of the output is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// All of it, even without a unit: the stream came to its end.
    Whole,
    /// The units that were written. Without any, the output is aborted, so that an older output stays.
    Units,
    /// Nothing.
    Nothing,
}

impl Keep {
    /// For a stream that failed.
    pub(super) fn partial(keep_partial: bool) -> Keep {
        if keep_partial {
            Keep::Units
        } else {
            Keep::Nothing
        }
    }
}

/// What became of the output.
#[derive(Default)]
pub(super) struct Written {
    /// Units the sink accepted.
    pub(super) units: u64,
    /// Why it accepted no more, and at which unit; `None` at the end of the output.
    pub(super) failure: Option<(Option<u64>, BoxError)>,
}

/// A sink and what became of it.
pub(super) struct Writer<'k> {
    sink: AnySink<'k>,
    trace: Trace,
    written: Written,
}

impl<'k> Writer<'k> {
    pub(super) fn new(sink: AnySink<'k>, trace: Trace) -> Self {
        Writer {
            sink,
            trace,
            written: Written::default(),
        }
    }

    /// Whether it is written in line.
    pub(super) fn inline(&self) -> bool {
        self.sink.inline()
    }

    /// Whether a write may wait for a reader.
    pub(super) fn may_wait(&self) -> bool {
        self.sink.may_wait()
    }

    /// Writes a unit; `false` if that failed, or if one before it did.
    fn write(&mut self, number: u64, value: &Unit) -> bool {
        if self.written.failure.is_some() {
            return false;
        }
        let start = self.trace.start();
        let result = guarded(|| self.sink.write(value));
        self.trace.end(Track::Output, "write", number, start);
        match result {
            Ok(()) => self.written.units += 1,
            Err(cause) => self.written.failure = Some((Some(number), cause)),
        }
        self.written.failure.is_none()
    }

    /// Finishes the sink, or aborts it if the output is not to be kept.
    pub(super) fn close(mut self, keep: Keep) -> Written {
        let finish = match keep {
            Keep::Whole => true,
            Keep::Units => self.written.units > 0,
            Keep::Nothing => false,
        };
        let result = if finish {
            guarded(|| self.sink.finish())
        } else {
            guarded(|| {
                self.sink.abort();
                Ok::<(), BoxError>(())
            })
        };
        if let Err(cause) = result {
            self.written.failure.get_or_insert((None, cause));
        }
        self.written
    }

    /// Writes results until they end: what the thread `evener-out` does. `failed` is called when writing fails.
    pub(super) fn write_all(
        mut self,
        queue: &OutputQueue,
        partial: Keep,
        failed: impl FnOnce(),
    ) -> Written {
        let keep = loop {
            match queue.take(|| ()) {
                Taken::Unit(Numbered { number, value }) => {
                    if !self.write(number, &value) {
                        queue.stop_producers();
                        failed();
                        break partial;
                    }
                    queue.recycle(value);
                }
                Taken::End(keep) => break keep,
                Taken::Stopped => break partial,
            }
        };
        self.close(keep)
    }
}

/// Calls a sink; a panic in it is an error.
pub(super) fn guarded<E: Into<BoxError>>(
    call: impl FnOnce() -> Result<(), E>,
) -> Result<(), BoxError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(Into::into),
        Err(payload) => Err(Panicked(panic_text(&*payload)).into()),
    }
}

/// Where the compute side puts its results, in order.
pub(super) struct Outlet<'a> {
    queue: &'a OutputQueue,
    /// The sink if it is written in line.
    inline: Option<Writer<'a>>,
    /// Empty buffers that the one thread which computes and writes has kept; see [`Outlet::put`].
    spare: Vec<Unit>,
}

impl<'a> Outlet<'a> {
    /// Results go to a thread that runs [`Writer::write_all`], or to `inline`.
    pub(super) fn new(queue: &'a OutputQueue, inline: Option<Writer<'a>>) -> Self {
        Outlet {
            queue,
            inline,
            spare: Vec::new(),
        }
    }

    /// The source of empty buffers.
    pub(super) fn queue(&self) -> &'a OutputQueue {
        self.queue
    }

    /// The sink is written by the threads that compute.
    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Waits for an empty buffer, for the one thread that computes; `None` once producers are stopped.
    pub(super) fn take_empty(&mut self) -> Option<Unit> {
        self.spare.pop().or_else(|| self.queue.take_empty())
    }

    /// Puts the next result; `false` if it could not be written. A failure on the thread shows a little later, in
    /// [`BufferQueue::take_empty`]. For `wake` see [`BufferQueue::put`]. A buffer that is written in line passes no
    /// lock, and other threads do not get it before [`Outlet::share_spare`].
    pub(super) fn put(&mut self, number: u64, value: Unit, wake: bool) -> bool {
        match &mut self.inline {
            None => self.queue.put(Numbered { number, value }, wake),
            Some(writer) => {
                if !writer.write(number, &value) {
                    self.queue.stop_producers();
                    return false;
                }
                self.spare.push(value);
            }
        }
        true
    }

    /// Makes the buffers that were kept available to all threads.
    pub(super) fn share_spare(&mut self) {
        let spare = self.spare.drain(..);
        spare.for_each(|value| self.queue.recycle(value));
    }

    /// Ends the output. What became of it, if it was written in line; otherwise the thread returns that.
    pub(super) fn end(self, keep: Keep, partial: Keep) -> Option<Written> {
        match self.inline {
            None => {
                self.queue.end(keep);
                None
            }
            Some(writer) => {
                let failed = writer.written.failure.is_some();
                Some(writer.close(if failed { partial } else { keep }))
            }
        }
    }
}
