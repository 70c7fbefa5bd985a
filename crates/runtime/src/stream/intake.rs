//! The reading side of a stream: a thread that reads ahead, or reading in line with computing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::error::{BoxError, Panicked, panic_text};
use super::exchange::{Exchange, Numbered, Taken};
use super::ports::Source;
use crate::service::Service;
use crate::trace::{Trace, Track};

/// A unit that could not be read, and why.
pub(super) type ReadFailure = (u64, BoxError);

/// Buffers on their way from the source to the workers and back. Boxes, so that only pointers move: what a buffer says
/// of itself stays in the caches of workers that have read it.
pub(super) type InLink<S> = Exchange<Box<<S as Service>::Input>, Option<ReadFailure>>;

/// What comes next.
pub(super) enum Next<I> {
    /// A unit.
    Unit(Numbered<I>),
    /// The source has ended; told again and again.
    End,
    /// The source has failed; told once, then `End`.
    Failed(ReadFailure),
    /// The stream was stopped.
    Stopped,
}

/// Where the compute side takes its units from, in order.
pub(super) struct Intake<S: Service, Src> {
    link: Arc<InLink<S>>,
    /// The source if it is read in line.
    inline: Option<Src>,
    /// Empty buffers that the one thread which computes and reads has kept by itself; see [`Intake::give_back_alone`].
    spare: Vec<Box<S::Input>>,
    trace: Trace,
    taken: u64,
    over: bool,
}

impl<S: Service, Src: Source<S>> Intake<S, Src> {
    /// Takes units from a thread that runs [`read_all`], or from `inline`.
    pub(super) fn new(link: Arc<InLink<S>>, inline: Option<Src>, trace: Trace) -> Self {
        Intake {
            link,
            inline,
            spare: Vec::new(),
            trace,
            taken: 0,
            over: false,
        }
    }

    /// Takes an empty buffer back, from the one thread that computes. Where it also reads, the buffer passes no lock,
    /// and the next [`Intake::take`] finds it.
    pub(super) fn give_back_alone(&mut self, value: Box<S::Input>) {
        match self.inline {
            Some(_) => self.spare.push(value),
            None => self.link.give_back(value),
        }
    }

    /// Buffers may be given back here by whoever has one.
    pub(super) fn link(&self) -> &Arc<InLink<S>> {
        &self.link
    }

    /// The source is read by the threads that compute.
    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Units taken so far. In streams that drop nothing it is the number of the next unit.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether [`Intake::take`] gives something without waiting, for which this waits until then at most.
    pub(super) fn is_ready_by(&self, until: Instant, before_waiting: impl Fn()) -> bool {
        self.over || self.inline.is_some() || self.link.is_filled_by(until, before_waiting)
    }

    /// The next unit, waiting for it; `before_waiting` is called first, and `waiting` each second that it takes,
    /// with how many units were dropped so far.
    pub(super) fn take(
        &mut self,
        before_waiting: impl Fn(),
        mut waiting: impl FnMut(u64),
    ) -> Next<Box<S::Input>> {
        if self.over {
            return Next::End;
        }
        let next = match &mut self.inline {
            None => match self
                .link
                .take_or_tell(before_waiting, || waiting(self.link.dropped()))
            {
                Taken::Unit(unit) => Next::Unit(unit),
                Taken::End(None) => Next::End,
                Taken::End(Some(failure)) => Next::Failed(failure),
                Taken::Stopped => Next::Stopped,
            },
            Some(source) => {
                let Some(mut value) = self.spare.pop().or_else(|| self.link.empty()) else {
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
            Next::End | Next::Failed(_) => self.over = true,
            Next::Stopped => {}
        }
        next
    }
}

/// An intake for workers that take units in turn.
pub(super) struct Turns<'e, S: Service, Src> {
    intake: Mutex<&'e mut Intake<S, Src>>,
    link: Arc<InLink<S>>,
    inline: bool,
    /// Nanoseconds that workers queued behind one that may have slept.
    queued: AtomicU64,
}

impl<'e, S: Service, Src: Source<S>> Turns<'e, S, Src> {
    pub(super) fn new(intake: &'e mut Intake<S, Src>) -> Self {
        Turns {
            link: Arc::clone(intake.link()),
            inline: intake.is_inline(),
            intake: Mutex::new(intake),
            queued: AtomicU64::new(0),
        }
    }

    /// As [`Intake::take`].
    pub(super) fn take(
        &self,
        before_waiting: impl Fn(),
        waiting: impl FnMut(u64),
    ) -> Next<Box<S::Input>> {
        self.lock().take(before_waiting, waiting)
    }

    /// How long workers have waited for units to come, all together. Not what they waited while others read in line.
    pub(super) fn waited(&self) -> Duration {
        let queued = Duration::from_nanos(self.queued.load(Ordering::Relaxed));
        self.link.consumers_slept() + queued
    }

    fn lock(&self) -> MutexGuard<'_, &'e mut Intake<S, Src>> {
        match self.intake.try_lock() {
            Ok(intake) => return intake,
            Err(TryLockError::Poisoned(intake)) => return intake.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        let begin = Instant::now();
        let intake = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.inline {
            let queued = begin.elapsed().as_nanos() as u64;
            self.queued.fetch_add(queued, Ordering::Relaxed);
        }
        intake
    }
}

/// Reads until the source ends or fails or nobody wants more: what the thread `evener-in` does.
/// A source that is `live` is never made to wait.
pub(super) fn read_all<S: Service, Src: Source<S>>(
    mut source: Src,
    link: &InLink<S>,
    live: bool,
    trace: &Trace,
) {
    let mut number = 0;
    let Some(mut value) = link.empty() else {
        return;
    };
    loop {
        match read(&mut source, &mut value, number, trace) {
            Ok(true) => {}
            Ok(false) => return link.end(None),
            Err(cause) => return link.end(Some((number, cause))),
        }
        let unit = Numbered { number, value };
        let empty = if live {
            link.swap(unit)
        } else {
            link.put(unit, true);
            link.empty()
        };
        match empty {
            Some(empty) => value = empty,
            None => return,
        }
        number += 1;
    }
}

fn read<S: Service, Src: Source<S>>(
    source: &mut Src,
    value: &mut S::Input,
    number: u64,
    trace: &Trace,
) -> Result<bool, BoxError> {
    let start = trace.start();
    // A source that panicked is not called again.
    let result = catch_unwind(AssertUnwindSafe(|| source.read(value)));
    trace.end(Track::Input, "read", number, start);
    match result {
        Ok(result) => result.map_err(Into::into),
        Err(payload) => Err(Panicked(panic_text(&*payload)).into()),
    }
}
