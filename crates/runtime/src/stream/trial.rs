//! The first unit of a device, beside the stream.
//!
//! A device may be slow, and a driver may compile at its first unit. So its first unit is one that a core has computed
//! already, and nothing waits for the result. It says whether the device is right, and how fast it is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::devices::OpenLane;
use super::error::panic_text;
use super::exec::Executor;
use super::intake::InputQueue;
use super::share::Pace;
use crate::device::DeviceError;
use crate::service::Service;
use crate::structure::Structure;
use crate::sync::lock;

/// Lanes of devices that were found right.
pub(super) type Tried<'p, S> = Mutex<Vec<OpenLane<'p, S>>>;

/// Devices that are tried one after the other.
pub(super) struct Trial<'p, S: Service> {
    /// The lanes of each, at least one.
    pub(super) devices: Vec<Vec<OpenLane<'p, S>>>,
    /// A farm, whose units need nothing but a worker's own memory.
    pub(super) structure: &'static Structure,
    /// When the stream is expected to end, if its length is known.
    pub(super) until: Option<Instant>,
    pub(super) tried: Arc<Tried<'p, S>>,
}

/// A unit with two results to compare.
struct Unit<'e, 'a, S: Service> {
    exec: &'e Executor<'a, S>,
    structure: &'static Structure,
    queue: &'e InputQueue<S>,
    until: Option<Instant>,
    input: Box<S::Input>,
    by_device: Box<S::Output>,
    by_core: Box<S::Output>,
}

impl<'p, S: Service> Trial<'p, S> {
    /// Tries the devices with a unit from a queue, unless the stream ends before.
    pub(super) fn run(self, exec: &Executor<'_, S>, queue: &InputQueue<S>) {
        let service = exec.service();
        // The stream has as many buffers as before.
        queue.add(Box::new(service.input()));
        let Some(input) = queue.take_used() else {
            return;
        };
        let unit = Unit {
            exec,
            structure: self.structure,
            queue,
            until: self.until,
            input,
            by_device: Box::new(service.output()),
            by_core: Box::new(service.output()),
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

impl<S: Service> Unit<'_, '_, S> {
    /// Has a device compute the unit, and compares it with what a core computes. How long the device took; `None` if
    /// the stream ends before.
    fn first(&self, lane: &mut OpenLane<'_, S>) -> Result<Option<Duration>, DeviceError> {
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
