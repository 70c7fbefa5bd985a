//! Live sources: their producer does not wait for the consumer, and drops the oldest unit instead.

use super::{BufferQueue, Numbered, Watchers};

impl<T, E> BufferQueue<T, E> {
    /// Puts a filled buffer and takes an empty one. If there is none, the oldest unit that was not yet taken is dropped
    /// and counted. Does not wait while there are buffers for two more than the consumer holds. `None` once producers
    /// are stopped.
    pub(in crate::stream) fn swap(&self, unit: Numbered<T>) -> Option<T> {
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

    /// Units that [`BufferQueue::swap`] dropped.
    pub(in crate::stream) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}
