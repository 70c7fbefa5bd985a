//! The stages of one pipeline: rings between them, and who works where.
//!
//! Each stage is one job of the batch, and its worker *tends* it until nothing more comes. A job must not depend on
//! another job's having begun: the pool may run all of them on one worker, one after the other. So a stage whose worker
//! has not come is worked by whoever is beside it, between units of its own. Nobody hangs, because
//!
//! - who makes a stage ready (by a unit into it, room behind it, or its end) rings its bell, and before it waits or leaves
//!   looks at every stage that nobody has come to;
//! - who waits has found its own stage stuck, and those nobody has come to;
//! - taking a unit at the first stage may block. Whoever does it beside a stage of its own does so only while the line is
//!   empty, so that nothing can come to that stage meanwhile.
//!
//! A stage is locked while somebody works at it. Only its own worker waits for the lock, and then for one unit at most.

use std::sync::TryLockError;

use crate::dispatch::Notify;
use crate::dispatch::spsc::{Receiver, Sender, ring};
use crate::dispatch::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// What is done to units on their way.
pub(super) trait Work<U> {
    /// The next unit; `None` when there are no more. May block.
    fn take(&self) -> Option<U>;

    /// Does what a stage does; `None` if the unit goes no further.
    fn stage(&self, place: usize, unit: U) -> Option<U>;

    /// Takes a unit that went through all stages.
    fn bring(&self, unit: U);
}

/// See the module.
pub(super) struct Line<U> {
    stages: Vec<Stage<U>>,
    /// Units that were taken and have neither been brought nor lost. Only who has the first stage's lock adds to it.
    inside: AtomicUsize,
}

struct Stage<U> {
    hands: Mutex<Hands<U>>,
    notify: Notify,
    /// Nothing more comes out of it.
    closed: AtomicBool,
    /// A helper found another one here.
    missed: AtomicBool,
}

/// What a stage takes from and gives to; `None` at the ends of the line.
struct Hands<U> {
    from: Option<Receiver<U>>,
    to: Option<Sender<U>>,
}

/// What came of looking at a stage.
#[derive(PartialEq)]
enum Moved {
    /// A unit went on, or the stage closed.
    Some,
    /// There is nothing to do, or no room for it, or another worker does it.
    Nothing,
    /// Nothing more will come.
    Over,
}

impl<U: Send> Line<U> {
    /// A line of so many stages with room for `room` units between one and the next.
    pub(super) fn new(stages: usize, room: usize) -> Line<U> {
        let mut from = None;
        let stage = |place| {
            let (to, next) = match place + 1 < stages {
                true => {
                    let (sender, receiver) = ring(room);
                    (Some(sender), Some(receiver))
                }
                false => (None, None),
            };
            let from = std::mem::replace(&mut from, next);
            Stage {
                hands: Mutex::new(Hands { from, to }),
                notify: Notify::new(),
                closed: AtomicBool::new(false),
                missed: AtomicBool::new(false),
            }
        };
        Line {
            stages: (0..stages).map(stage).collect(),
            inside: AtomicUsize::new(0),
        }
    }

    /// Works at a stage until nothing more comes to it. Once for each stage.
    pub(super) fn tend(&self, place: usize, work: &impl Work<U>) {
        let own = &self.stages[place];
        own.notify.register();
        loop {
            if (1..self.stages.len()).any(|other| self.help(other, work)) {
                continue;
            }
            match self.advance(place, lock(&own.hands), work, false) {
                Moved::Some => {}
                Moved::Over => return,
                Moved::Nothing if self.help(0, work) => {}
                Moved::Nothing => own.notify.wait(),
            }
        }
    }

    /// Works at a stage that nobody has come to. Whether to look again.
    fn help(&self, place: usize, work: &impl Work<U>) -> bool {
        let stage = &self.stages[place];
        if stage.notify.is_registered() {
            return false;
        }
        // Left before the lock is tried: whoever has the lock sees it after letting go.
        stage.missed.store(true, Ordering::SeqCst);
        let hands = match stage.hands.try_lock() {
            Ok(hands) => hands,
            Err(TryLockError::Poisoned(hands)) => hands.into_inner(),
            // Another helper, who will look again; or the stage's worker, whose bell was rung. Not to be waited for: at
            // the first stage it may block.
            Err(TryLockError::WouldBlock) => return false,
        };
        stage.missed.swap(false, Ordering::SeqCst);
        let moved = self.advance(place, hands, work, true) == Moved::Some;
        moved || stage.missed.load(Ordering::SeqCst)
    }

    fn advance(
        &self,
        place: usize,
        mut hands: MutexGuard<'_, Hands<U>>,
        work: &impl Work<U>,
        helping: bool,
    ) -> Moved {
        let stage = &self.stages[place];
        if stage.closed.load(Ordering::Relaxed) {
            return Moved::Over;
        }
        // Nobody else puts anything in, so room that there is stays.
        if hands.to.as_ref().is_some_and(Sender::is_full) {
            return Moved::Nothing;
        }
        let unit = match &mut hands.from {
            None if helping && self.inside.load(Ordering::Acquire) > 0 => return Moved::Nothing,
            None => {
                let unit = work.take();
                self.inside
                    .fetch_add(usize::from(unit.is_some()), Ordering::Relaxed);
                unit
            }
            Some(from) => {
                let before = &self.stages[place - 1];
                // In this order: what was put in before it closed is there.
                let closed = before.closed.load(Ordering::Acquire);
                match from.pop() {
                    None if !closed => return Moved::Nothing,
                    None => None,
                    unit => {
                        before.notify.notify();
                        unit
                    }
                }
            }
        };
        match unit {
            None => stage.closed.store(true, Ordering::Release),
            Some(unit) => {
                let Some(unit) = work.stage(place, unit) else {
                    self.inside.fetch_sub(1, Ordering::Release);
                    return Moved::Some;
                };
                let Some(to) = &mut hands.to else {
                    self.inside.fetch_sub(1, Ordering::Release);
                    work.bring(unit);
                    return Moved::Some;
                };
                // There is room, so nothing comes back.
                let _ = to.push(unit);
            }
        }
        if let Some(next) = self.stages.get(place + 1) {
            next.notify.notify();
        }
        Moved::Some
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Units are numbers; a stage adds its share, so that what comes out tells which stages it went through.
    struct Sum {
        units: u32,
        next: AtomicUsize,
        out: Mutex<Vec<u32>>,
    }

    impl Work<u32> for Sum {
        fn take(&self) -> Option<u32> {
            let number = self.next.load(Ordering::Relaxed) as u32;
            if number == self.units {
                return None;
            }
            self.next.store(number as usize + 1, Ordering::Relaxed);
            Some(number * 100)
        }

        fn stage(&self, place: usize, unit: u32) -> Option<u32> {
            Some(unit + 1 + place as u32 * 10)
        }

        fn bring(&self, unit: u32) {
            lock(&self.out).push(unit);
        }
    }

    /// Two workers tend two stages, in either order, or one of them both.
    fn tended(places: [&'static [usize]; 2], units: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.max_branches = 20_000;
        builder.check(move || {
            let line = Arc::new(Line::new(2, 1));
            let work = Arc::new(Sum {
                units,
                next: AtomicUsize::new(0),
                out: Mutex::new(Vec::new()),
            });
            let other = thread::spawn({
                let (line, work) = (Arc::clone(&line), Arc::clone(&work));
                move || places[1].iter().for_each(|&place| line.tend(place, &*work))
            });
            places[0].iter().for_each(|&place| line.tend(place, &*work));
            other.join().unwrap();
            let expected: Vec<u32> = (0..units).map(|unit| unit * 100 + 12).collect();
            assert_eq!(*lock(&work.out), expected);
        });
    }

    #[test]
    fn a_stage_each() {
        tended([&[0], &[1]], 2);
    }

    #[test]
    fn the_other_way_round() {
        tended([&[1], &[0]], 2);
    }

    #[test]
    fn both_on_one_worker() {
        tended([&[0, 1], &[]], 2);
        tended([&[1, 0], &[]], 2);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    /// A unit's number and the stages it went through.
    type Unit = (u32, Vec<usize>);

    struct Count {
        units: u32,
        next: AtomicU32,
        /// Units that are in the line now, and the most that may be.
        inside: AtomicU32,
        most: u32,
        lost: Option<u32>,
        out: Mutex<Vec<Unit>>,
    }

    impl Count {
        fn new(units: u32, most: u32) -> Count {
            Count {
                units,
                next: AtomicU32::new(0),
                inside: AtomicU32::new(0),
                most,
                lost: None,
                out: Mutex::new(Vec::new()),
            }
        }
    }

    impl Work<Unit> for Count {
        fn take(&self) -> Option<Unit> {
            // As a stream does that has so many buffers: who takes a unit waits for others to leave.
            while self.inside.load(Ordering::Acquire) == self.most {
                std::thread::yield_now();
            }
            let number = self.next.load(Ordering::Relaxed);
            if number == self.units {
                return None;
            }
            self.next.store(number + 1, Ordering::Relaxed);
            self.inside.fetch_add(1, Ordering::AcqRel);
            Some((number, Vec::new()))
        }

        fn stage(&self, place: usize, (number, mut places): Unit) -> Option<Unit> {
            places.push(place);
            if (number + place as u32).is_multiple_of(37) {
                std::thread::sleep(Duration::from_micros(50));
            }
            if self.lost == Some(number) && place == 1 {
                self.inside.fetch_sub(1, Ordering::AcqRel);
                return None;
            }
            Some((number, places))
        }

        fn bring(&self, unit: Unit) {
            self.inside.fetch_sub(1, Ordering::AcqRel);
            lock(&self.out).push(unit);
        }
    }

    fn check(work: &Count, stages: usize) {
        let out = lock(&work.out);
        let places: Vec<usize> = (0..stages).collect();
        let numbers = (0..work.units).filter(|&number| work.lost != Some(number));
        assert!(out.iter().all(|unit| unit.1 == places));
        assert!(out.iter().map(|unit| unit.0).eq(numbers), "{out:?}");
    }

    /// Some threads tend stages one after the other, in every order that a pool could think of.
    #[test]
    fn any_number_of_workers_brings_all_units_in_order() {
        for stages in 1..5usize {
            for order in [false, true] {
                for workers in 1..=stages {
                    for most in [1, 2, 100] {
                        let line = Line::new(stages, 2);
                        let mut work = Count::new(200, most);
                        work.lost = (stages > 1).then_some(17);
                        let mut places: Vec<usize> = (0..stages).collect();
                        if order {
                            places.reverse();
                        }
                        std::thread::scope(|scope| {
                            for worker in 0..workers {
                                let (line, work, places) = (&line, &work, &places);
                                scope.spawn(move || {
                                    for &place in places.iter().skip(worker).step_by(workers) {
                                        line.tend(place, work);
                                    }
                                });
                            }
                        });
                        check(&work, stages);
                    }
                }
            }
        }
    }

    #[test]
    fn a_worker_that_comes_late_finds_its_stage() {
        for late in 0..3 {
            let line = Line::new(3, 2);
            let work = Count::new(3000, 100);
            std::thread::scope(|scope| {
                for place in 0..3 {
                    let (line, work) = (&line, &work);
                    scope.spawn(move || {
                        if place == late {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        line.tend(place, work);
                    });
                }
            });
            check(&work, 3);
        }
    }
}
