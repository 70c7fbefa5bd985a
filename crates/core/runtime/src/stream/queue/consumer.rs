//! What the consumer does: it takes filled buffers in order, and spins where waits are short.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{BufferQueue, Numbered, State, Watchers, add};
use crate::io::SpinWait;
use crate::sync::lock;

/// A consumer that waits so long for a unit reports it.
const LONG: Duration = Duration::from_secs(1);

/// What the consumer finds.
pub(in crate::stream) enum Taken<T, E> {
    /// The next unit.
    Unit(Numbered<T>),
    /// The producer ended the queue, with its reason. Returned once; afterwards [`Taken::Stopped`].
    End(E),
    /// The consumer was stopped.
    Stopped,
}

impl<T, E> BufferQueue<T, E> {
    /// Waits for the next unit in order. `before_waiting` is called before it waits.
    pub(in crate::stream) fn take(&self, before_waiting: impl Fn()) -> Taken<T, E> {
        self.take_reporting(before_waiting, || ())
    }

    /// As [`BufferQueue::take`]; `waiting` is called for each second that it waits.
    pub(in crate::stream) fn take_reporting(
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
            self.wake_producer(&state);
            before_waiting();
            let timed_out;
            (state, timed_out) = self.sleep_until_filled(state, LONG);
            if timed_out && state.filled.is_empty() && state.end.is_none() {
                drop(state);
                waiting();
                state = self.lock();
            }
        }
    }

    /// Waits until [`BufferQueue::take`] would not wait, at most until `until`. Whether it would not. `before_waiting`
    /// is called before it waits.
    pub(in crate::stream) fn is_filled_by(
        &self,
        until: Instant,
        before_waiting: impl Fn(),
    ) -> bool {
        let _waited = self.spin_until_filled(&before_waiting);
        let mut state = self.lock();
        loop {
            if state.is_filled() {
                return true;
            }
            self.wake_producer(&state);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            before_waiting();
            (state, _) = self.sleep_until_filled(state, left);
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

    /// A producer may have been left asleep until several buffers are empty. It must not sleep while the consumer does.
    fn wake_producer(&self, state: &State<T, E>) {
        if state.producers_waiting > 0 && !state.empty.is_empty() {
            self.emptied.notify_one();
        }
    }

    /// Sleeps for `limit` at most. Whether it was that long.
    fn sleep_until_filled<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<T, E>>,
        limit: Duration,
    ) -> (MutexGuard<'a, State<T, E>>, bool) {
        state.consumers_waiting += 1;
        let begin = Instant::now();
        let (mut state, timeout) = self
            .filled
            .wait_timeout(state, limit)
            .unwrap_or_else(PoisonError::into_inner);
        add(&self.consumers_slept, begin.elapsed());
        state.consumers_waiting -= 1;
        (state, timeout.timed_out())
    }

    /// From now on the consumer gets [`Taken::Stopped`], even if it waits now.
    pub(in crate::stream) fn stop_consumer(&self) {
        let mut state = self.lock();
        state.consumer_stopped = true;
        self.event();
        Watchers::tell(&state.watchers.filled, 1);
        drop(state);
        self.filled.notify_all();
    }

    /// How long consumers have slept for want of a filled one, in sum.
    pub(in crate::stream) fn consumers_slept(&self) -> Duration {
        Duration::from_nanos(self.consumers_slept.load(Ordering::Relaxed))
    }
}

/// A wait that is not over.
struct Waited<'a>(&'a Mutex<SpinWait>);

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        lock(self.0).end();
    }
}
