//! The results of a stream as an iterator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::Stream;
use super::flow::{Costs, Flow, Step, help_or_wait};
use super::stages::Stages;

/// The results of a stream; see [`Stream::into_iter`]. When it is dropped, what was not begun is not computed.
#[derive(Debug)]
pub struct Results<I: Iterator, S: Stages<I::Item>> {
    source: I,
    stages: Arc<S>,
    flow: Flow<S::Out>,
    ended: Arc<AtomicBool>,
}

impl<I, S> IntoIterator for Stream<I, S>
where
    I: Iterator,
    I::Item: Send + 'static,
    S: Stages<I::Item> + Send + 'static,
    S::Out: 'static,
{
    type Item = S::Out;
    type IntoIter = Results<I, S>;

    /// The results as an iterator. The source is read when the iterator is asked, as far ahead as memory is bounded; the
    /// stages run on other threads meanwhile. They and the items own what they use. A panic in a stage goes on in `next`,
    /// after the results before.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut squares = (0..1_000_u64).even().map(|x| x * x).into_iter();
    /// assert_eq!(squares.next(), Some(0));
    /// assert_eq!(squares.last(), Some(998_001));
    /// ```
    fn into_iter(self) -> Results<I, S> {
        Results {
            source: self.source,
            stages: Arc::new(self.stages),
            flow: Flow::new(self.ordered, Costs::UNKNOWN),
            ended: Arc::default(),
        }
    }
}

impl<I, S> Iterator for Results<I, S>
where
    I: Iterator,
    I::Item: Send + 'static,
    S: Stages<I::Item> + Send + 'static,
    S::Out: 'static,
{
    type Item = S::Out;

    fn next(&mut self) -> Option<S::Out> {
        loop {
            if let Some(item) = self.flow.pop() {
                return Some(item);
            }
            let (stages, ended) = (&self.stages, &self.ended);
            let step = self.flow.read(&mut self.source, |group, items, here| {
                if here {
                    return group.run(items, &**stages, ended);
                }
                let (stages, ended) = (Arc::clone(stages), Arc::clone(ended));
                let caller = thread::current();
                evener_pool::spawn(move || {
                    group.run(items, &*stages, &ended);
                    caller.unpark();
                });
            });
            match step {
                Step::Ready | Step::Read => {}
                Step::Wait => help_or_wait(),
                Step::Over => return None,
            }
        }
    }
}

impl<I: Iterator, S: Stages<I::Item>> Drop for Results<I, S> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
