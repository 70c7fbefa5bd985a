//! A device's lane as a worker of a farm: it takes units, several at a time if they are small, and delivers them.
//!
//! A core checks the first unit of a device that was not tested before (`trial.rs`), and later one now and then. A
//! device with a different result is no longer used, and its undelivered units are computed again. So are the units
//! that a device had in progress when it was lost.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::devices::OpenLane;
use super::erased::Unit;
use super::error::panic_text;
use super::farm::Farm;
use super::overlap::Job;
use super::reorder::Held;
use super::share::Pace;
use crate::device::DeviceError;
use crate::dispatch::WorkerId;
use crate::service::Service;
use crate::sync::lock;
use crate::trace::Track;

/// A kernel that takes longer is taken to hang: the first of a lane, which a driver may have to compile, and later ones,
/// which are to take some milliseconds.
const FIRST_HANGS_AFTER: Duration = Duration::from_secs(10);
const HANGS_AFTER: Duration = Duration::from_secs(3);
/// A batch is to take about so long: far longer than a device needs to answer, and not so long that others wait.
pub(super) const BATCH: Range<Duration> = Duration::from_millis(5)..Duration::from_millis(20);
/// A batch has at most so many times the units of the last.
const GROWTH: f64 = 8.0;

impl OpenLane<'_> {
    /// Computes units, or a pass of one. How long it took.
    pub(super) fn run(
        &mut self,
        inputs: &[&Unit],
        outputs: &[&Unit],
    ) -> Result<Duration, DeviceError> {
        let limit = match self.pace {
            None => FIRST_HANGS_AFTER,
            Some(_) => HANGS_AFTER,
        };
        let begin = Instant::now();
        let run = AssertUnwindSafe(|| self.units.run(inputs, outputs, limit));
        let run = catch_unwind(run).unwrap_or_else(|payload| {
            Err(self.lost(&format!("panicked: {}", panic_text(&*payload))))
        });
        run.map(|()| begin.elapsed())
    }

    /// The device is of no use.
    pub(super) fn lost(&self, why: &str) -> DeviceError {
        DeviceError::Lost {
            device: self.device.name.clone(),
            why: why.to_owned(),
        }
    }

    /// Whether what was computed of `units` units is to be compared with a core's: of the `first` ones of a device, and
    /// now and then.
    pub(super) fn is_check_due(&mut self, units: usize, first: bool) -> bool {
        self.unchecked += units as u64;
        let due = first || self.unchecked >= self.check_every;
        if due {
            self.unchecked = 0;
        }
        due
    }
}

impl<'e, 'a, 'p> Farm<'e, 'a, 'p> {
    /// Computes units on a lane until there are no more for it. `worker` is a number that no other thread has.
    pub(super) fn run_lane(&self, worker: WorkerId, lane: &mut OpenLane<'_>) {
        let device = Arc::clone(&lane.device);
        while !device.is_lost() {
            let mut verified = lock(&device.verified);
            let Some(first) = *verified else {
                // Until its first unit was compared, a device computes no other.
                let batch = self.gather(worker, 1);
                if batch.is_empty() {
                    return;
                }
                let claims = &self.units.claims;
                claims.set_comparing(true);
                let right = self.run_batch(worker, lane, batch, true);
                claims.set_comparing(false);
                if !right {
                    return;
                }
                *verified = Some(self.units.claims.pace(worker));
                continue;
            };
            drop(verified);
            if self.units.claims.pace(worker).took == 0 {
                // All lanes share the device, and the first unit had it alone.
                let known = lane.pace.unwrap_or(Pace {
                    took: first.took * u64::from(self.lanes),
                    ..first
                });
                self.units.claims.set_pace(worker, known);
            }
            let batch = self.gather(worker, lane.batch);
            if batch.is_empty() || !self.run_batch(worker, lane, batch, false) {
                return;
            }
            lane.pace = Some(self.units.claims.pace(worker));
        }
    }

    /// The first units that there are, at least one unless there are no more, at most `most`. It waits for the first
    /// only: with units in hand it would wait for itself.
    fn gather(&self, worker: WorkerId, most: usize) -> Vec<Job> {
        let units = &self.units;
        let mut batch = Vec::new();
        while batch.len() < units.claims.share(worker, most) {
            if !units.claim(worker, |reorder| self.continued_costs(reorder)) {
                break;
            }
            let job = match batch.is_empty() {
                true => units.take(),
                false => units.take_now(),
            };
            let Some(job) = job else {
                units.claims.return_one();
                break;
            };
            batch.push(job);
        }
        batch
    }

    /// Computes a batch and delivers it. `false` if the lane takes no more.
    fn run_batch(
        &self,
        worker: WorkerId,
        lane: &mut OpenLane<'_>,
        batch: Vec<Job>,
        first: bool,
    ) -> bool {
        let units = &self.units;
        let begin = Instant::now();
        units.claims.begin(worker, begin, batch.len() as u32);
        let computed = self.compute_batch(worker, lane, &batch, first);
        let (computed, took) = match computed {
            Ok(took) => (Ok(()), took),
            Err(error) => (Err(error), begin.elapsed()),
        };
        let mut good = match computed {
            Ok(()) => true,
            Err(error) => {
                lane.device.give_up(error);
                self.compute_held_again(worker);
                false
            }
        };
        if !good && !self.compute_again(worker, &batch) {
            return false;
        }
        let mut reorder = lock(&units.reorder);
        // Another lane may have found meanwhile that the device cannot be relied on. It computes what waits here again,
        // but not what comes later.
        if good && lane.device.is_lost() {
            drop(reorder);
            good = false;
            if !self.compute_again(worker, &batch) {
                return false;
            }
            reorder = lock(&units.reorder);
        }
        let end = Instant::now();
        let count = batch.len() as u32;
        if good {
            lane.device.units.fetch_add(count.into(), Ordering::Relaxed);
            let busy = took.as_nanos() as u64;
            lane.device.busy_ns.fetch_add(busy, Ordering::Relaxed);
            lane.batch = next_batch(lane.batch, batch.len(), took, lane.work.most_units());
        }
        let trace = units.exec.trace();
        let number = batch[0].unit.number;
        let track = Track::Lane(worker.0 - units.exec.pool().workers());
        trace.span(track, "batch", number, begin, begin + took);
        units.claims.end(worker, good.then_some(took));
        for Job { unit, output, .. } in batch {
            let held = Held {
                output,
                // A core's result needs no second one.
                input: Some(unit.value).filter(|_| good),
            };
            units.finish(&mut reorder, (unit.number, held), (took / count, end));
        }
        good
    }

    /// Runs a batch on the device, and perhaps a unit of it on this core. How long the device took.
    fn compute_batch(
        &self,
        worker: WorkerId,
        lane: &mut OpenLane<'_>,
        batch: &[Job],
        first: bool,
    ) -> Result<Duration, DeviceError> {
        let inputs: Vec<&Unit> = batch.iter().map(|job| &job.unit.value).collect();
        let outputs: Vec<&Unit> = batch.iter().map(|job| &job.output).collect();
        let mut took = lane.run(&inputs, &outputs)?;
        if first {
            // The first time a driver may have compiled what it runs.
            took = lane.run(&inputs, &outputs)?;
        }
        if !lane.is_check_due(batch.len(), first) {
            return Ok(took);
        }
        let units = &self.units;
        let spare = lane
            .spare
            .get_or_insert_with(|| units.exec.service().output());
        let Job { unit, output, .. } = &batch[0];
        let by_core = self.compute_by_core(worker, unit.number, &unit.value, spare);
        // A core that fails says so when the unit is computed again.
        if by_core.is_ok() && lane.work.same(spare, output) {
            return Ok(took);
        }
        Err(DeviceError::Wrong {
            device: lane.device.name.clone(),
            unit: unit.number,
        })
    }

    /// Computes a batch on this core. `false`, and the stream has failed, if that is not possible.
    fn compute_again(&self, worker: WorkerId, batch: &[Job]) -> bool {
        let units = &self.units;
        let failed = batch.iter().find_map(|Job { unit, output, .. }| {
            let result = self.compute_by_core(worker, unit.number, &unit.value, output);
            result.err().map(|message| (unit.number, message))
        });
        let Some(failed) = failed else { return true };
        units.claims.end(worker, None);
        units.fail(failed.into());
        false
    }

    fn compute_by_core(
        &self,
        worker: WorkerId,
        number: u64,
        input: &Unit,
        output: &Unit,
    ) -> Result<(), String> {
        let units = &self.units;
        let structure = units.plan.structure;
        units
            .exec
            .run_alone(worker, number, structure, input, output)
    }

    /// Computes results of devices again that wait for earlier ones.
    fn compute_held_again(&self, worker: WorkerId) {
        let units = &self.units;
        let mut reorder = lock(&units.reorder);
        let failed = reorder.held().find_map(|(number, held)| {
            let input = held.input.take()?;
            let result = self.compute_by_core(worker, number, &input, &held.output);
            units.inputs.recycle(input);
            result.err().map(|message| (number, message))
        });
        drop(reorder);
        if let Some(failed) = failed {
            units.fail(failed.into());
        }
    }
}

/// Units of the next batch, after one of `units` that took so long, where `batch` were wanted.
pub(super) fn next_batch(batch: usize, units: usize, took: Duration, most: usize) -> usize {
    let next = match took {
        _ if took > BATCH.end => units / 2,
        _ if took < BATCH.start && units == batch => {
            let times = BATCH.start.as_secs_f64() / took.as_secs_f64();
            (batch as f64 * times.clamp(2.0, GROWTH)) as usize
        }
        _ => batch,
    };
    next.clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_until_they_take_some_milliseconds() {
        let ms = Duration::from_millis;
        assert_eq!(next_batch(4, 4, ms(1), 64), 20);
        assert_eq!(next_batch(4, 4, ms(4), 64), 8);
        assert_eq!(next_batch(1, 1, Duration::from_micros(1), 64), 8);
        assert_eq!(next_batch(4, 3, ms(1), 64), 4);
        assert_eq!(next_batch(64, 64, ms(1), 64), 64);
        assert_eq!(next_batch(8, 8, ms(10), 64), 8);
        assert_eq!(next_batch(8, 8, ms(50), 64), 4);
        assert_eq!(next_batch(1, 1, ms(50), 64), 1);
    }
}
