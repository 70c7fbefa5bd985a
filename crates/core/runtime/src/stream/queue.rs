//! A bounded queue of recycled buffers between an input or output thread and the compute side.
//!
//! A fixed set of buffers circulates. A producer takes an empty buffer, fills it and puts it. A consumer takes the
//! filled buffer, uses it and recycles it. Nothing is allocated after the start, and waiting threads are parked. The
//! counts of waiters are kept under the lock, so a wake-up without a waiter costs no system call.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::dispatch::EventCount;
use crate::io::SpinWait;
use crate::sync::lock;

/// A filled buffer and the number of its unit, counted from 0 in the order of the producer.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) value: T,
}

/// Room for so many buffers is made at the start, for more when they are added.
const INITIAL_ROOM: usize = 256;

/// A consumer that waits so long for a unit reports it.
const LONG: Duration = Duration::from_secs(1);

/// What the consumer finds.
pub(super) enum Taken<T, E> {
    /// The next unit.
    Unit(Numbered<T>),
    /// The producer ended the queue, with its reason. Returned once; afterwards [`Taken::Stopped`].
    End(E),
    /// The consumer was stopped.
    Stopped,
}

/// What a producer gets.
pub(super) struct Empty<T> {
    /// The buffer; `None` once producers are stopped.
    pub(super) buffer: Option<T>,
    /// How long it was waited for while the consumer was idle, so that producers waited for one another.
    pub(super) stalled: Duration,
}

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

    /// Whether there is an empty buffer. `None` once producers are stopped.
    pub(super) fn has_empty(&self) -> Option<bool> {
        let state = self.lock();
        (!state.producers_stopped).then_some(!state.empty.is_empty())
    }

    /// Whether producers are stopped.
    pub(super) fn has_stopped(&self) -> bool {
        self.lock().producers_stopped
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

    /// Waits for the next buffer that is recycled, and takes it out of the queue. `None` once producers are stopped.
    pub(super) fn take_used(&self) -> Option<T> {
        let mut state = self.lock();
        self.is_used_wanted.store(true, Ordering::Relaxed);
        loop {
            if let Some(value) = state.used.take() {
                return Some(value);
            }
            if state.producers_stopped {
                return None;
            }
            state = self
                .used
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether [`BufferQueue::take_used`] waits.
    pub(super) fn is_used_wanted(&self) -> bool {
        self.is_used_wanted.load(Ordering::Relaxed)
    }

    /// Waits for an empty buffer; `None` once producers are stopped.
    pub(super) fn take_empty(&self) -> Option<T> {
        self.take_empty_timed().buffer
    }

    /// As [`BufferQueue::take_empty`], with how long other producers were waited for.
    pub(super) fn take_empty_timed(&self) -> Empty<T> {
        let mut stalled = Duration::ZERO;
        let mut state = self.lock();
        loop {
            if state.producers_stopped {
                return Empty {
                    buffer: None,
                    stalled,
                };
            }
            if let Some(value) = state.empty.pop_front() {
                state.busy = true;
                // One wake-up may stand for several buffers, so it is passed on.
                if state.producers_waiting > 0 && !state.empty.is_empty() {
                    self.emptied.notify_one();
                }
                return Empty {
                    buffer: Some(value),
                    stalled,
                };
            }
            // A consumer may have been left asleep until several buffers are filled. It must not sleep while producers
            // do.
            if state.consumers_waiting > 0 && !state.filled.is_empty() {
                self.filled.notify_one();
            }
            let (begin, before) = (state.update_behind(), state.behind);
            state.producers_waiting += 1;
            state = self
                .emptied
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            let end = state.update_behind();
            state.producers_waiting -= 1;
            let behind = state.behind - before;
            stalled += (end - begin).saturating_sub(behind);
            add(&self.producers_slept, behind);
        }
    }

    /// An empty buffer if there is one.
    pub(super) fn try_take_empty(&self) -> Option<T> {
        let mut state = self.lock();
        let value = state
            .empty
            .pop_front()
            .filter(|_| !state.producers_stopped)?;
        state.busy = true;
        Some(value)
    }

    /// Puts a filled buffer and takes an empty one. If there is none, the oldest unit that was not yet taken is dropped
    /// and counted. Does not wait while there are buffers for two more than the consumer holds. `None` once producers
    /// are stopped.
    pub(super) fn swap(&self, unit: Numbered<T>) -> Option<T> {
        let mut state = self.lock();
        let free = match state.empty.pop_front() {
            None => {
                let oldest = state.filled.pop_front().map(|oldest| oldest.value);
                state.dropped += u64::from(oldest.is_some());
                oldest
            }
            empty => empty,
        };
        state.filled.push_back(unit);
        self.event();
        let stopped = state.producers_stopped;
        let wake = state.consumers_waiting > 0;
        Watchers::tell(&state.watchers.filled, 1);
        state.busy = free.is_some() && !stopped;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        if stopped {
            None
        } else {
            free.or_else(|| self.take_empty())
        }
    }

    /// Puts a filled buffer. Never waits. With `wake` a sleeping consumer is woken at once; otherwise when half of all
    /// buffers are filled, or by [`BufferQueue::flush`].
    pub(super) fn put(&self, unit: Numbered<T>, wake: bool) {
        let mut state = self.lock();
        state.update_behind_if_waiting();
        state.filled.push_back(unit);
        self.event();
        state.busy = false;
        Watchers::tell(&state.watchers.filled, 1);
        let wake = state.consumers_waiting > 0 && (wake || state.filled.len() >= state.buffers / 2);
        drop(state);
        if wake {
            self.filled.notify_one();
        }
    }

    /// Wakes a consumer that sleeps although there is a filled buffer.
    pub(super) fn flush(&self) {
        let state = self.lock();
        if state.consumers_waiting > 0 && !state.filled.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Ends the queue, with a reason. Units that were put before are still taken first.
    pub(super) fn end(&self, why: E) {
        let mut state = self.lock();
        state.end = Some(why);
        self.event();
        state.busy = false;
        Watchers::tell(&state.watchers.filled, 1);
        drop(state);
        self.filled.notify_all();
    }

    /// Waits for the next unit in order. `before_waiting` is called before it waits.
    pub(super) fn take(&self, before_waiting: impl Fn()) -> Taken<T, E> {
        self.take_reporting(before_waiting, || ())
    }

    /// As [`BufferQueue::take`]; `waiting` is called for each second that it waits.
    pub(super) fn take_reporting(
        &self,
        before_waiting: impl Fn(),
        mut waiting: impl FnMut(),
    ) -> Taken<T, E> {
        let _waited = self.spin_until_filled(&before_waiting);
        let mut state = self.lock();
        state.update_behind_if_waiting();
        state.consuming = false;
        loop {
            if state.consumer_stopped {
                return Taken::Stopped;
            }
            if let Some(unit) = state.filled.pop_front() {
                state.consuming = true;
                return Taken::Unit(unit);
            }
            if let Some(why) = state.end.take() {
                state.consumer_stopped = true;
                return Taken::End(why);
            }
            // A producer may have been left asleep until several buffers are empty. It must not sleep while the
            // consumer does.
            if state.producers_waiting > 0 && !state.empty.is_empty() {
                self.emptied.notify_one();
            }
            before_waiting();
            state.consumers_waiting += 1;
            let begin = Instant::now();
            let timeout;
            (state, timeout) = self
                .filled
                .wait_timeout(state, LONG)
                .unwrap_or_else(PoisonError::into_inner);
            add(&self.consumers_slept, begin.elapsed());
            state.consumers_waiting -= 1;
            if timeout.timed_out() && state.filled.is_empty() && state.end.is_none() {
                drop(state);
                waiting();
                state = self.lock();
            }
        }
    }

    /// Waits until [`BufferQueue::take`] would not wait, at most until `until`. Whether it would not. `before_waiting`
    /// is called before it waits.
    pub(super) fn is_filled_by(&self, until: Instant, before_waiting: impl Fn()) -> bool {
        let _waited = self.spin_until_filled(&before_waiting);
        let mut state = self.lock();
        loop {
            if state.is_filled() {
                return true;
            }
            // As in `take`.
            if state.producers_waiting > 0 && !state.empty.is_empty() {
                self.emptied.notify_one();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            before_waiting();
            state.consumers_waiting += 1;
            let begin = Instant::now();
            (state, _) = self
                .filled
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            add(&self.consumers_slept, begin.elapsed());
            state.consumers_waiting -= 1;
        }
    }

    /// Spins until [`BufferQueue::take`] would not wait, where waits are short. The wait ends when the result is dropped.
    fn spin_until_filled(&self, before_waiting: &impl Fn()) -> Option<Waited<'_>> {
        let spin = self.spin.as_ref()?;
        let before = self.events.load(Ordering::Acquire);
        if self.lock().is_filled() {
            return None;
        }
        before_waiting();
        let begin = Instant::now();
        let came = || self.events.load(Ordering::Acquire) != before;
        lock(spin).begin(came, || false);
        add(&self.consumers_slept, begin.elapsed());
        Some(Waited(spin))
    }

    fn event(&self) {
        self.events.fetch_add(1, Ordering::Release);
    }

    /// Waits until [`BufferQueue::take_empty`] would not wait, at most until `until`. Whether it would not.
    pub(super) fn is_emptied_by(&self, until: Instant) -> bool {
        let mut state = self.lock();
        loop {
            if state.producers_stopped || !state.empty.is_empty() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state.update_behind();
            state.producers_waiting += 1;
            (state, _) = self
                .emptied
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            state.update_behind();
            state.producers_waiting -= 1;
        }
    }

    /// Returns a buffer whose unit was computed or written.
    pub(super) fn recycle(&self, value: T) {
        if self.is_used_wanted() {
            let mut state = self.lock();
            if self.is_used_wanted.swap(false, Ordering::Relaxed) {
                state.used = Some(value);
                state.buffers -= 1;
                self.used.notify_all();
                return;
            }
        }
        self.put_empty(value);
    }

    /// Returns a buffer for reuse. A waiting producer is woken when half of all buffers are empty, or none is filled,
    /// so that a fast consumer does not pay a wake-up for every unit.
    pub(super) fn put_empty(&self, value: T) {
        let mut state = self.lock();
        // The buffer used last is the one whose memory is still in a cache.
        state.empty.push_front(value);
        Watchers::tell(&state.watchers.emptied, 1);
        let wake = state.producers_waiting > 0
            && (state.empty.len() >= state.buffers / 2 || state.filled.is_empty());
        drop(state);
        if wake {
            self.emptied.notify_one();
        }
    }

    /// From now on producers get no buffer, and those that wait return. What was put can still be taken.
    pub(super) fn stop_producers(&self) {
        let mut state = self.lock();
        state.producers_stopped = true;
        Watchers::tell(&state.watchers.emptied, 1);
        drop(state);
        self.emptied.notify_all();
        self.used.notify_all();
    }

    /// From now on the consumer gets [`Taken::Stopped`], even if it waits now.
    pub(super) fn stop_consumer(&self) {
        let mut state = self.lock();
        state.consumer_stopped = true;
        self.event();
        Watchers::tell(&state.watchers.filled, 1);
        drop(state);
        self.filled.notify_all();
    }

    /// Whether the producer holds a buffer, and so may be in a call that blocks for ever. If it does not, and producers
    /// are stopped, it never will. Of several producers it is the one that was last to take a buffer.
    pub(super) fn is_busy(&self) -> bool {
        self.lock().busy
    }

    /// How long producers have slept for want of an empty buffer while the consumer was behind, in sum.
    pub(super) fn producers_slept(&self) -> Duration {
        Duration::from_nanos(self.producers_slept.load(Ordering::Relaxed))
    }

    /// How long consumers have slept for want of a filled one, in sum.
    pub(super) fn consumers_slept(&self) -> Duration {
        Duration::from_nanos(self.consumers_slept.load(Ordering::Relaxed))
    }

    /// Units that [`BufferQueue::swap`] dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

/// A wait that is not over.
struct Waited<'a>(&'a Mutex<SpinWait>);

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        lock(self.0).end();
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
