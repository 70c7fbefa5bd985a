//! What producers do: they take an empty buffer, fill it and put it.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{BufferQueue, Numbered, Watchers, add};

/// What a producer gets.
pub(in crate::stream) struct Empty<T> {
    /// The buffer; `None` once producers are stopped.
    pub(in crate::stream) buffer: Option<T>,
    /// How long it was waited for while the consumer was idle, so that producers waited for one another.
    pub(in crate::stream) stalled: Duration,
}

impl<T, E> BufferQueue<T, E> {
    /// Waits for an empty buffer; `None` once producers are stopped.
    pub(in crate::stream) fn take_empty(&self) -> Option<T> {
        self.take_empty_timed().buffer
    }

    /// As [`BufferQueue::take_empty`], with how long other producers were waited for.
    pub(in crate::stream) fn take_empty_timed(&self) -> Empty<T> {
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
    pub(in crate::stream) fn try_take_empty(&self) -> Option<T> {
        let mut state = self.lock();
        let value = state
            .empty
            .pop_front()
            .filter(|_| !state.producers_stopped)?;
        state.busy = true;
        Some(value)
    }

    /// Whether there is an empty buffer. `None` once producers are stopped.
    pub(in crate::stream) fn has_empty(&self) -> Option<bool> {
        let state = self.lock();
        (!state.producers_stopped).then_some(!state.empty.is_empty())
    }

    /// Waits until [`BufferQueue::take_empty`] would not wait, at most until `until`. Whether it would not.
    pub(in crate::stream) fn is_emptied_by(&self, until: Instant) -> bool {
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

    /// Puts a filled buffer. Never waits. With `wake` a sleeping consumer is woken at once; otherwise when half of all
    /// buffers are filled, or by [`BufferQueue::flush`].
    pub(in crate::stream) fn put(&self, unit: Numbered<T>, wake: bool) {
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
    pub(in crate::stream) fn flush(&self) {
        let state = self.lock();
        if state.consumers_waiting > 0 && !state.filled.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Ends the queue, with a reason. Units that were put before are still taken first.
    pub(in crate::stream) fn end(&self, why: E) {
        let mut state = self.lock();
        state.end = Some(why);
        self.event();
        state.busy = false;
        Watchers::tell(&state.watchers.filled, 1);
        drop(state);
        self.filled.notify_all();
    }

    /// From now on producers get no buffer, and those that wait return. What was put can still be taken.
    pub(in crate::stream) fn stop_producers(&self) {
        let mut state = self.lock();
        state.producers_stopped = true;
        Watchers::tell(&state.watchers.emptied, 1);
        drop(state);
        self.emptied.notify_all();
        self.used.notify_all();
    }

    /// Whether producers are stopped.
    pub(in crate::stream) fn has_stopped(&self) -> bool {
        self.lock().producers_stopped
    }

    /// Whether the producer holds a buffer, and so may be in a call that blocks for ever. If it does not, and producers
    /// are stopped, it never will. Of several producers it is the one that was last to take a buffer.
    pub(in crate::stream) fn is_busy(&self) -> bool {
        self.lock().busy
    }

    /// How long producers have slept for want of an empty buffer while the consumer was behind, in sum.
    pub(in crate::stream) fn producers_slept(&self) -> Duration {
        Duration::from_nanos(self.producers_slept.load(Ordering::Relaxed))
    }
}
