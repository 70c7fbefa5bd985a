//! Streams: any iterator, mapped by several threads, with results in order and in bounded memory.

mod asynchronous;
mod flow;
mod group;
mod recording;
mod results;
mod stages;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evener_pool::loops;

pub use asynchronous::{AsyncStream, stream};
use flow::{Costs, Flow, Step, help_or_wait};
pub use recording::Recording;
pub use results::Results;
pub use stages::{Ended, Same, Stages, Then};

/// A stream begins on one thread. After this long it is known what its parts take.
const SERIAL: Duration = Duration::from_micros(100);
/// Streams of any iterator.
pub trait Even: Iterator + Sized {
    /// A stream of the items.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut sum = 0;
    /// (1..=1000_u64).even().map(|x| x * x).for_each(|square| sum += square);
    /// assert_eq!(sum, 333_833_500);
    /// ```
    fn even(self) -> Stream<Self, Same> {
        Stream {
            source: self,
            stages: Same,
            ordered: true,
        }
    }
}

impl<I: Iterator> Even for I {}

/// An iterator whose items go through stages on several threads. The iterator and the closure at the end run on the thread
/// that calls [`for_each`](Stream::for_each); they need not be `Send`, and may block. While the iterator blocks, no result is
/// delivered, so it must not wait for the results of items that it has just given. Items are handed over in groups, of a
/// size that is measured; a bounded number of groups is on its way, so a slow end stops the source.
#[derive(Debug)]
#[must_use = "a stream does nothing until it is ended, by `for_each` or `collect`"]
pub struct Stream<I, S> {
    source: I,
    stages: S,
    ordered: bool,
}

impl<I, S> Stream<I, S>
where
    I: Iterator,
    I::Item: Send,
    S: Stages<I::Item>,
{
    /// A stage: `map` is called with each item, on any thread.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let lines = ["1 2", "3"].into_iter();
    /// let numbers: Vec<Vec<u8>> = lines
    ///     .even()
    ///     .map(|line| line.split(' '))
    ///     .map(|words| words.map(|word| word.parse().unwrap()).collect())
    ///     .collect();
    /// assert_eq!(numbers, [vec![1, 2], vec![3]]);
    /// ```
    pub fn map<R: Send, F: Fn(S::Out) -> R + Sync>(self, map: F) -> Stream<I, Then<S, F>> {
        Stream {
            source: self.source,
            stages: Then(self.stages, map),
            ordered: self.ordered,
        }
    }

    /// Results come as they are ready, in any order.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let mut seen = Vec::new();
    /// (0..100).even().map(|x| x + 1).unordered().for_each(|x| seen.push(x));
    /// seen.sort();
    /// assert!(seen.into_iter().eq(1..=100));
    /// ```
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Runs the stream and calls `end` with each result, on this thread. If `end` returns an error, the stream ends, and this
    /// returns it. A panic in a stage ends the stream and goes on here; the results of the items before are delivered first,
    /// in an ordered stream.
    ///
    /// ```
    /// use evener::prelude::*;
    /// use std::io::Write;
    ///
    /// let mut out = Vec::new();
    /// (0..3).even().map(|i| format!("{i}\n")).for_each(|line| out.write_all(line.as_bytes()))?;
    /// assert_eq!(out, b"0\n1\n2\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn for_each<R: Ended>(mut self, mut end: impl FnMut(S::Out) -> R) -> R {
        match serially(&mut self.source, &self.stages, &mut end) {
            Begun::Ended(result) => result,
            Begun::Costs(costs) if evener_pool::current_num_threads() > 1 => {
                let Stream {
                    source,
                    stages,
                    ordered,
                } = self;
                shared(source, &stages, ordered, costs, end)
            }
            Begun::Costs(_) => {
                for item in self.source {
                    let result = end(self.stages.run(item));
                    if result.ends() {
                        return result;
                    }
                }
                R::goes_on()
            }
        }
    }

    /// All results in a collection.
    ///
    /// ```
    /// use evener::prelude::*;
    ///
    /// let doubled: Vec<u32> = (0..4).even().map(|x| 2 * x).collect();
    /// assert_eq!(doubled, [0, 2, 4, 6]);
    /// ```
    pub fn collect<C: Default + Extend<S::Out>>(self) -> C {
        let mut all = C::default();
        self.for_each(|item| all.extend(Some(item)));
        all
    }
}

enum Begun<R> {
    Ended(R),
    Costs(Costs),
}

/// The beginning of a stream, on one thread.
fn serially<I, S, R>(source: &mut I, stages: &S, end: &mut impl FnMut(S::Out) -> R) -> Begun<R>
where
    I: Iterator,
    S: Stages<I::Item>,
    R: Ended,
{
    let started = Instant::now();
    let mut items = 0.0;
    let mut costs = Costs {
        source: 0.0,
        stages: 0.0,
    };
    let mut before = started;
    for item in source.by_ref() {
        let read = Instant::now();
        let result = stages.run(item);
        let ran = Instant::now();
        items += 1.0;
        costs.source += (read - before).as_nanos() as f64;
        costs.stages += (ran - read).as_nanos() as f64;
        let result = end(result);
        if result.ends() {
            return Begun::Ended(result);
        }
        before = Instant::now();
        if before - started >= SERIAL {
            return Begun::Costs(Costs {
                source: costs.source / items,
                stages: costs.stages / items,
            });
        }
    }
    Begun::Ended(R::goes_on())
}

/// The rest of a stream, on all threads. This one reads, delivers, and computes when it would have to wait.
fn shared<I, S, R>(
    mut source: I,
    stages: &S,
    ordered: bool,
    costs: Costs,
    mut end: impl FnMut(S::Out) -> R,
) -> R
where
    I: Iterator,
    I::Item: Send,
    S: Stages<I::Item>,
    R: Ended,
{
    let ended = AtomicBool::new(false);
    let caller = thread::current();
    loops::here(|| {
        evener_pool::in_place_scope(|scope| {
            let ended = &ended;
            let _end = EndOnDrop(ended);
            let mut flow = Flow::new(ordered, costs);
            loop {
                let step = flow.read(&mut source, |group, items, here| match here {
                    true => group.run(items, stages, ended),
                    false => {
                        let caller = caller.clone();
                        scope.spawn(move |_| {
                            group.run(items, stages, ended);
                            caller.unpark();
                        });
                    }
                });
                match step {
                    Step::Ready | Step::Read => {}
                    Step::Wait => help_or_wait(),
                    Step::Over => return R::goes_on(),
                }
                while let Some(item) = flow.pop() {
                    let result = end(item);
                    if result.ends() {
                        return result;
                    }
                }
            }
        })
    })
}

/// The stream ends when its body does, by a panic as well; groups that are left are not computed.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
