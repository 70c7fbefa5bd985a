//! Whole units on different workers, with the results put back in order.
//!
//! Every worker takes the next unit when it has finished its last. So does each lane of a device (`lane.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

use super::end::{EpochEnd, Stop};
use super::engine::Engine;
use super::erased::Unit;
use super::overlap::{Job, Overlap};
use super::reorder::{EpochTimes, ReorderBuffer};
use super::schedule::Schedule;
use crate::dispatch::WorkerId;
use crate::sync::lock;
use crate::tuner::Epoch;

/// Computes the units of `epoch` on different workers, and of those after it as long as the plan is the same. `costs`
/// gets those of the last of them.
///
/// Where the epoch has a cutoff, a unit is computed in pieces, and given up between two of them when it takes longer,
/// unless another was in time. Its worker computes it under the fallback, and no more are begun.
pub(super) fn epochs(
    engine: &mut Engine<'_, '_>,
    epoch: &Epoch,
    schedule: &mut dyn Schedule,
    costs: &mut Vec<Duration>,
) -> EpochEnd {
    if epoch.cutoff.is_some()
        && let Err(message) = engine.prepare(&epoch.fallback)
    {
        return Stop::from((engine.intake.taken(), message)).into();
    }
    let workers = epoch.plan.workers;
    let news = engine.devices.news(engine.tally.began());
    // The units borrow the engine, so lanes are taken out of it.
    let mut lanes = engine.devices.take_lanes(epoch.plan.devices);
    let paces = std::mem::take(&mut engine.devices.worker_paces);
    let overlap = Overlap::new(engine, epoch, schedule, lanes.len(), news);
    for (worker, pace) in paces.into_iter().enumerate() {
        overlap.claims.set_pace(WorkerId(worker), pace);
    }
    let whole = Farm::new(overlap, lanes.len() as u32);
    let farm = &whole;
    // Kernels, sources and sinks are caught where they are called, so this is a callback's panic.
    let panicked = |payload| {
        farm.units.fail(Stop::Stopped);
        resume_unwind(payload)
    };
    let pool = farm.units.exec.pool();
    let panic = thread::scope(|scope| {
        for (lane, number) in lanes.iter_mut().zip(pool.workers()..) {
            let run = move || farm.run_lane(WorkerId(number), lane);
            let run = move || catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked);
            let thread = thread::Builder::new().name(LANE.into());
            // Without the thread the others compute its units.
            if let Err(error) = thread.spawn_scoped(scope, run) {
                warn!("no thread for a lane of a device: {error}");
            }
        }
        let jobs = pool.run(&farm.units.batch(workers), &|worker, items| {
            for _ in items {
                let run = AssertUnwindSafe(|| while farm.run_unit(worker) {});
                catch_unwind(run).unwrap_or_else(panicked);
            }
        });
        jobs.err()
    });
    let last = farm.epoch_costs(&mut lock(&farm.units.reorder), AtEnd::Wait);
    let claims = &whole.units.claims;
    let drained = claims.drained();
    let paces = (0..workers as usize).map(|worker| claims.pace(WorkerId(worker)));
    let paces = paces.collect();
    let mut end = whole.units.end(panic, last, costs);
    if !lanes.is_empty() {
        end.drained = drained;
    }
    engine.devices.worker_paces = paces;
    engine.devices.put_back(lanes);
    end
}

/// The name of threads that wait for devices.
pub(super) const LANE: &str = "evener-dev";

/// Pieces of a unit that may be given up.
const PIECES: u32 = 32;

pub(super) struct Farm<'e, 'a, 'p> {
    pub(super) units: Overlap<'e, 'a, 'p>,
    /// Lanes that take part.
    pub(super) lanes: u32,
    /// Nanoseconds that workers did not compute in this epoch, in sum.
    beside: AtomicU64,
    /// How long workers had slept for want of input or output when the epoch began.
    slept_before: Mutex<Duration>,
    /// Held while a unit is computed under the fallback.
    redo: Mutex<()>,
}

impl<'e, 'a, 'p> Farm<'e, 'a, 'p> {
    fn new(units: Overlap<'e, 'a, 'p>, lanes: u32) -> Self {
        let mut farm = Farm {
            units,
            lanes,
            beside: AtomicU64::new(0),
            slept_before: Mutex::default(),
            redo: Mutex::default(),
        };
        farm.slept_before = Mutex::new(farm.slept());
        farm
    }

    /// How long workers have slept for want of input or output, in sum.
    fn slept(&self) -> Duration {
        self.units.intake.waited() + self.units.outputs.producers_slept()
    }

    /// Takes a unit, computes it and delivers it. `false` if there is none or it failed.
    fn run_unit(&self, worker: WorkerId) -> bool {
        let units = &self.units;
        let asked = Instant::now();
        if !units.claim(worker, |reorder| self.continued_costs(reorder)) {
            return false;
        }
        let Some(Job {
            unit,
            output,
            stalled,
        }) = units.take()
        else {
            return false;
        };
        let begin = Instant::now();
        units.claims.begin(worker, begin, 1);
        let result = self.compute(worker, unit.number, begin, (&unit.value, &output));
        let end = Instant::now();
        units.inputs.recycle(unit.value);
        let given_up = match result {
            Ok(given_up) => given_up,
            Err(message) => {
                units.claims.end(worker, None);
                units.fail((unit.number, message).into());
                return false;
            }
        };
        {
            let mut reorder = lock(&units.reorder);
            units.claims.end(worker, Some(end - begin));
            match given_up {
                Some(after) => units.cut(&mut reorder, after, (end - begin) - after),
                None if units.claims.is_too_long(end - begin) => {
                    units.cut(&mut reorder, end - begin, Duration::ZERO);
                }
                None => units.claims.finished(end - begin),
            }
            let result = (unit.number, output.into());
            units.finish(&mut reorder, result, (end - begin, end));
        }
        let time = (begin - asked).saturating_sub(stalled) + end.elapsed();
        self.beside
            .fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        true
    }

    /// Computes a unit that was begun. How long it took until it was given up, if it was.
    fn compute(
        &self,
        worker: WorkerId,
        number: u64,
        begin: Instant,
        (input, output): (&Unit, &Unit),
    ) -> Result<Option<Duration>, String> {
        let units = &self.units;
        let structure = units.plan.structure;
        let items = units.exec.items(structure);
        let piece = match units.claims.has_cutoff() {
            true => items.div_ceil(PIECES).max(1),
            false => items,
        };
        let mut from = 0;
        loop {
            let to = items.min(from + piece);
            let part = (structure, from..to);
            units.exec.run_items(worker, number, part, input, output)?;
            if to == items {
                return Ok(None);
            }
            let after = begin.elapsed();
            if units.claims.is_too_long(after) {
                // What a structure keeps between passes may be there once.
                let _one_at_a_time = lock(&self.redo);
                let fallback = units.fallback.structure;
                units
                    .exec
                    .run_alone(worker, number, fallback, input, output)?;
                return Ok(Some(after));
            }
            from = to;
        }
    }

    /// What the units of an epoch cost that ends now, while those of the next are taken.
    pub(super) fn continued_costs(&self, reorder: &mut ReorderBuffer<'e, 'a, 'p>) -> Vec<Duration> {
        self.epoch_costs(reorder, AtEnd::Continue)
    }

    /// What the units of an epoch cost that ends now.
    ///
    /// For the tuner a unit's cost is its time on its worker, divided by the workers, times a factor: the time that
    /// workers were present, without what they slept for want of input and output, by the time that they computed. So a
    /// unit that was disturbed is one of many and not a part of a mean. To wait for an output because an earlier unit
    /// is in work is no such want: it is a cost of the order.
    ///
    /// The tally gets the mean of the same costs, but without taking and delivering: the true processing rate of
    /// Kalavri et al., "Three steps is all you need" (OSDI 2018).
    fn epoch_costs(&self, reorder: &mut ReorderBuffer<'e, 'a, 'p>, at_end: AtEnd) -> Vec<Duration> {
        let units = &self.units;
        let workers = units.plan.workers;
        let now = Instant::now();
        let progress = units.claims.progress(now);
        let ahead = units.claims.in_work(now).sum();
        let beside = Duration::from_nanos(self.beside.swap(0, Ordering::Relaxed));
        let slept = self.slept();
        let slept_before = std::mem::replace(&mut *lock(&self.slept_before), slept);
        let waited = slept.saturating_sub(slept_before);
        let times = reorder.next_epoch(ahead, progress);
        if self.lanes > 0 {
            let elements = workers + self.lanes;
            let costs = together(&times, (now, progress), waited / elements);
            reorder.count(&units.plan, &costs);
            return costs;
        }
        let present = (times.began.elapsed() * workers + times.ahead).saturating_sub(ahead);
        let without = |away| {
            let present = present.saturating_sub(away);
            shares(&times.took, present, workers, at_end)
        };
        reorder.count(&units.plan, &without(beside));
        without(waited)
    }
}

/// What the units of an epoch cost that were computed together, by workers and devices or all by all workers, until `now`, when `progress` units of
/// those in work were done: the time that went by for a unit, the same for each.
///
/// At the end, where nothing is in work, that has the wait for the last unit in it, which is long where a device is slow.
pub(super) fn together(
    times: &EpochTimes,
    (now, progress): (Instant, f64),
    waited: Duration,
) -> Vec<Duration> {
    let took = times.took.len();
    let elapsed = (now - times.began).saturating_sub(waited);
    let units = (took as f64 + progress - times.progress).max(0.1);
    vec![elapsed.div_f64(units); took]
}

/// What workers do at the end of an epoch, when they find no more units in it.
#[derive(Clone, Copy, PartialEq)]
enum AtEnd {
    /// They compute units of the next.
    Continue,
    /// They wait for the last unit, half a unit each on average. A stream does so once, so that does not count.
    Wait,
}

/// The costs of units that took `took` on their workers, which were present for `present` in sum.
fn shares(took: &[Duration], present: Duration, workers: u32, at_end: AtEnd) -> Vec<Duration> {
    let busy: f64 = took.iter().map(Duration::as_secs_f64).sum();
    let waiting = match at_end {
        AtEnd::Continue => 0.0,
        AtEnd::Wait => 0.5 * f64::from(workers - 1) * busy / took.len().max(1) as f64,
    };
    let share = (present.as_secs_f64() - waiting) / busy;
    let share = if share.is_finite() {
        share.max(1.0)
    } else {
        1.0
    };
    took.iter()
        .map(|took| took.mul_f64(share) / workers)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_take_beside_their_units_counts_and_the_end_does_not() {
        let ms = Duration::from_millis;
        let took = [ms(2); 4];
        let cost = |present, at_end| shares(&took, present, 2, at_end)[0].as_secs_f64() * 1e3;
        // Two workers, two units each; half a unit is waited for at the end.
        assert!((cost(ms(9), AtEnd::Wait) - 1.0).abs() < 1e-6);
        assert!((cost(ms(13), AtEnd::Wait) - 1.5).abs() < 1e-6);
        assert!((cost(ms(12), AtEnd::Continue) - 1.5).abs() < 1e-6);
        assert!((cost(ms(1), AtEnd::Wait) - 1.0).abs() < 1e-6);
        assert!(shares(&[], ms(1), 2, AtEnd::Wait).is_empty());
        assert_eq!(
            shares(&[Duration::ZERO], Duration::ZERO, 2, AtEnd::Continue),
            [Duration::ZERO]
        );
    }
}
