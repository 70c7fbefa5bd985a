//! Streams of `futures`: polled by any executor, computed by the threads of the pool.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use futures_core::Stream;

use super::flow::{Costs, Flow, Step, is_long};
use super::stages::{Same, Stages, Then};
use crate::lock::lock;

/// An asynchronous stream whose items go through stages on the threads of the pool. It is itself a stream of the results,
/// for any executor: polling it reads the source and computes nothing. Results come in order, and a bounded number of
/// items is on its way.
///
/// ```
/// use futures::{StreamExt, executor::block_on, stream::iter};
///
/// let words = iter(["even", "odd"]);
/// let lengths = evener::stream(words).map(|word| word.len());
/// assert_eq!(block_on(lengths.collect::<Vec<_>>()), [4, 3]);
/// ```
pub fn stream<St: Stream>(source: St) -> AsyncStream<St, Same>
where
    St::Item: Send,
{
    AsyncStream {
        source: Box::pin(source),
        stages: Some(Same),
        ordered: true,
        running: None,
    }
}

/// What [`stream`] makes. When it is dropped, what was not begun is not computed.
#[must_use = "a stream does nothing until it is polled"]
pub struct AsyncStream<St: Stream, S: Stages<St::Item>> {
    source: Pin<Box<St>>,
    /// Until it is polled.
    stages: Option<S>,
    ordered: bool,
    running: Option<Running<St::Item, S>>,
}

struct Running<T, S: Stages<T>> {
    flow: Flow<S::Out>,
    jobs: Arc<Jobs<S>>,
}

/// What the jobs of a stream share.
struct Jobs<S> {
    stages: S,
    ended: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl<St, S> AsyncStream<St, S>
where
    St: Stream,
    S: Stages<St::Item>,
{
    /// A stage: `map` is called with each item, on a thread of the pool. It may compute for long.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream::iter};
    ///
    /// let sums = evener::stream(iter(1..4)).map(|n| n * n).map(|n: i32| n + 1);
    /// assert_eq!(block_on(sums.collect::<Vec<_>>()), [2, 5, 10]);
    /// ```
    pub fn map<R: Send, F: Fn(S::Out) -> R + Sync>(self, map: F) -> AsyncStream<St, Then<S, F>> {
        AsyncStream {
            source: self.source,
            stages: self.stages.map(|stages| Then(stages, map)),
            ordered: self.ordered,
            running: None,
        }
    }

    /// Results come as they are ready, in any order.
    ///
    /// ```
    /// use futures::{StreamExt, executor::block_on, stream::iter};
    ///
    /// let doubled = evener::stream(iter(0..100)).map(|n| n * 2).unordered();
    /// let sum = block_on(doubled.fold(0, async |sum, n| sum + n));
    /// assert_eq!(sum, 9900);
    /// ```
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }
}

impl<St, S> Stream for AsyncStream<St, S>
where
    St: Stream,
    St::Item: Send + 'static,
    S: Stages<St::Item> + Send + 'static,
    S::Out: 'static,
{
    type Item = S::Out;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Out>> {
        let this = self.get_mut();
        if let Some(stages) = this.stages.take() {
            this.running = Some(Running::new(stages, this.ordered));
        }
        match &mut this.running {
            Some(running) => running.poll(this.source.as_mut(), context),
            None => Poll::Ready(None),
        }
    }
}

impl<St: Stream, S: Stages<St::Item>> fmt::Debug for AsyncStream<St, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStream")
            .field("ordered", &self.ordered)
            .finish_non_exhaustive()
    }
}

// The source is pinned in its box, and nothing else is.
impl<St: Stream, S: Stages<St::Item>> Unpin for AsyncStream<St, S> {}

impl<T, S: Stages<T>> Running<T, S> {
    fn new(stages: S, ordered: bool) -> Self {
        Running {
            flow: Flow::new(ordered, Costs::UNKNOWN),
            jobs: Arc::new(Jobs {
                stages,
                ended: AtomicBool::new(false),
                waker: Mutex::new(None),
            }),
        }
    }
}

impl<T, S> Running<T, S>
where
    T: Send + 'static,
    S: Stages<T> + Send + 'static,
    S::Out: 'static,
{
    fn poll(
        &mut self,
        mut source: Pin<&mut impl Stream<Item = T>>,
        context: &mut Context<'_>,
    ) -> Poll<Option<S::Out>> {
        if let Some(item) = self.flow.pop() {
            return Poll::Ready(Some(item));
        }
        // Before the groups are looked at, so that none which ends afterwards is missed.
        lock(&self.jobs.waker).replace(context.waker().clone());
        let mut pending = false;
        loop {
            if !pending && self.flow.has_room() {
                pending = self.read(source.as_mut(), context);
            }
            match self.flow.next() {
                Step::Ready => {
                    if let Some(item) = self.flow.pop() {
                        return Poll::Ready(Some(item));
                    }
                }
                Step::Read if !pending => {}
                Step::Read | Step::Wait => return Poll::Pending,
                Step::Over => return Poll::Ready(None),
            }
        }
    }

    /// Reads a group and hands it over. Whether the source has nothing more at the moment.
    fn read(
        &mut self,
        mut source: Pin<&mut impl Stream<Item = T>>,
        context: &mut Context<'_>,
    ) -> bool {
        let begun = Instant::now();
        let mut items = Vec::new();
        let mut pending = false;
        while items.is_empty() || items.len() < self.flow.size() && !is_long(begun) {
            match source.as_mut().poll_next(context) {
                Poll::Ready(Some(item)) => items.push(item),
                Poll::Ready(None) => {
                    self.flow.exhaust();
                    break;
                }
                Poll::Pending => {
                    pending = true;
                    break;
                }
            }
        }
        if !items.is_empty() {
            let group = self.flow.begin(items.len(), begun);
            let jobs = Arc::clone(&self.jobs);
            evener_pool::spawn(move || {
                group.run(items, &jobs.stages, &jobs.ended);
                if let Some(waker) = lock(&jobs.waker).take() {
                    waker.wake();
                }
            });
        }
        pending
    }
}

impl<T, S: Stages<T>> Drop for Running<T, S> {
    fn drop(&mut self) {
        self.jobs.ended.store(true, Ordering::Relaxed);
    }
}
