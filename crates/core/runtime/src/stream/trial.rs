//! The first unit of a device, in the background.
//!
//! A device may be slow, and a driver may compile at its first unit. So its first unit is one that a core has already
//! computed, and nothing waits for the result. It shows whether the device is right, and how fast it is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::devices::OpenLane;
use super::erased::{Exec, Unit};
use super::error::panic_text;
use super::intake::InputQueue;
use super::share::Pace;
use crate::device::DeviceError;
use crate::service::Service;
use crate::structure::Structure;
use crate::sync::lock;

/// Lanes of devices that were found right.
pub(super) type Tried<'p> = Mutex<Vec<OpenLane<'p>>>;

/// Devices that are tried one after the other.
pub(super) struct Trial<'p> {
    /// The lanes of each, at least one.
    pub(super) devices: Vec<Vec<OpenLane<'p>>>,
    /// A farm, whose units need nothing but a worker's own memory.
    pub(super) structure: &'static Structure,
    /// When the stream is expected to end, if its length is known.
    pub(super) until: Option<Instant>,
    pub(super) tried: Arc<Tried<'p>>,
}

/// A unit with two results to compare.
struct First<'e, 'a> {
    exec: &'e Exec<'a>,
    structure: &'static Structure,
    queue: &'e InputQueue,
    until: Option<Instant>,
    input: Unit,
    by_device: Unit,
    by_core: Unit,
}

impl<'p> Trial<'p> {
    /// Tries the devices with a unit from a queue, unless the stream ends before.
    pub(super) fn run(self, exec: &Exec<'_>, queue: &InputQueue) {
        let service = exec.service();
        // The stream has as many buffers as before.
        queue.add(service.input());
        let Some(input) = queue.take_used() else {
            return;
        };
        let unit = First {
            exec,
            structure: self.structure,
            queue,
            until: self.until,
            input,
            by_device: service.output(),
            by_core: service.output(),
        };
        for mut lanes in self.devices {
            if queue.has_stopped() {
                break;
            }
            let lane = &mut lanes[0];
            let first = catch_unwind(AssertUnwindSafe(|| unit.first(lane)));
            let first = first.unwrap_or_else(|payload| {
                Err(lane.lost(&format!("panicked: {}", panic_text(&*payload))))
            });
            let device = Arc::clone(&lane.device);
            match first {
                Ok(Some(took)) => {
                    let mut tried = lock(&self.tried);
                    *lock(&device.verified) = Some(Pace {
                        units: 1,
                        took: (took.as_nanos() as u64).max(1),
                    });
                    tried.append(&mut lanes);
                }
                Ok(None) => {}
                Err(error) => device.give_up(error),
            }
        }
        exec.drop_scratch_of(exec.beside());
    }
}

impl First<'_, '_> {
    /// Has a device compute the unit, and compares it with what a core computes. How long the device took; `None` if
    /// the stream ends before.
    fn first(&self, lane: &mut OpenLane<'_>) -> Result<Option<Duration>, DeviceError> {
        let took = lane.run(&[&self.input], &[&self.by_device])?;
        let again = Instant::now() + took;
        if self.queue.has_stopped() || self.until.is_some_and(|until| again > until) {
            return Ok(None);
        }
        // The first time a driver may have compiled what it runs.
        let took = lane.run(&[&self.input], &[&self.by_device])?;
        if self.queue.has_stopped() {
            return Ok(None);
        }
        let (worker, exec) = (self.exec.beside(), self.exec);
        let by_core = exec.run_alone(worker, 0, self.structure, &self.input, &self.by_core);
        if by_core.is_ok() && lane.work.same(&self.by_core, &self.by_device) {
            return Ok(Some(took));
        }
        Err(DeviceError::WrongFirst {
            device: lane.device.name.clone(),
        })
    }
}
