//! A bounded hand-over of recycled units between one producer and the compute side, or back.
//!
//! A fixed set of buffers goes round: the producer takes an empty one, fills it and puts it; the consumer takes it,
//! uses it and gives it back. Nothing is allocated after the start, whoever waits is parked, and a waker that nobody
//! waits for costs no system call (the counts of waiters are kept under the lock).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// A filled buffer and the number of its unit, counted from 0 in the order of the producer.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) value: T,
}

/// Room for so many buffers is there from the start; for more it is made when they are.
const ROOM_AT_ONCE: usize = 256;

/// Whoever waits so long for a unit says so.
const LONG: Duration = Duration::from_secs(1);

/// What the consumer finds.
pub(super) enum Taken<T, E> {
    /// The next unit.
    Unit(Numbered<T>),
    /// The producer said that nothing more comes, and why. Told once; afterwards [`Taken::Stopped`].
    End(E),
    /// Somebody stopped the consumer.
    Stopped,
}

/// What a producer finds that wants an empty buffer.
pub(super) struct Wanted<T> {
    /// The buffer; `None` once producers are stopped.
    pub(super) buffer: Option<T>,
    /// How long it was waited for while the consumer had nothing to do, so that producers waited for one another.
    pub(super) stalled: Duration,
}

/// See the module.
pub(super) struct Exchange<T, E> {
    state: Mutex<State<T, E>>,
    /// The producer waits here for an empty buffer.
    emptied: Condvar,
    /// The consumer waits here for a filled one.
    filled: Condvar,
    /// Nanoseconds that producers slept because the consumer was behind, all together, and consumers.
    producers_slept: AtomicU64,
    consumers_slept: AtomicU64,
}

struct State<T, E> {
    empty: VecDeque<T>,
    full: VecDeque<Numbered<T>>,
    buffers: usize,
    end: Option<E>,
    producers_stopped: bool,
    consumer_stopped: bool,
    producers_waiting: usize,
    consumers_waiting: usize,
    /// The consumer has got a unit and not come back for the next.
    consuming: bool,
    /// How long producers waited while the consumer was behind, up to `marked`: whenever any of them did.
    behind: Duration,
    marked: Instant,
    /// The producer has got a buffer and neither put it nor ended.
    busy: bool,
    dropped: u64,
}

impl<T, E> State<T, E> {
    /// Before it changes whether the consumer is behind, or how many producers wait. The time of it.
    fn mark(&mut self) -> Instant {
        let now = Instant::now();
        if self.producers_waiting > 0 && (self.consuming || !self.full.is_empty()) {
            self.behind += now - self.marked;
        }
        self.marked = now;
        now
    }

    /// As [`State::mark`], where that matters.
    fn mark_for_producers(&mut self) {
        if self.producers_waiting > 0 {
            self.mark();
        }
    }
}

impl<T, E> Exchange<T, E> {
    /// An exchange without buffers that has room for `limit` of them.
    pub(super) fn new(limit: usize) -> Self {
        Exchange {
            state: Mutex::new(State {
                empty: VecDeque::with_capacity(limit.min(ROOM_AT_ONCE)),
                full: VecDeque::with_capacity(limit.min(ROOM_AT_ONCE)),
                buffers: 0,
                end: None,
                producers_stopped: false,
                consumer_stopped: false,
                producers_waiting: 0,
                consumers_waiting: 0,
                consuming: false,
                behind: Duration::ZERO,
                marked: Instant::now(),
                busy: false,
                dropped: 0,
            }),
            emptied: Condvar::new(),
            filled: Condvar::new(),
            producers_slept: AtomicU64::new(0),
            consumers_slept: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        lock(&self.state)
    }

    /// Buffers that go round.
    pub(super) fn buffers(&self) -> usize {
        self.lock().buffers
    }

    /// Adds a buffer.
    pub(super) fn add(&self, value: T) {
        self.lock().buffers += 1;
        self.give_back(value);
    }

    /// An empty buffer, waiting for one; `None` once producers are stopped.
    pub(super) fn empty(&self) -> Option<T> {
        self.wanted().buffer
    }

    /// An empty buffer, waiting for one, and for whom.
    pub(super) fn wanted(&self) -> Wanted<T> {
        let mut stalled = Duration::ZERO;
        let mut state = self.lock();
        loop {
            if state.producers_stopped {
                return Wanted {
                    buffer: None,
                    stalled,
                };
            }
            if let Some(value) = state.empty.pop_front() {
                state.busy = true;
                // A wake-up that stood for several buffers is passed on.
                if state.producers_waiting > 0 && !state.empty.is_empty() {
                    self.emptied.notify_one();
                }
                return Wanted {
                    buffer: Some(value),
                    stalled,
                };
            }
            // A consumer that was left asleep until several buffers are full must not sleep while producers do.
            if state.consumers_waiting > 0 && !state.full.is_empty() {
                self.filled.notify_one();
            }
            let (begin, before) = (state.mark(), state.behind);
            state.producers_waiting += 1;
            state = self
                .emptied
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            let end = state.mark();
            state.producers_waiting -= 1;
            let behind = state.behind - before;
            stalled += (end - begin).saturating_sub(behind);
            add(&self.producers_slept, behind);
        }
    }

    /// Hands a filled buffer to the consumer and gets an empty one for it; if there is none, the oldest unit that was
    /// not yet taken is lost and counted. Does not wait while there are buffers for two more than the consumer
    /// holds. `None` once producers are stopped.
    pub(super) fn swap(&self, unit: Numbered<T>) -> Option<T> {
        let mut state = self.lock();
        let free = match state.empty.pop_front() {
            None => {
                let oldest = state.full.pop_front().map(|oldest| oldest.value);
                state.dropped += u64::from(oldest.is_some());
                oldest
            }
            empty => empty,
        };
        state.full.push_back(unit);
        let stopped = state.producers_stopped;
        let wake = state.consumers_waiting > 0;
        state.busy = free.is_some() && !stopped;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        if stopped {
            None
        } else {
            free.or_else(|| self.empty())
        }
    }

    /// Hands a filled buffer to the consumer. Never waits. Unless there is no `hurry`, a consumer that sleeps is woken
    /// at once; else when half of all buffers are full, or by [`Exchange::flush`].
    pub(super) fn put(&self, unit: Numbered<T>, hurry: bool) {
        let mut state = self.lock();
        state.mark_for_producers();
        state.full.push_back(unit);
        state.busy = false;
        let wake = state.consumers_waiting > 0 && (hurry || state.full.len() >= state.buffers / 2);
        drop(state);
        if wake {
            self.filled.notify_one();
        }
    }

    /// Wakes a consumer that sleeps though there is something for it.
    pub(super) fn flush(&self) {
        let state = self.lock();
        if state.consumers_waiting > 0 && !state.full.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Nothing more comes, and why. Units that were put before are still taken first.
    pub(super) fn end(&self, why: E) {
        let mut state = self.lock();
        state.end = Some(why);
        state.busy = false;
        drop(state);
        self.filled.notify_all();
    }

    /// The next unit in order, waiting for it; `before_waiting` is called first.
    pub(super) fn take(&self, before_waiting: impl Fn()) -> Taken<T, E> {
        self.take_or_tell(before_waiting, || ())
    }

    /// As [`Exchange::take`]; `waiting` is called each second that it takes.
    pub(super) fn take_or_tell(
        &self,
        before_waiting: impl Fn(),
        mut waiting: impl FnMut(),
    ) -> Taken<T, E> {
        let mut state = self.lock();
        state.mark_for_producers();
        state.consuming = false;
        loop {
            if state.consumer_stopped {
                return Taken::Stopped;
            }
            if let Some(unit) = state.full.pop_front() {
                state.consuming = true;
                return Taken::Unit(unit);
            }
            if let Some(why) = state.end.take() {
                state.consumer_stopped = true;
                return Taken::End(why);
            }
            // A producer that was left asleep until several buffers are empty must not sleep while the consumer does.
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
            if timeout.timed_out() && state.full.is_empty() && state.end.is_none() {
                drop(state);
                waiting();
                state = self.lock();
            }
        }
    }

    /// Waits until [`Exchange::take`] would not, or until then. Whether it would not; `before_waiting` is called first.
    pub(super) fn is_filled_by(&self, until: Instant, before_waiting: impl Fn()) -> bool {
        let mut state = self.lock();
        loop {
            if state.consumer_stopped || !state.full.is_empty() || state.end.is_some() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            // As in `take`.
            if state.producers_waiting > 0 && !state.empty.is_empty() {
                self.emptied.notify_one();
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

    /// Returns a buffer for reuse. A waiting producer is woken when half of all buffers are empty, so that a fast
    /// consumer does not pay a wake-up for every unit.
    pub(super) fn give_back(&self, value: T) {
        let mut state = self.lock();
        // The buffer used last is the one whose memory is still in a cache.
        state.empty.push_front(value);
        let wake = state.producers_waiting > 0
            && (state.empty.len() >= state.buffers / 2 || state.full.is_empty());
        drop(state);
        if wake {
            self.emptied.notify_one();
        }
    }

    /// From now on no buffer is handed to a producer; those that wait return. What was put can still be taken.
    pub(super) fn stop_producers(&self) {
        self.lock().producers_stopped = true;
        self.emptied.notify_all();
    }

    /// From now on the consumer gets [`Taken::Stopped`], also if it waits at this moment.
    pub(super) fn stop_consumer(&self) {
        self.lock().consumer_stopped = true;
        self.filled.notify_all();
    }

    /// Whether a producer (the last one, where there are several) holds a buffer and may be in a call that blocks
    /// for ever; if not, and producers are stopped, it will never be.
    pub(super) fn is_busy(&self) -> bool {
        self.lock().busy
    }

    /// How long producers have slept for want of an empty buffer while the consumer was behind, all together.
    pub(super) fn producers_slept(&self) -> Duration {
        Duration::from_nanos(self.producers_slept.load(Ordering::Relaxed))
    }

    /// How long consumers have slept for want of a filled one, all together.
    pub(super) fn consumers_slept(&self) -> Duration {
        Duration::from_nanos(self.consumers_slept.load(Ordering::Relaxed))
    }

    /// Units that were lost to [`Exchange::swap`].
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn exchange(buffers: u32) -> Exchange<u32, &'static str> {
        let exchange = Exchange::new(buffers as usize);
        (0..buffers).for_each(|b| exchange.add(b));
        exchange
    }

    fn unit(number: u64, value: u32) -> Numbered<u32> {
        Numbered { number, value }
    }

    #[test]
    fn there_may_be_room_for_any_number() {
        let exchange: Exchange<u32, ()> = Exchange::new(usize::MAX);
        exchange.add(7);
        assert_eq!(exchange.empty(), Some(7));
    }

    #[test]
    fn units_pass_in_order_and_then_the_end() {
        for (buffers, hurry) in [(1, true), (2, true), (1, false), (3, false), (8, false)] {
            let exchange = exchange(buffers);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for number in 0..2000 {
                        let value = exchange.empty().unwrap();
                        exchange.put(unit(number, value), hurry);
                    }
                    exchange.end("over");
                });
                for number in 0..2000 {
                    let Taken::Unit(unit) = exchange.take(|| ()) else {
                        panic!("ended early")
                    };
                    assert_eq!(unit.number, number);
                    exchange.give_back(unit.value);
                }
                assert!(matches!(exchange.take(|| ()), Taken::End("over")));
                assert!(matches!(exchange.take(|| ()), Taken::Stopped));
            });
            assert_eq!(
                (exchange.buffers(), exchange.dropped()),
                (buffers as usize, 0)
            );
        }
    }

    #[test]
    fn swapping_loses_the_oldest_and_never_the_newest() {
        let exchange = exchange(3);
        let mut value = exchange.empty().unwrap();
        for number in 0..10 {
            value = exchange.swap(unit(number, value)).unwrap();
        }
        assert_eq!(exchange.dropped(), 8);
        exchange.end("over");
        let left = || match exchange.take(|| ()) {
            Taken::Unit(unit) => Some(unit.number),
            _ => None,
        };
        assert_eq!([left(), left(), left()], [Some(8), Some(9), None]);
    }

    #[test]
    fn stopping_wakes_those_who_wait() {
        let exchange = exchange(0);
        thread::scope(|scope| {
            let producers: Vec<_> = (0..3).map(|_| scope.spawn(|| exchange.empty())).collect();
            let consumer = scope.spawn(|| matches!(exchange.take(|| ()), Taken::Stopped));
            thread::sleep(std::time::Duration::from_millis(20));
            exchange.stop_producers();
            exchange.stop_consumer();
            assert!(producers.into_iter().all(|p| p.join().unwrap().is_none()));
            assert!(consumer.join().unwrap());
        });
    }

    #[test]
    fn whoever_waits_is_told_before() {
        let exchange = exchange(1);
        let told = AtomicBool::new(false);
        thread::scope(|scope| {
            let consumer = scope.spawn(|| exchange.take(|| told.store(true, Ordering::Relaxed)));
            while !told.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            // Nobody hurries, and one buffer of one is half of them.
            let value = exchange.empty().unwrap();
            assert!(exchange.is_busy());
            exchange.put(unit(0, value), false);
            assert!(!exchange.is_busy());
            assert!(matches!(consumer.join().unwrap(), Taken::Unit(_)));
        });
    }

    /// What a producer waits for that finds no buffer, and what it is told, where the consumer sits on a unit or has
    /// none.
    #[test]
    fn waiting_is_the_consumers_fault_only_while_it_is_behind() {
        const LONG: Duration = Duration::from_millis(40);
        for behind in [true, false] {
            let exchange = exchange(2);
            let mut other = exchange.empty().unwrap();
            if behind {
                let value = exchange.empty().unwrap();
                exchange.put(unit(0, value), true);
            } else {
                // As by another producer, that is slow.
                other = exchange.empty().unwrap();
            }
            let (told, slept) = thread::scope(|scope| {
                let waiting = scope.spawn(|| exchange.wanted().stalled);
                let taken = behind.then(|| exchange.take(|| ()));
                thread::sleep(LONG);
                match taken {
                    Some(Taken::Unit(unit)) => exchange.give_back(unit.value),
                    Some(_) => panic!("ended"),
                    None => exchange.give_back(other),
                }
                (waiting.join().unwrap(), exchange.producers_slept())
            });
            let (most, least) = if behind { (slept, told) } else { (told, slept) };
            assert!(most > LONG / 2 && least < LONG / 2, "{told:?} {slept:?}");
        }
    }

    #[test]
    fn many_producers_are_all_served() {
        let exchange = exchange(5);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..500 {
                        let Some(value) = exchange.empty() else {
                            panic!("stopped")
                        };
                        exchange.put(unit(number, value), number % 3 == 0);
                    }
                    // The last units are in no hurry, and nothing that comes after them would tell of them.
                    exchange.flush();
                });
            }
            for _ in 0..2000 {
                let Taken::Unit(unit) = exchange.take(|| ()) else {
                    panic!("ended")
                };
                exchange.give_back(unit.value);
            }
        });
    }
}
