//! A bounded queue of recycled buffers between an input or output thread and the compute side.
//!
//! A fixed set of buffers circulates. A producer takes an empty buffer, fills it and puts it. A consumer takes the
//! filled buffer, uses it and recycles it. Nothing is allocated after the start, and waiting threads are parked. The
//! counts of waiters are kept under the lock, so a wake-up without a waiter costs no system call.

mod consumer;
mod live;
mod producer;
mod recycle;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::dispatch::EventCount;
use crate::io::SpinWait;
use crate::sync::lock;

pub(super) use consumer::Taken;
pub(super) use producer::Empty;

/// A filled buffer and the number of its unit, counted from 0 in the order of the producer.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) value: T,
}

/// Room for so many buffers is made at the start, for more when they are added.
const INITIAL_ROOM: usize = 256;

pub(super) struct BufferQueue<T, E> {
    state: Mutex<State<T, E>>,
    /// Producers wait here for an empty buffer.
    emptied: Condvar,
    /// Consumers wait here for a filled one.
    filled: Condvar,
    /// Who wants a used buffer waits here.
    used: Condvar,
    /// The next used buffer leaves the queue.
    is_used_wanted: AtomicBool,
    /// Nanoseconds that producers slept because the consumer was behind, and that consumers slept, each in sum.
    producers_slept: AtomicU64,
    consumers_slept: AtomicU64,
    /// Counts what a consumer waits for: a filled buffer, or an end.
    events: AtomicU64,
    /// How the consumer spins before it sleeps, if it does.
    spin: Option<Mutex<SpinWait>>,
}

struct State<T, E> {
    empty: VecDeque<T>,
    filled: VecDeque<Numbered<T>>,
    /// A used buffer that has left the queue.
    used: Option<T>,
    buffers: usize,
    end: Option<E>,
    producers_stopped: bool,
    consumer_stopped: bool,
    producers_waiting: usize,
    consumers_waiting: usize,
    /// The consumer has taken a unit and not yet asked for the next.
    consuming: bool,
    /// For how long, up to `updated`, at least one producer waited while the consumer was behind.
    behind: Duration,
    updated: Instant,
    /// The producer has taken a buffer and neither put it nor ended the queue.
    busy: bool,
    dropped: u64,
    watchers: Watchers,
}

/// Who is told, beside those that wait in the queue, of a buffer that was filled or emptied and of the end of either.
#[derive(Default)]
pub(super) struct Watchers {
    pub(super) filled: Option<Arc<EventCount>>,
    pub(super) emptied: Option<Arc<EventCount>>,
}

impl Watchers {
    fn tell(watcher: &Option<Arc<EventCount>>, threads: usize) {
        if let Some(watcher) = watcher {
            watcher.notify(threads);
        }
    }
}

impl<T, E> State<T, E> {
    /// Whether a consumer need not wait.
    fn is_filled(&self) -> bool {
        self.consumer_stopped || !self.filled.is_empty() || self.end.is_some()
    }

    /// Brings `behind` up to date. Called before a change of whether the consumer is behind, or of how many producers
    /// wait. The time now.
    fn update_behind(&mut self) -> Instant {
        let now = Instant::now();
        if self.producers_waiting > 0 && (self.consuming || !self.filled.is_empty()) {
            self.behind += now - self.updated;
        }
        self.updated = now;
        now
    }

    /// As [`State::update_behind`], if a producer waits.
    fn update_behind_if_waiting(&mut self) {
        if self.producers_waiting > 0 {
            self.update_behind();
        }
    }
}

impl<T, E> BufferQueue<T, E> {
    /// A queue without buffers that has room for `limit` of them.
    pub(super) fn new(limit: usize) -> Self {
        BufferQueue {
            state: Mutex::new(State {
                empty: VecDeque::with_capacity(limit.min(INITIAL_ROOM)),
                filled: VecDeque::with_capacity(limit.min(INITIAL_ROOM)),
                used: None,
                buffers: 0,
                end: None,
                producers_stopped: false,
                consumer_stopped: false,
                producers_waiting: 0,
                consumers_waiting: 0,
                consuming: false,
                behind: Duration::ZERO,
                updated: Instant::now(),
                busy: false,
                dropped: 0,
                watchers: Watchers::default(),
            }),
            emptied: Condvar::new(),
            filled: Condvar::new(),
            used: Condvar::new(),
            is_used_wanted: AtomicBool::new(false),
            producers_slept: AtomicU64::new(0),
            consumers_slept: AtomicU64::new(0),
            events: AtomicU64::new(0),
            spin: None,
        }
    }

    /// A consumer that waits for a short time spins.
    pub(super) fn spinning(mut self, spin: SpinWait) -> Self {
        self.spin = Some(Mutex::new(spin));
        self
    }

    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        lock(&self.state)
    }

    /// Sets who is told of buffers.
    pub(super) fn watch(&self, watchers: Watchers) {
        self.lock().watchers = watchers;
    }

    /// How many buffers there are.
    pub(super) fn buffers(&self) -> usize {
        self.lock().buffers
    }

    /// Adds a buffer.
    pub(super) fn add(&self, value: T) {
        self.lock().buffers += 1;
        self.put_empty(value);
    }

    fn event(&self) {
        self.events.fetch_add(1, Ordering::Release);
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
