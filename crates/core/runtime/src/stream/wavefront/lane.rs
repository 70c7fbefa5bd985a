//! A device's lane in a wavefront: it computes the pass for which the service has commands.
//!
//! A core also computes the first pass of a device, and another one now and then, before other passes read the
//! result. A device that differs, is lost or hangs is no longer used. Workers then compute the pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::run::{LONG, Run};
use super::work::Units;
use crate::device::DeviceError;
use crate::dispatch::WorkerId;
use crate::stream::devices::{OpenDevice, OpenLane};
use crate::stream::farm::LANE;
use crate::stream::share::Pace;
use crate::sync::lock;
use crate::trace::Track;

impl Run<'_, '_, '_> {
    /// Computes passes until lanes come out or the device is lost. `worker` is a number that no other thread has.
    pub(super) fn run_lane(&self, worker: WorkerId, lane: &mut OpenLane<'_>) {
        let device = Arc::clone(&lane.device);
        let mut is_idle = false;
        while !device.is_lost() {
            // Until its first pass was compared, a device computes no other.
            let mut verified = lock(&device.verified);
            let first = verified.is_none();
            if !first {
                drop(verified);
                let Some(unit) = self.next_pass(&device, &mut is_idle) else {
                    break;
                };
                self.run_pass(worker, lane, unit, false);
                continue;
            }
            let Some(unit) = self.next_pass(&device, &mut is_idle) else {
                break;
            };
            *verified = self.run_pass(worker, lane, unit, true);
        }
        self.lines.remove_lane(is_idle);
    }

    /// Waits for a unit whose pass the lane computes. `None` if lanes come out or the device is lost.
    fn next_pass(&self, device: &OpenDevice, is_idle: &mut bool) -> Option<u64> {
        loop {
            let seen = self.lines.lane_news.seen();
            if self.lines.is_leaving() || device.is_lost() {
                return None;
            }
            let unit = self.lines.take_pass(*is_idle);
            *is_idle = unit.is_none();
            if unit.is_some() {
                return unit;
            }
            self.lines.lane_news.wait(seen, LONG);
        }
    }

    /// Computes the pass of a unit on the device, or leaves it to workers. How fast it was.
    fn run_pass(
        &self,
        worker: WorkerId,
        lane: &mut OpenLane<'_>,
        unit: u64,
        first: bool,
    ) -> Option<Pace> {
        let begin = Instant::now();
        let took = self.compute_pass(lane, unit, first).map_err(|error| {
            lane.device.give_up(error);
            // Its other lanes wait for passes.
            self.lines.lane_news.notify(usize::MAX);
        });
        // Another lane may have found meanwhile that the device cannot be relied on.
        let took = took.ok().filter(|_| !lane.device.is_lost());
        let Some(took) = took else {
            self.lines.return_pass(unit);
            return None;
        };
        lane.device.units.fetch_add(1, Ordering::Relaxed);
        let busy = took.as_nanos() as u64;
        lane.device.busy_ns.fetch_add(busy, Ordering::Relaxed);
        let track = Track::Lane(worker.0 - self.exec.pool().workers());
        let trace = self.exec.trace();
        let layout = &self.lines.layout;
        let line = layout.for_devices(unit).next();
        let part = line.map(|line| layout.part(&layout.chunk(line, 0, 1)));
        let name = part.map_or(LANE, |part| self.exec.name(&part));
        trace.span(track, name, unit, begin, begin + took);
        if self.lines.end_pass(unit) {
            self.done(unit);
            self.lines.retire(unit);
        }
        let pace = Pace {
            units: 1,
            took: busy.max(1),
        };
        lane.pace = Some(pace);
        Some(pace)
    }

    fn compute_pass(
        &self,
        lane: &mut OpenLane<'_>,
        unit: u64,
        first: bool,
    ) -> Result<Duration, DeviceError> {
        let buffers = self.unit(unit);
        let Some((input, output)) = &*buffers else {
            // A unit that has a line in work has buffers.
            return Err(lane.lost("its unit has no buffers"));
        };
        let took = lane.run(&[input], &[output])?;
        if !lane.is_check_due(1, first) {
            return Ok(took);
        }
        let check = AssertUnwindSafe(|| lane.work.is_right(input, output));
        match catch_unwind(check) {
            Ok(true) => Ok(took),
            _ => Err(DeviceError::Wrong {
                device: lane.device.name.clone(),
                unit,
            }),
        }
    }
}
