//! Runs a stream: sets both sides up, computes, and takes both down whatever happened.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::build::{Options, Stream};
use super::engine::{Engine, Limits, MANY, Stop, not_live};
use super::error::{BoxError, Panicked, StreamError, panic_text};
use super::exchange::Exchange;
use super::exec::Executor;
use super::intake::{InLink, Intake, read_all};
use super::outlet::{Keep, OutLink, Outlet, Writer, Written, guarded};
use super::pipeline::ROOM;
use super::ports::{Sink, Source};
use super::report::{self, MemoryUse, Report};
use super::schedule::Schedule;
use super::tally::{ByteCount, Tally};
use crate::affinity::StreamAffinity;
use crate::error::Error;
use crate::plan::Choice;
use crate::runtime::Runtime;
use crate::service::{Service, Shape};
use crate::tuner::{Memory, Tuner, TunerSetup};

/// Buffers in flight where a thread reads or writes.
const INPUTS: usize = 4;
const OUTPUTS: usize = 3;
/// The fewest inputs of a live stream: one being read, one ready, one being computed.
const LIVE_INPUTS: usize = 3;

const READER: &str = "evener-in";
const WRITER: &str = "evener-out";

/// What both sides of a stream run with.
struct Site<'a, S: Service> {
    runtime: &'a Runtime,
    service: &'a S,
    exec: &'a Executor<'a, S>,
    options: &'a Options<'a>,
    affinity: &'a StreamAffinity<'a>,
}

/// What is left of a stream when no unit flows any more.
struct Remains {
    stop: Stop,
    written: Written,
    inputs: usize,
    outputs: usize,
    dropped: u64,
}

/// See [`Stream::into`].
pub(super) fn run<Src, S, K>(stream: Stream<'_, Src, S>, mut sink: K) -> Result<Report, StreamError>
where
    Src: Source<S> + 'static,
    S: Service,
    S::Input: 'static,
    K: Sink<S>,
{
    let Stream {
        runtime,
        mut source,
        service,
        mut options,
    } = stream;
    let service = service.map_err(|cause| StreamError::Bind { cause })?;
    let trace = runtime.trace();
    let private_cache = runtime.topology().private_cache();
    let mut exec = Executor::new(runtime.pool(), &service, private_cache, trace.clone());
    let mut remember = None;
    let mut schedule = match options.schedule.take() {
        Some(schedule) => schedule,
        None => {
            let (tuner, memory) = tuner(
                runtime,
                service.key(),
                exec.shapes(),
                source.units(),
                &options,
            )?;
            remember = memory;
            Box::new(tuner)
        }
    };
    let affinity = runtime.stream_affinity()?;

    let mut tally = Tally::new(
        source.units(),
        options.on_progress.take(),
        options.bytes.clone(),
    );
    let started = guarded(|| {
        source.start(&service);
        Ok::<(), BoxError>(())
    });
    if let Err(cause) = started {
        Writer::new(sink, trace.clone()).close::<S>(Keep::Nothing);
        return Err(StreamError::Source {
            unit: 0,
            written: 0,
            cause,
        });
    }
    if let Err(cause) = guarded(|| sink.start(&service)) {
        Writer::new(sink, trace.clone()).close::<S>(Keep::Nothing);
        return Err(StreamError::Sink {
            unit: None,
            written: 0,
            cause,
        });
    }
    let site = Site {
        runtime,
        service: &service,
        exec: &exec,
        options: &options,
        affinity: &affinity,
    };
    let remains = flow(&site, source, sink, &mut *schedule, &mut tally)?;
    let Remains {
        stop,
        written,
        inputs,
        outputs,
        dropped,
    } = remains;

    let wall_s = tally.began().elapsed().as_secs_f64();
    let cancelled = finished(stop, written.failure, written.units)?;
    let summary = schedule.summary();
    if let Some((memory, key)) = remember
        && let Some((plan, cost)) = summary.and_then(|s| Some((s.plan, s.cost?)))
    {
        memory.put(&key, plan, cost);
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

/// Where to remember a plan, and its key.
type Remember<'a> = (&'a Memory, String);

/// The tuner of a stream, and where to remember what it finds.
fn tuner<'a>(
    runtime: &'a Runtime,
    service: String,
    shapes: &[Shape],
    units: Option<u64>,
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
        && shape.structure.overlaps()
    {
        return Err(not_live(shape.structure));
    }
    let auto = options.choice == Choice::Auto;
    let memory = runtime.memory().filter(|_| auto).map(|memory| {
        (
            memory,
            Memory::key(&service, &runtime.topology().machine_key(), workers),
        )
    });
    let tuner = Tuner::new(TunerSetup {
        units,
        live: options.live,
        remembered: memory
            .as_ref()
            .and_then(|(memory, key)| memory.get(key, shapes)),
        fixed_workers: options.workers,
        ..runtime.tuner_setup(shapes.to_vec(), options.choice.clone())
    })?;
    Ok((tuner, memory))
}

/// Whether the stream was cancelled, or the earliest error.
fn finished(
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
        // Units are written after they are computed, so one that failed there was before all that fail later.
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

/// Lets go of both sides when computing has ended, also by a panic of a callback.
struct Release<'a, S: Service> {
    in_link: &'a InLink<S>,
    out_link: &'a OutLink<S>,
    partial: Keep,
}

impl<S: Service> Drop for Release<'_, S> {
    fn drop(&mut self) {
        self.in_link.stop_producers();
        // The writer has ended by itself unless this is a panic.
        self.out_link.end(self.partial);
    }
}

/// Lets units flow until something ends the stream.
fn flow<Src, S, K>(
    site: &Site<'_, S>,
    source: Src,
    sink: K,
    schedule: &mut dyn Schedule,
    tally: &mut Tally<'_>,
) -> Result<Remains, StreamError>
where
    Src: Source<S> + 'static,
    S: Service,
    S::Input: 'static,
    K: Sink<S>,
{
    let Options {
        live,
        keep_partial,
        in_flight,
        ref cancel,
        ..
    } = *site.options;
    let partial = Keep::partial(keep_partial);
    let trace = site.runtime.trace();
    let (read_inline, write_inline) = (source.inline() && !live, sink.inline());
    // A farm has a unit for each worker in work, a pipeline some more between its stages.
    let overlapping = (1 + ROOM) * site.runtime.workers() + 2;
    let limits = Limits {
        inputs: in_flight
            .unwrap_or(INPUTS.max(overlapping).max(MANY))
            .max(if live { LIVE_INPUTS } else { 1 }),
        outputs: in_flight.unwrap_or(OUTPUTS.max(overlapping).max(MANY)),
    };
    let in_link: Arc<InLink<S>> = Arc::new(Exchange::new(limits.inputs));
    let out_link: OutLink<S> = Exchange::new(limits.outputs);
    let writer = Writer::new(sink, trace.clone());

    let (source, reader) = if read_inline {
        (Some(source), None)
    } else {
        let (link, trace, affinity) = (Arc::clone(&in_link), trace.clone(), site.affinity.io());
        let body = move || {
            affinity.apply();
            read_all::<S, Src>(source, &link, live, &trace);
        };
        match thread::Builder::new().name(READER.into()).spawn(body) {
            Ok(reader) => (None, Some(reader)),
            Err(source) => {
                writer.close::<S>(Keep::Nothing);
                return Err(Error::Thread {
                    name: READER,
                    source,
                }
                .into());
            }
        }
    };

    let remains = thread::scope(|scope| {
        let _release = Release::<S> {
            in_link: &in_link,
            out_link: &out_link,
            partial,
        };
        let (writer, thread) = if write_inline {
            (Some(writer), None)
        } else {
            let (link, in_link, affinity) = (&out_link, &in_link, site.affinity.io());
            let body = move || {
                affinity.apply();
                writer.write_all::<S>(link, partial, || in_link.stop_consumer())
            };
            let thread = thread::Builder::new()
                .name(WRITER.into())
                .spawn_scoped(scope, body)
                .map_err(|source| Error::Thread {
                    name: WRITER,
                    source,
                })?;
            (None, Some(thread))
        };
        let mut engine = Engine {
            service: site.service,
            exec: site.exec,
            affinity: site.affinity,
            intake: Intake::new(Arc::clone(&in_link), source, trace.clone()),
            outlet: Outlet::new(&out_link, writer),
            tally,
            cancel,
            limits,
            live,
            prepared: Vec::new(),
            balance: None,
        };
        let count = |inline: bool, usual: usize, most: usize| match inline {
            true => 1,
            false => usual.min(most),
        };
        let inputs = count(read_inline, INPUTS, limits.inputs);
        let outputs = count(write_inline, OUTPUTS, limits.outputs);
        let begin = Instant::now();
        engine.ensure(inputs, outputs);
        let pair = 2 * begin.elapsed() / (inputs + outputs) as u32;
        schedule.buffers(pair, engine.in_work() as u32);
        let link = Arc::clone(&in_link);
        let waker = cancel.on_cancel(Arc::new(move || link.stop_consumer()));
        let stop = engine.drive(schedule);
        drop(waker);

        in_link.stop_producers();
        let keep = match stop {
            Stop::End => Keep::Whole,
            Stop::Stopped => Keep::Units,
            _ => partial,
        };
        let written = engine
            .outlet
            .end(keep, partial)
            .or_else(|| thread.map(joined));
        Ok::<_, StreamError>(Remains {
            stop,
            written: written.unwrap_or_default(),
            inputs: in_link.buffers(),
            outputs: out_link.buffers(),
            dropped: in_link.dropped(),
        })
    })?;
    // A reader that is inside a read is left to itself: the read may never return.
    if let Some(reader) = reader
        && !in_link.is_busy()
    {
        // It catches what its source throws, so there is no panic to pass on.
        let _ = reader.join();
    }
    Ok(remains)
}

fn joined(thread: thread::ScopedJoinHandle<'_, Written>) -> Written {
    thread.join().unwrap_or_else(|payload| Written {
        units: 0,
        failure: Some((None, Panicked(panic_text(&*payload)).into())),
    })
}
