//! The groups of one stream that are on their way: when to read more, how much, and which results come next.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::vec;

use evener_pool::loops;

use super::group::Group;

/// Items are handed over in groups that take about this long.
const GROUP: Duration = Duration::from_micros(100);
/// Most items of a group.
const MOST: usize = 4096;
/// A source that takes longer than this for an item, and four times as long as the stages, is waited for only when all
/// results so far were delivered.
const SLOW: Duration = Duration::from_micros(50);
/// How much the latest group counts.
const WEIGHT: f64 = 0.25;

/// Nanoseconds of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) source: f64,
    pub(super) stages: f64,
}

impl Costs {
    /// Nothing is known, so groups begin with one item.
    pub(super) const UNKNOWN: Costs = Costs {
        source: 0.0,
        stages: GROUP.as_nanos() as f64,
    };

    /// Whether the source takes so long that the caller may as well compute.
    pub(super) fn source_is_slow(self) -> bool {
        self.source >= SLOW.as_nanos() as f64 && self.source > 4.0 * self.stages
    }

    /// Items of the next group, unless the source takes longer than [`is_long`] allows.
    pub(super) fn size(self) -> usize {
        ((GROUP.as_nanos() as f64 / self.stages.max(1.0)) as usize).clamp(1, MOST)
    }

    /// Reads a group.
    pub(super) fn read<I: Iterator>(self, source: &mut I, begun: Instant) -> Vec<I::Item> {
        let mut items = Vec::new();
        let slow = self.source_is_slow();
        for item in source.take(if slow { 1 } else { self.size() }) {
            items.push(item);
            if is_long(begun) {
                break;
            }
        }
        items
    }
}

/// Most groups on their way.
pub(super) fn most_groups(threads: usize) -> usize {
    2 * threads + 2
}

/// Whether a group that was begun at that time is to be handed over.
pub(super) fn is_long(begun: Instant) -> bool {
    begun.elapsed() >= GROUP
}

#[derive(Debug)]
pub(super) struct Flow<Out> {
    groups: VecDeque<Arc<Group<Out>>>,
    most: usize,
    ordered: bool,
    costs: Costs,
    /// The source has ended.
    exhausted: bool,
    /// Results that come next, and the panic behind them.
    ready: vec::IntoIter<Out>,
    panic: Option<Box<dyn Any + Send>>,
}

/// What is next.
pub(super) enum Step {
    /// Results of a group came in; see [`Flow::pop`].
    Ready,
    /// More is to be read.
    Read,
    /// A group is to be waited for.
    Wait,
    /// All was delivered.
    Over,
}

impl<Out> Flow<Out> {
    pub(super) fn new(ordered: bool, costs: Costs) -> Flow<Out> {
        Flow {
            groups: VecDeque::new(),
            most: most_groups(evener_pool::current_num_threads()),
            ordered,
            costs,
            exhausted: false,
            ready: Vec::new().into_iter(),
            panic: None,
        }
    }

    /// The next result that came in. Goes on with the panic of its group after the last one; then the stream is over.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Out> {
        if let Some(item) = self.ready.next() {
            return Some(item);
        }
        if let Some(payload) = self.panic.take() {
            self.exhausted = true;
            self.groups.clear();
            resume_unwind(payload);
        }
        None
    }

    /// Whether another group may be read.
    pub(super) fn has_room(&self) -> bool {
        !self.exhausted && self.groups.len() < self.most
    }

    /// Items of the next group, as in [`Costs::size`].
    pub(super) fn size(&self) -> usize {
        self.costs.size()
    }

    /// So many items were read, since that time.
    pub(super) fn begin(&mut self, items: usize, begun: Instant) -> Arc<Group<Out>> {
        let took = begun.elapsed().as_nanos() as f64 / items as f64;
        self.costs.source += (took - self.costs.source) * WEIGHT;
        let group = Arc::new(Group::new());
        self.groups.push_back(Arc::clone(&group));
        group
    }

    /// The source has ended.
    pub(super) fn exhaust(&mut self) {
        self.exhausted = true;
    }

    /// What is next, if no more is read.
    pub(super) fn next(&mut self) -> Step {
        let ready = match self.ordered {
            true => self.groups.front().filter(|g| g.is_done()).map(|_| 0),
            false => self.groups.iter().position(|group| group.is_done()),
        };
        let done = ready.and_then(|at| self.groups.remove(at)?.take());
        match done {
            Some(done) => {
                self.costs.stages += (done.cost - self.costs.stages) * WEIGHT;
                self.ready = done.results.into_iter();
                self.panic = done.panic;
                Step::Ready
            }
            None if self.has_room() => Step::Read,
            None if self.groups.is_empty() => Step::Over,
            None => Step::Wait,
        }
    }

    /// Reads a group of `source`, if there is room, and begins it by `run`, on this thread if the flag is set. Returns what is
    /// next.
    pub(super) fn read<I: Iterator>(
        &mut self,
        source: &mut I,
        run: impl FnOnce(Arc<Group<Out>>, Vec<I::Item>, bool),
    ) -> Step {
        let slow = self.costs.source_is_slow();
        if self.has_room() && (!slow || self.groups.is_empty()) {
            let begun = Instant::now();
            let items = self.costs.read(source, begun);
            match items.len() {
                0 => self.exhaust(),
                len => run(self.begin(len, begun), items, slow),
            }
        }
        self.next()
    }
}

/// Computes the oldest group that no other thread has taken, or waits until one is done. With the latest instead, the others
/// would find nothing left where this thread began, until it is back.
pub(super) fn help_or_wait() {
    if !loops::run_oldest() {
        thread::park_timeout(Duration::from_millis(1));
    }
}
