//! Runs a stream from its beginning to its report.

use super::devices::Devices;
use super::end::{Stop, not_live};
use super::erased::{AnyService, AnySink, AnySource};
use super::error::{BoxError, StreamError};
use super::exec::Executor;
use super::expected::Expected;
use super::flow::{Context, Ends, Flowed, flow};
use super::options::Options;
use super::outlet::{Keep, Writer, guarded};
use super::ports::{Sink, Source};
use super::report::{self, MemoryUse, Report};
use super::schedule::Schedule;
use super::tally::{ByteCount, Tally};
use crate::buffer;
use crate::plan::Choice;
use crate::remembered::Plans;
use crate::runtime::Runtime;
use crate::service::{Service, Shape};
use crate::structure::Structure;
use crate::tuner::{Memory, Tuner, TunerSetup};

/// See [`Stream::into`](super::Stream::into).
pub(super) fn run<'a>(
    runtime: &'a Runtime,
    service: &AnyService,
    mut options: Options<'a>,
    mut ends: Ends<'_>,
) -> Result<Report, StreamError> {
    let units = |ends: &Ends<'_>| match ends {
        Ends::Own(source, _) => source.units(),
        Ends::Outside(_) => None,
    };
    let trace = runtime.trace();
    let private_cache = runtime.topology().private_cache();
    let mut exec = Executor::new(runtime.pool(), service, private_cache, trace.clone());
    // Where a source waits for others, it is not known how long the stream takes.
    let ready = match &ends {
        Ends::Own(source, _) => source.inline() || !source.may_wait(),
        Ends::Outside(_) => false,
    };
    let expected = Expected::of(exec.shapes(), units(&ends).filter(|_| ready));
    let _lean = expected.is_small().then(buffer::lean);
    let wanted = may_use_devices(&options, exec.shapes());
    let mut devices = Devices::new(runtime, service, exec.shapes(), wanted);
    let mut remember = None;
    let mut schedule: Box<dyn Schedule + 'a> = match options.schedule.take() {
        Some(schedule) => schedule,
        None => {
            if options.choice != Choice::Auto {
                devices.open_now();
            }
            let (tuner, memory) = tuner(
                runtime,
                devices.count(),
                service.key(),
                exec.shapes(),
                (units(&ends), expected),
                &options,
            )?;
            remember = memory;
            Box::new(tuner)
        }
    };
    let affinity = runtime.stream_affinity()?;
    let mut tally = Tally::new(
        units(&ends),
        options.on_progress.take(),
        options.bytes.clone(),
    );
    if let Ends::Own(source, sink) = &mut ends
        && let Err(error) = start(service, source, sink)
    {
        if let Ends::Own(_, sink) = ends {
            Writer::new(sink, trace.clone()).close(Keep::Nothing);
        }
        return Err(error);
    }
    let total = units(&ends);
    let context = Context {
        expected,
        runtime,
        service,
        exec: &exec,
        options: &options,
        affinity: &affinity,
        total,
    };
    let Flowed {
        stop,
        written,
        inputs,
        outputs,
        dropped,
    } = flow(&context, ends, &mut *schedule, &mut tally, &mut devices)?;

    let wall_s = tally.began().elapsed().as_secs_f64();
    let cancelled = cancelled(stop, written.failure, written.units)?;
    if !cancelled {
        tally.finished(written.units, dropped);
    }
    let summary = schedule.summary();
    // A plan that was compared with no other has not won.
    if let Some((plans, key)) = remember
        && let Some(summary) = summary.filter(|summary| summary.plans_tried > 1)
        && let (plan, Some(cost)) = (summary.plan, summary.cost)
    {
        plans.put(&key, plan, cost);
    }
    trace.counter("units", written.units as f64);
    trace.counter("dropped", dropped as f64);
    let (times, last_quarter) = tally.times();
    let (plans, last_plan) = tally.plans();
    Ok(Report {
        service: service.key(),
        names: options.names,
        units: written.units,
        bytes: options.bytes.as_ref().map(ByteCount::get),
        dropped,
        cancelled,
        wall_s,
        compute_s: times.mean_s * tally.units() as f64,
        units_per_s: if wall_s > 0.0 {
            written.units as f64 / wall_s
        } else {
            0.0
        },
        times,
        last_quarter,
        plan: last_plan.map(|last| summary.map_or(last, |s| s.plan)),
        plans,
        gain: summary.and_then(|s| s.gain).map(Into::into),
        search: summary.map(Into::into),
        decisions: schedule.decisions(),
        workers: runtime.workers(),
        devices: devices.uses(),
        placement: runtime.placement(),
        placement_note: affinity.note().map(str::to_owned),
        memory: MemoryUse {
            inputs,
            outputs,
            scratches: exec.scratches(),
            peak_resident: report::peak_resident(),
        },
    })
}

/// Starts the source, then the sink.
fn start(
    service: &AnyService,
    source: &mut AnySource,
    sink: &mut AnySink<'_>,
) -> Result<(), StreamError> {
    let started = guarded(|| {
        source.start(service);
        Ok::<(), BoxError>(())
    });
    started.map_err(|cause| StreamError::Source {
        unit: 0,
        written: 0,
        cause,
    })?;
    guarded(|| sink.start(service)).map_err(|cause| StreamError::Sink {
        unit: None,
        written: 0,
        cause,
    })
}

/// Whether the stream may run under a structure in which devices take part.
fn may_use_devices(options: &Options<'_>, shapes: &[Shape]) -> bool {
    let may_run = |structure: &Structure| match &options.choice {
        Choice::Auto => true,
        Choice::Fixed {
            structure: name, ..
        } => structure.name == name,
    };
    let mut shapes = shapes.iter().filter(|shape| shape.takes_devices());
    !options.live && shapes.any(|shape| may_run(shape.structure))
}

/// Where to remember a plan, and its key.
type Remember<'a> = (&'a Plans, String);

/// The tuner of a stream, and where to remember what it finds.
fn tuner<'a>(
    runtime: &'a Runtime,
    devices: u32,
    service: String,
    shapes: &[Shape],
    (units, expected): (Option<u64>, Expected),
    options: &Options<'_>,
) -> Result<(Tuner, Option<Remember<'a>>), StreamError> {
    let have = runtime.workers() as u32;
    let workers = options.workers.unwrap_or(have);
    if !(1..=have).contains(&workers) {
        return Err(StreamError::Workers {
            asked: workers,
            have,
        });
    }
    if options.live
        && let Choice::Fixed {
            structure: name, ..
        } = &options.choice
        && let Some(shape) = shapes.iter().find(|s| s.structure.name == name)
        && !shape.suits_live()
    {
        return Err(not_live(shape.structure));
    }
    let auto = options.choice == Choice::Auto;
    let small = expected.is_small();
    let plans = runtime.plans().filter(|_| auto && !small).map(|plans| {
        let key = Memory::key(&service, &runtime.topology().machine_key(), workers);
        (plans, key)
    });
    let (shapes, choice) = (shapes.to_vec(), options.choice.clone());
    let remembered = plans
        .as_ref()
        .and_then(|(plans, key)| plans.get(key, &shapes));
    let setup = match expected.is_measured() {
        true => runtime.tuner_setup(shapes, choice),
        false => runtime.typical_setup(shapes, choice),
    };
    let tuner = Tuner::new(TunerSetup {
        units,
        live: options.live,
        remembered,
        workers: if small && options.workers.is_none() {
            1
        } else {
            setup.workers
        },
        fixed_workers: options.workers,
        devices,
        ..setup
    })?;
    Ok((tuner, plans))
}

/// Whether the stream was cancelled, or the earliest error.
fn cancelled(
    stop: Stop,
    sink: Option<(Option<u64>, BoxError)>,
    written: u64,
) -> Result<bool, StreamError> {
    let sink = sink.map(|(unit, cause)| StreamError::Sink {
        unit,
        written,
        cause,
    });
    match (stop, sink) {
        // Units are written after they are computed, so a unit that could not be written is earlier than one that
        // failed.
        (_, Some(error @ StreamError::Sink { unit: Some(_), .. })) => Err(error),
        (Stop::Source { unit, cause }, _) => Err(StreamError::Source {
            unit,
            written,
            cause,
        }),
        (Stop::Unit { unit, message }, _) => Err(StreamError::Unit {
            unit,
            written,
            message,
        }),
        (Stop::Plan(error), _) => Err(error),
        (Stop::End | Stop::Stopped, Some(error)) => Err(error),
        (Stop::End, None) => Ok(false),
        (Stop::Stopped, None) => Ok(true),
    }
}
