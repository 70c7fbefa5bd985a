//! Buffers that were used: they become empty ones again, or leave the queue where one is wanted.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::{BufferQueue, Watchers};

impl<T, E> BufferQueue<T, E> {
    /// Returns a buffer whose unit was computed or written.
    pub(in crate::stream) fn recycle(&self, value: T) {
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
    pub(in crate::stream) fn put_empty(&self, value: T) {
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

    /// Waits for the next buffer that is recycled, and takes it out of the queue. `None` once producers are stopped.
    pub(in crate::stream) fn take_used(&self) -> Option<T> {
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
    pub(in crate::stream) fn is_used_wanted(&self) -> bool {
        self.is_used_wanted.load(Ordering::Relaxed)
    }
}
