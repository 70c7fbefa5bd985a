//! A source that does not wait, and drops the oldest items instead.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::lock::lock;

/// A queue for a source that cannot be stopped, as a camera or a socket. It holds `capacity` items, at least one. When it is
/// full, the oldest is dropped.
///
/// ```
/// use evener::prelude::*;
///
/// let (feed, frames) = evener::live(2);
/// assert_eq!(feed.push("first"), None);
/// assert_eq!(feed.push("second"), None);
/// assert_eq!(feed.push("third"), Some("first"));
/// drop(feed);
/// let shown: Vec<usize> = frames.even().map(|frame| frame.len()).collect();
/// assert_eq!(shown, [6, 5]);
/// ```
pub fn live<T>(capacity: usize) -> (Feed<T>, Live<T>) {
    let queue = Arc::new(Queue {
        state: Mutex::new(State {
            items: VecDeque::new(),
            feeds: 1,
            dropped: 0,
            is_read: true,
        }),
        changed: Condvar::new(),
        capacity: capacity.max(1),
    });
    (Feed(Arc::clone(&queue)), Live(queue))
}

#[derive(Debug)]
struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    feeds: usize,
    dropped: u64,
    /// The reader was not dropped.
    is_read: bool,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }
}

/// The end of a [`live`] queue that is written to. A clone feeds the same queue.
#[derive(Debug)]
pub struct Feed<T>(Arc<Queue<T>>);

impl<T> Feed<T> {
    /// Adds an item, and never waits. If the queue is full, returns the oldest item, which leaves it. If the reader was
    /// dropped, returns the item itself.
    pub fn push(&self, item: T) -> Option<T> {
        let mut state = self.0.lock();
        if !state.is_read {
            return Some(item);
        }
        let oldest = match state.items.len() >= self.0.capacity {
            true => state.items.pop_front(),
            false => None,
        };
        state.dropped += u64::from(oldest.is_some());
        state.items.push_back(item);
        drop(state);
        self.0.changed.notify_one();
        oldest
    }

    /// How many items were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.0.lock().dropped
    }

    /// Whether the reader was not dropped yet.
    pub fn is_read(&self) -> bool {
        self.0.lock().is_read
    }
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Feed<T> {
        self.0.lock().feeds += 1;
        Feed(Arc::clone(&self.0))
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        self.0.lock().feeds -= 1;
        self.0.changed.notify_one();
    }
}

/// The end of a [`live`] queue that is read: an iterator that waits for items, and ends when all feeds were dropped.
#[derive(Debug)]
pub struct Live<T>(Arc<Queue<T>>);

impl<T> Iterator for Live<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let mut state = self.0.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.feeds == 0 {
                return None;
            }
            state = self
                .0
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Drop for Live<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_read = false;
        let items = std::mem::take(&mut state.items);
        drop(state);
        // Outside the lock, since items may drop feeds.
        drop(items);
    }
}
