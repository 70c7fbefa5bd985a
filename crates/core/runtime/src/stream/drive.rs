//! The loop of the compute side: epoch after epoch, until something ends the stream.

use std::time::{Duration, Instant};

use super::end::{Cut, EpochEnd, Stop};
use super::engine::{Engine, SHORT_UNIT_BUFFERS, are_short};
use super::schedule::Schedule;
use super::{divided, farm, pipeline, wavefront};
use crate::plan::Plan;
use crate::structure::Flow;
use crate::trace::Track;
use crate::tuner::{Epoch, Measured};

/// Computes units until something ends the stream.
pub(super) fn drive(engine: &mut Engine<'_, '_>, schedule: &mut dyn Schedule) -> Stop {
    let mut costs = Vec::new();
    let (mut last, mut next) = (None, None);
    loop {
        poll(engine, schedule);
        if let Err(stop) = try_devices(engine, schedule) {
            return stop;
        }
        let epoch = next.take().unwrap_or_else(|| schedule.next());
        if let Err(stop) = begin(engine, &epoch, last, schedule) {
            return stop;
        }
        last = Some(epoch.plan);
        costs.clear();
        let end = match epoch.plan.structure.flow {
            Flow::Farm => farm::epochs(engine, &epoch, schedule, &mut costs),
            Flow::Pipeline => pipeline::epochs(engine, &epoch, schedule, &mut costs),
            Flow::Wavefront => wavefront::epochs(engine, &epoch, schedule, &mut costs),
            Flow::Divided | Flow::Grouped => divided::epoch(engine, &epoch, &mut costs),
        };
        record(&end, &costs, schedule);
        if !end.drained.is_zero() {
            schedule.drained(end.drained);
        }
        if let Some(stop) = end.stop {
            // The plan that the report names has no device that is lost.
            poll(engine, schedule);
            return stop;
        }
        next = end.next;
        // Waking a thread costs some µs. With more buffers, one wake-up serves many units. They are made only once the
        // stream has had some units, since a short stream would be over before.
        let many = engine.tally.units() >= SHORT_UNIT_BUFFERS as u64;
        if !engine.live && many && are_short(&costs) {
            engine.grow();
        }
    }
}

/// Tells the schedule how many devices there are, if that has changed.
fn poll(engine: &mut Engine<'_, '_>, schedule: &mut dyn Schedule) {
    if engine.devices.poll(engine.tally.began().elapsed()) {
        schedule.devices(engine.devices.count(), engine.devices.rate());
    }
}

/// Begins the trial of devices that were opened.
fn try_devices(engine: &mut Engine<'_, '_>, schedule: &mut dyn Schedule) -> Result<(), Stop> {
    let Some(structure) = engine.devices.untried() else {
        return Ok(());
    };
    let begin = Instant::now();
    match engine.prepare_structure(structure) {
        Ok(true) => schedule.prepared(begin.elapsed()),
        Ok(false) => {}
        Err(message) => return Err((engine.intake.taken(), message).into()),
    }
    let (began, taken) = (engine.tally.began(), engine.intake.taken());
    let until = engine.total.and_then(|total| {
        let whole = began.elapsed().as_secs_f64() * total as f64 / taken.max(1) as f64;
        began.checked_add(Duration::try_from_secs_f64(whole).ok()?)
    });
    if let Some(trial) = engine.devices.trial(until) {
        (engine.begin_trial)(trial);
    }
    Ok(())
}

/// Checks and prepares an epoch.
fn begin(
    engine: &mut Engine<'_, '_>,
    epoch: &Epoch,
    last: Option<Plan>,
    schedule: &mut dyn Schedule,
) -> Result<(), Stop> {
    engine.check(epoch).map_err(Stop::Plan)?;
    let trace = engine.exec.trace();
    if last != Some(epoch.plan) && trace.is_on() {
        trace.instant(Track::Tuner, "plan", &epoch.plan.to_string());
    }
    engine.affinity.pin_workers(epoch.pin_workers);
    match engine.prepare(&epoch.plan) {
        Ok(Some(time)) => schedule.prepared(time),
        Ok(None) => {}
        Err(message) => return Err((engine.intake.taken(), message).into()),
    }
    Ok(())
}

/// Tells the schedule what an epoch cost.
fn record(end: &EpochEnd, costs: &[Duration], schedule: &mut dyn Schedule) {
    match end.cut {
        Some(Cut { after, redo }) => {
            schedule.record(Measured::CutOff {
                done: costs,
                after,
                redo,
            });
        }
        None if costs.is_empty() => {}
        None if end.next.is_some() => schedule.late(costs),
        None => schedule.record(Measured::Units { costs }),
    }
}
