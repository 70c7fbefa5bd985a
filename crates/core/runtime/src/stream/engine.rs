//! The state of the compute side of a stream, and the buffers it allocates.

use std::time::{Duration, Instant};

use super::balance::Balance;
use super::cancel::CancelToken;
use super::devices::Devices;
use super::end::not_live;
use super::erased::{AnyService, Exec};
use super::error::StreamError;
use super::intake::Intake;
use super::outlet::Outlet;
use super::tally::Tally;
use super::trial::Trial;
use super::wavefront::Wave;
use crate::affinity::StreamAffinity;
use crate::plan::Plan;
use crate::replay::Recording;
use crate::service::{Service, Shape};
use crate::stages::{ROOM, units_inside};
use crate::structure::{Flow, Structure};
use crate::tuner::Epoch;

/// Units that take less are short: their buffers are handed over several at a time, of so many.
pub(super) const SHORT: Duration = Duration::from_micros(50);
pub(super) const SHORT_UNIT_BUFFERS: usize = 32;
/// An input and an output that are made in less time take little memory.
pub(super) const CHEAP_BUFFERS: Duration = Duration::from_micros(10);

/// How many buffers there may be.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

/// Everything the compute side works with.
pub(super) struct Engine<'a, 'p> {
    pub(super) service: &'a AnyService,
    pub(super) exec: &'a Exec<'a>,
    pub(super) affinity: &'a StreamAffinity<'a>,
    pub(super) intake: Intake,
    pub(super) outlet: Outlet<'a>,
    pub(super) tally: &'a mut Tally<'p>,
    pub(super) cancel: &'a CancelToken,
    pub(super) limits: Limits,
    /// They are made so quickly that there may be as many as the limits allow.
    pub(super) are_buffers_cheap: bool,
    pub(super) live: bool,
    /// Units of the stream, if known.
    pub(super) total: Option<u64>,
    pub(super) devices: &'a mut Devices<'p>,
    /// Runs a trial on a thread beside the stream.
    pub(super) begin_trial: &'a dyn Fn(Trial<'p>),
    /// Structures that the service has prepared.
    pub(super) prepared: Vec<&'static Structure>,
    /// What is known of the steps of a pipeline.
    pub(super) balance: Option<(&'static Structure, Balance)>,
    /// The units of a wavefront that are in work between two epochs.
    pub(super) wave: Option<Wave>,
    /// Where the times of its chunks go.
    pub(super) recording: Option<&'a Recording>,
}

impl Engine<'_, '_> {
    /// Whether an epoch can be run.
    pub(super) fn check(&self, epoch: &Epoch) -> Result<(), StreamError> {
        for plan in [&epoch.plan, &epoch.fallback] {
            self.exec.check(plan)?;
            let shape = self.exec.shape(plan.structure);
            if self.live && !shape.is_some_and(Shape::suits_live) {
                return Err(not_live(plan.structure));
            }
        }
        Ok(())
    }

    /// Has the service prepare a plan's structure, and makes the buffers that it needs. How long that took, if anything
    /// was made.
    pub(super) fn prepare(&mut self, plan: &Plan) -> Result<Option<Duration>, String> {
        let begin = Instant::now();
        let structure = plan.structure;
        let new = self.prepare_structure(structure)?;
        let inside = match structure.flow {
            Flow::Farm => {
                let workers = plan.workers as usize;
                // A worker that is slow, or without its processor for a while, must not stop the others.
                let beside_cores = match self.are_buffers_cheap {
                    true => SHORT_UNIT_BUFFERS.max((1 + ROOM) * workers),
                    false => workers,
                };
                beside_cores + self.devices.units_inside(plan.devices)
            }
            Flow::Pipeline => units_inside(plan, self.exec.step_costs(structure).len() as u32),
            Flow::Grouped | Flow::Wavefront => {
                self.exec.shape(structure).map_or(1, |s| s.units) as usize
            }
            Flow::Divided => return Ok(new.then(|| begin.elapsed())),
        };
        let made = self.make_buffers(
            inside + buffers_beside(self.intake.is_inline()),
            inside + buffers_beside(self.outlet.is_inline()).max(1),
        );
        Ok((new || made).then(|| begin.elapsed()))
    }

    /// Has the service prepare a structure, once. Whether it has now.
    pub(super) fn prepare_structure(
        &mut self,
        structure: &'static Structure,
    ) -> Result<bool, String> {
        let new = !self.prepared.contains(&structure);
        if new {
            self.prepared.push(structure);
            self.exec.prepare(structure)?;
        }
        Ok(new)
    }

    /// Whether more buffers can be made on a thread's side, for units that prove to be short.
    pub(super) fn may_grow(&self) -> bool {
        let few = |inline: bool, have: usize, limit: usize| {
            !inline && have < SHORT_UNIT_BUFFERS.min(limit)
        };
        let (intake, outlet) = (&self.intake, &self.outlet);
        let (inputs, outputs) = (intake.queue().buffers(), outlet.queue().buffers());
        few(intake.is_inline(), inputs, self.limits.inputs)
            || few(outlet.is_inline(), outputs, self.limits.outputs)
    }

    /// Makes the buffers for short units on a thread's side.
    pub(super) fn grow(&self) {
        let wanted = |inline: bool| if inline { 0 } else { SHORT_UNIT_BUFFERS };
        self.make_buffers(
            wanted(self.intake.is_inline()),
            wanted(self.outlet.is_inline()),
        );
    }

    /// Units that can be in work at once with the buffers there are.
    pub(super) fn capacity(&self) -> usize {
        let inputs = self.intake.queue().buffers();
        let inputs = inputs.saturating_sub(buffers_beside(self.intake.is_inline()));
        let outputs = self.outlet.queue().buffers();
        inputs.min(outputs.saturating_sub(buffers_beside(self.outlet.is_inline())))
    }

    /// Makes buffers until there are `inputs` and `outputs` of them, up to the limits. Whether any were made.
    pub(super) fn make_buffers(&self, inputs: usize, outputs: usize) -> bool {
        let mut made = false;
        while self.intake.queue().buffers() < inputs.min(self.limits.inputs) {
            self.intake.queue().add(self.service.input());
            made = true;
        }
        while self.outlet.queue().buffers() < outputs.min(self.limits.outputs) {
            self.outlet.queue().add(self.service.output());
            made = true;
        }
        made
    }
}

/// Buffers beside those of units in work: on a thread's side one is read or written, and one is ready.
fn buffers_beside(inline: bool) -> usize {
    if inline { 0 } else { 2 }
}

/// Whether units that cost so much are short, on average.
pub(super) fn are_short(costs: &[Duration]) -> bool {
    costs.iter().sum::<Duration>() < SHORT * costs.len() as u32
}
