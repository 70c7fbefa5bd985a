//! The reading side of a stream: a thread that reads ahead, or inline reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::erased::{AnySource, Unit};
use super::error::{BoxError, Panicked, panic_text};
use super::ports::Source;
use super::queue::{BufferQueue, Numbered, Taken};
use crate::sync::lock;
use crate::trace::{Trace, Track};

/// A unit that could not be read, and why.
pub(super) type ReadFailure = (u64, BoxError);

/// Buffers between the source and the workers. They are boxed, so that only pointers move: the header of a buffer stays
/// in the caches of workers that have read it.
pub(super) type InputQueue = BufferQueue<Unit, Option<ReadFailure>>;

/// What comes next.
pub(super) enum Next<I> {
    /// A unit.
    Unit(Numbered<I>),
    /// The source has ended. Returned again and again.
    End,
    /// The source has failed. Returned once, then `End`.
    Failed(ReadFailure),
    /// The stream was stopped.
    Stopped,
}

/// The units of the compute side, in order.
pub(super) struct Intake {
    queue: Arc<InputQueue>,
    /// The source if it is read in line.
    inline: Option<AnySource>,
    /// Empty buffers that the one thread which computes and reads has kept; see [`Intake::recycle_alone`].
    spare: Vec<Unit>,
    trace: Trace,
    taken: u64,
    ended: bool,
}

impl Intake {
    /// Takes units from a thread that runs [`read_all`], or from `inline`.
    pub(super) fn new(queue: Arc<InputQueue>, inline: Option<AnySource>, trace: Trace) -> Self {
        Intake {
            queue,
            inline,
            spare: Vec::new(),
            trace,
            taken: 0,
            ended: false,
        }
    }

    /// Takes an empty buffer back, from the one thread that computes. Where it also reads, the buffer passes no lock,
    /// and the next [`Intake::take`] finds it.
    pub(super) fn recycle_alone(&mut self, value: Unit) {
        match self.inline {
            Some(_) if !self.queue.is_used_wanted() => self.spare.push(value),
            _ => self.queue.recycle(value),
        }
    }

    /// Where any thread recycles a buffer.
    pub(super) fn queue(&self) -> &Arc<InputQueue> {
        &self.queue
    }

    /// The source is read by the threads that compute.
    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Units taken so far. In streams that drop nothing it is the number of the next unit.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Waits until [`Intake::take`] would not wait, at most until `until`. Whether it would not.
    pub(super) fn is_ready_by(&self, until: Instant, before_waiting: impl Fn()) -> bool {
        self.ended || self.inline.is_some() || self.queue.is_filled_by(until, before_waiting)
    }

    /// Waits for the next unit. `before_waiting` is called before it waits, and `waiting` for each second that it
    /// waits, with how many units were dropped so far.
    pub(super) fn take(
        &mut self,
        before_waiting: impl Fn(),
        mut waiting: impl FnMut(u64),
    ) -> Next<Unit> {
        if self.ended {
            return Next::End;
        }
        let next = match &mut self.inline {
            None => match self
                .queue
                .take_reporting(before_waiting, || waiting(self.queue.dropped()))
            {
                Taken::Unit(unit) => Next::Unit(unit),
                Taken::End(None) => Next::End,
                Taken::End(Some(failure)) => Next::Failed(failure),
                Taken::Stopped => Next::Stopped,
            },
            Some(source) => {
                let Some(mut value) = self.spare.pop().or_else(|| self.queue.take_empty()) else {
                    return Next::Stopped;
                };
                match read(source, &mut value, self.taken, &self.trace) {
                    Ok(true) => Next::Unit(Numbered {
                        number: self.taken,
                        value,
                    }),
                    Ok(false) => Next::End,
                    Err(cause) => Next::Failed((self.taken, cause)),
                }
            }
        };
        match &next {
            Next::Unit(_) => self.taken += 1,
            Next::End | Next::Failed(_) => self.ended = true,
            Next::Stopped => {}
        }
        next
    }
}

/// An intake that several workers share.
pub(super) struct SharedIntake<'e> {
    intake: Mutex<&'e mut Intake>,
    queue: Arc<InputQueue>,
    inline: bool,
    /// Nanoseconds that workers waited for the lock while its holder may have slept.
    blocked: AtomicU64,
}

impl<'e> SharedIntake<'e> {
    pub(super) fn new(intake: &'e mut Intake) -> Self {
        SharedIntake {
            queue: Arc::clone(intake.queue()),
            inline: intake.is_inline(),
            intake: Mutex::new(intake),
            blocked: AtomicU64::new(0),
        }
    }

    /// As [`Intake::take`].
    pub(super) fn take(&self, before_waiting: impl Fn(), waiting: impl FnMut(u64)) -> Next<Unit> {
        self.lock().take(before_waiting, waiting)
    }

    /// What comes next, if that is known.
    pub(super) fn take_now(&self) -> Option<Next<Unit>> {
        let mut intake = self.intake.try_lock().ok()?;
        let ready = intake.is_ready_by(Instant::now(), || ());
        ready.then(|| intake.take(|| (), |_| ()))
    }

    /// How long workers have waited for units, in sum, without what they waited while others read in line.
    pub(super) fn waited(&self) -> Duration {
        let blocked = Duration::from_nanos(self.blocked.load(Ordering::Relaxed));
        self.queue.consumers_slept() + blocked
    }

    fn lock(&self) -> MutexGuard<'_, &'e mut Intake> {
        match self.intake.try_lock() {
            Ok(intake) => return intake,
            Err(TryLockError::Poisoned(intake)) => return intake.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        let begin = Instant::now();
        let intake = lock(&self.intake);
        if !self.inline {
            let blocked = begin.elapsed().as_nanos() as u64;
            self.blocked.fetch_add(blocked, Ordering::Relaxed);
        }
        intake
    }
}

/// Reads until the source ends or fails, or producers are stopped: what the thread `evener-in` does. A source that is
/// `live` never waits.
pub(super) fn read_all(mut source: AnySource, queue: &InputQueue, live: bool, trace: &Trace) {
    let mut number = 0;
    let Some(mut value) = queue.take_empty() else {
        return;
    };
    loop {
        match read(&mut source, &mut value, number, trace) {
            Ok(true) => {}
            Ok(false) => return queue.end(None),
            Err(cause) => return queue.end(Some((number, cause))),
        }
        let unit = Numbered { number, value };
        let empty = if live {
            queue.swap(unit)
        } else {
            queue.put(unit, true);
            queue.take_empty()
        };
        match empty {
            Some(empty) => value = empty,
            None => return,
        }
        number += 1;
    }
}

fn read(
    source: &mut AnySource,
    value: &mut Unit,
    number: u64,
    trace: &Trace,
) -> Result<bool, BoxError> {
    let start = trace.start();
    // A source that panicked is not called again.
    let result = catch_unwind(AssertUnwindSafe(|| source.read(value)));
    trace.end(Track::Input, "read", number, start);
    match result {
        Ok(result) => result,
        Err(payload) => Err(Panicked(panic_text(&*payload)).into()),
    }
}
