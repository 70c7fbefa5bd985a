//! The stages of one pipeline: the rings between them, and which worker works at which stage.
//!
//! Each stage is one job of a batch. Its worker works at it until no more units come. A job must not depend on another
//! job's having begun, because the pool may run all of them on one worker, one after the other. So workers *help*:
//! between units of its own a worker works at stages whose worker has not come. No worker waits for ever, because
//!
//! - a worker that makes a stage ready (by a unit into it, by room behind it, or by its end) notifies that stage, and
//!   before it waits or leaves it looks at every stage without a worker;
//! - a worker that waits has found nothing to do at its own stage, nor at those without a worker;
//! - to take a unit at the first stage may block. A worker does so as a helper only while the chain is empty, so that
//!   nothing can come to its own stage meanwhile.
//!
//! A stage is locked while a worker works at it. Only its own worker waits for the lock, and then for one unit at most.

use std::sync::TryLockError;

use crate::dispatch::Notify;
use crate::dispatch::spsc::{Receiver, Sender, ring};
use crate::dispatch::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// What is done with units.
pub(super) trait StageWork<U> {
    /// The next unit; `None` when there are no more. May block.
    fn next(&self) -> Option<U>;

    /// Runs a stage on a unit; `None` if the unit goes no further.
    fn run(&self, stage: usize, unit: U) -> Option<U>;

    /// Takes a unit that went through all stages.
    fn finish(&self, unit: U);
}

/// The stages of one pipeline.
pub(super) struct StageChain<U> {
    stages: Vec<Stage<U>>,
    /// Units that were taken and are neither finished nor lost. Only the holder of the first stage's lock adds to it.
    inside: AtomicUsize,
}

struct Stage<U> {
    ends: Mutex<StageEnds<U>>,
    notify: Notify,
    /// No more units come out of it.
    closed: AtomicBool,
    /// A helper found the stage locked by another one.
    missed: AtomicBool,
}

/// The rings before and after a stage; `None` at the ends of the chain.
struct StageEnds<U> {
    from: Option<Receiver<U>>,
    to: Option<Sender<U>>,
}

/// What a step at a stage did.
#[derive(PartialEq)]
enum Progress {
    /// A unit went on, or the stage closed.
    Made,
    /// There is nothing to do, or no room for it.
    None,
    /// No more units will come.
    Ended,
}

impl<U: Send> StageChain<U> {
    /// A chain of so many stages with room for `room` units between one and the next.
    pub(super) fn new(stages: usize, room: usize) -> StageChain<U> {
        let mut from = None;
        let stage = |index| {
            let (to, next) = match index + 1 < stages {
                true => {
                    let (sender, receiver) = ring(room);
                    (Some(sender), Some(receiver))
                }
                false => (None, None),
            };
            let from = std::mem::replace(&mut from, next);
            Stage {
                ends: Mutex::new(StageEnds { from, to }),
                notify: Notify::new(),
                closed: AtomicBool::new(false),
                missed: AtomicBool::new(false),
            }
        };
        StageChain {
            stages: (0..stages).map(stage).collect(),
            inside: AtomicUsize::new(0),
        }
    }

    /// Works at a stage until no more units come to it. Once for each stage.
    pub(super) fn run_stage(&self, index: usize, work: &impl StageWork<U>) {
        let own = &self.stages[index];
        own.notify.register();
        loop {
            if (1..self.stages.len()).any(|other| self.help(other, work)) {
                continue;
            }
            match self.advance(index, lock(&own.ends), work, false) {
                Progress::Made => {}
                Progress::Ended => return,
                Progress::None if self.help(0, work) => {}
                Progress::None => own.notify.wait(),
            }
        }
    }

    /// Works at a stage whose worker has not come. Whether to look again.
    fn help(&self, index: usize, work: &impl StageWork<U>) -> bool {
        let stage = &self.stages[index];
        if stage.notify.is_registered() {
            return false;
        }
        // Set before the lock is tried: a helper that holds the lock sees it after unlocking.
        stage.missed.store(true, Ordering::SeqCst);
        let ends = match stage.ends.try_lock() {
            Ok(ends) => ends,
            Err(TryLockError::Poisoned(ends)) => ends.into_inner(),
            // The holder is another helper, which will look again, or the stage's worker, which was notified. It must
            // not be waited for: at the first stage it may block.
            Err(TryLockError::WouldBlock) => return false,
        };
        stage.missed.swap(false, Ordering::SeqCst);
        let progress = self.advance(index, ends, work, true) == Progress::Made;
        progress || stage.missed.load(Ordering::SeqCst)
    }

    /// Moves one unit through a stage, if it can.
    fn advance(
        &self,
        index: usize,
        mut ends: MutexGuard<'_, StageEnds<U>>,
        work: &impl StageWork<U>,
        helping: bool,
    ) -> Progress {
        let stage = &self.stages[index];
        if stage.closed.load(Ordering::Relaxed) {
            return Progress::Ended;
        }
        // No other thread sends into this ring, so room that there is stays.
        if ends.to.as_ref().is_some_and(Sender::is_full) {
            return Progress::None;
        }
        let unit = match &mut ends.from {
            None if helping && self.inside.load(Ordering::Acquire) > 0 => return Progress::None,
            None => {
                let unit = work.next();
                self.inside
                    .fetch_add(usize::from(unit.is_some()), Ordering::Relaxed);
                unit
            }
            Some(from) => {
                let before = &self.stages[index - 1];
                // In this order: what was put in before it closed is there.
                let closed = before.closed.load(Ordering::Acquire);
                match from.pop() {
                    None if !closed => return Progress::None,
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
                let Some(unit) = work.run(index, unit) else {
                    self.inside.fetch_sub(1, Ordering::Release);
                    return Progress::Made;
                };
                let Some(to) = &mut ends.to else {
                    self.inside.fetch_sub(1, Ordering::Release);
                    work.finish(unit);
                    return Progress::Made;
                };
                // There is room, so nothing comes back.
                let _ = to.push(unit);
            }
        }
        if let Some(next) = self.stages.get(index + 1) {
            next.notify.notify();
        }
        Progress::Made
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

    impl StageWork<u32> for Sum {
        fn next(&self) -> Option<u32> {
            let number = self.next.load(Ordering::Relaxed) as u32;
            if number == self.units {
                return None;
            }
            self.next.store(number as usize + 1, Ordering::Relaxed);
            Some(number * 100)
        }

        fn run(&self, index: usize, unit: u32) -> Option<u32> {
            Some(unit + 1 + index as u32 * 10)
        }

        fn finish(&self, unit: u32) {
            lock(&self.out).push(unit);
        }
    }

    /// Two workers work at two stages, in either order, or one of them at both.
    fn check(indices: [&'static [usize]; 2], units: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.max_branches = 20_000;
        builder.check(move || {
            let chain = Arc::new(StageChain::new(2, 1));
            let work = Arc::new(Sum {
                units,
                next: AtomicUsize::new(0),
                out: Mutex::new(Vec::new()),
            });
            let other = thread::spawn({
                let (chain, work) = (Arc::clone(&chain), Arc::clone(&work));
                move || {
                    indices[1]
                        .iter()
                        .for_each(|&index| chain.run_stage(index, &*work))
                }
            });
            indices[0]
                .iter()
                .for_each(|&index| chain.run_stage(index, &*work));
            other.join().unwrap();
            let expected: Vec<u32> = (0..units).map(|unit| unit * 100 + 12).collect();
            assert_eq!(*lock(&work.out), expected);
        });
    }

    #[test]
    fn a_stage_each() {
        check([&[0], &[1]], 2);
    }

    #[test]
    fn the_other_way_round() {
        check([&[1], &[0]], 2);
    }

    #[test]
    fn both_on_one_worker() {
        check([&[0, 1], &[]], 2);
        check([&[1, 0], &[]], 2);
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
        /// Units that are in the chain now, and the most that may be.
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

    impl StageWork<Unit> for Count {
        fn next(&self) -> Option<Unit> {
            // As in a stream with so many buffers: taking a unit waits for others to leave.
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

        fn run(&self, index: usize, (number, mut indices): Unit) -> Option<Unit> {
            indices.push(index);
            if (number + index as u32).is_multiple_of(37) {
                std::thread::sleep(Duration::from_micros(50));
            }
            if self.lost == Some(number) && index == 1 {
                self.inside.fetch_sub(1, Ordering::AcqRel);
                return None;
            }
            Some((number, indices))
        }

        fn finish(&self, unit: Unit) {
            self.inside.fetch_sub(1, Ordering::AcqRel);
            lock(&self.out).push(unit);
        }
    }

    fn check(work: &Count, stages: usize) {
        let out = lock(&work.out);
        let indices: Vec<usize> = (0..stages).collect();
        let numbers = (0..work.units).filter(|&number| work.lost != Some(number));
        assert!(out.iter().all(|unit| unit.1 == indices));
        assert!(out.iter().map(|unit| unit.0).eq(numbers), "{out:?}");
    }

    /// Some threads work at stages one after the other, in every order that a pool may have.
    #[test]
    fn any_number_of_workers_brings_all_units_in_order() {
        for stages in 1..5usize {
            for order in [false, true] {
                for workers in 1..=stages {
                    for most in [1, 2, 100] {
                        let chain = StageChain::new(stages, 2);
                        let mut work = Count::new(200, most);
                        work.lost = (stages > 1).then_some(17);
                        let mut indices: Vec<usize> = (0..stages).collect();
                        if order {
                            indices.reverse();
                        }
                        std::thread::scope(|scope| {
                            for worker in 0..workers {
                                let (chain, work, indices) = (&chain, &work, &indices);
                                scope.spawn(move || {
                                    for &index in indices.iter().skip(worker).step_by(workers) {
                                        chain.run_stage(index, work);
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
            let chain = StageChain::new(3, 2);
            let work = Count::new(3000, 100);
            std::thread::scope(|scope| {
                for index in 0..3 {
                    let (chain, work) = (&chain, &work);
                    scope.spawn(move || {
                        if index == late {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        chain.run_stage(index, work);
                    });
                }
            });
            check(&work, 3);
        }
    }
}
