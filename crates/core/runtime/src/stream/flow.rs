//! Both sides of a stream while units flow: the threads for input and output, and computing between them.

use std::sync::Arc;
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Instant;

use tracing::warn;

use super::devices::Devices;
use super::drive::drive;
use super::end::Stop;
use super::engine::{CHEAP_BUFFERS, Engine, Limits, SHORT_UNIT_BUFFERS};
use super::erased::{AnyService, AnySink, AnySource, Exec};
use super::error::{Panicked, StreamError, panic_text};
use super::expected::Expected;
use super::farm::LANE;
use super::intake::{InputQueue, Intake, read_all};
use super::options::Options;
use super::outlet::{Keep, Outlet, OutputQueue, Writer, Written};
use super::ports::Source;
use super::queue::BufferQueue;
use super::schedule::Schedule;
use super::tally::Tally;
use super::trial::Trial;
use crate::affinity::StreamAffinity;
use crate::error::Error;
use crate::runtime::Runtime;
use crate::service::Shape;
use crate::stages::ROOM;
use crate::structure::Flow;

/// Buffers in flight where a thread reads or writes.
const INPUTS: usize = 4;
const OUTPUTS: usize = 3;
/// The fewest inputs of a live stream: one being read, one ready, one being computed.
const LIVE_INPUTS: usize = 3;

const READER: &str = "evener-in";
const WRITER: &str = "evener-out";

/// What both sides of a stream run with.
pub(super) struct Context<'a> {
    pub(super) expected: Expected,
    pub(super) runtime: &'a Runtime,
    pub(super) service: &'a AnyService,
    pub(super) exec: &'a Exec<'a>,
    pub(super) options: &'a Options<'a>,
    pub(super) affinity: &'a StreamAffinity<'a>,
    /// Units of the stream, if known.
    pub(super) total: Option<u64>,
}

/// What became of a stream when no more units flow.
pub(super) struct Flowed {
    pub(super) stop: Stop,
    pub(super) written: Written,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) dropped: u64,
}

/// Stops both sides when computing has ended, even by a panic of a callback.
struct StopSides<'a> {
    inputs: &'a InputQueue,
    outputs: &'a OutputQueue,
    partial: Keep,
}

impl Drop for StopSides<'_> {
    fn drop(&mut self) {
        self.inputs.stop_producers();
        // Unless this is a panic, the writer has ended already.
        self.outputs.end(self.partial);
    }
}

/// The queues of a stream whose units come from and go to its user's own threads.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) inputs: Arc<InputQueue>,
    pub(super) outputs: Arc<OutputQueue>,
}

/// Where units come from and go to.
pub(super) enum Ends<'k> {
    Own(AnySource, AnySink<'k>),
    Outside(Outside),
}

/// Lets units flow until something ends the stream.
pub(super) fn flow<'p>(
    context: &Context<'_>,
    ends: Ends<'_>,
    schedule: &mut dyn Schedule,
    tally: &mut Tally<'p>,
    devices: &mut Devices<'p>,
) -> Result<Flowed, StreamError> {
    let options = context.options;
    let partial = Keep::partial(options.keep_partial);
    let trace = context.runtime.trace();
    let limits = limits(
        options,
        context.exec.shapes(),
        context.runtime.workers(),
        devices.most_units_inside(),
    );
    let (Outside { inputs, outputs }, own) = match ends {
        Ends::Outside(queues) => (queues, None),
        Ends::Own(source, sink) => {
            let queues = Outside {
                inputs: Arc::new(BufferQueue::new(limits.inputs)),
                outputs: Arc::new(BufferQueue::new(limits.outputs)),
            };
            (queues, Some((source, Writer::new(sink, trace.clone()))))
        }
    };
    let small = context.expected.is_small();
    let read_inline = own
        .as_ref()
        .is_some_and(|(source, _)| source.inline() || small && !source.may_wait())
        && !options.live;
    let (source, reader, writer) = match own {
        None => (None, None, None),
        Some((source, writer)) if read_inline => (Some(source), None, Some(writer)),
        Some((source, writer)) => match start_reader(context, source, &inputs) {
            Ok(reader) => (None, Some(reader), Some(writer)),
            Err(error) => {
                writer.close(Keep::Nothing);
                return Err(error.into());
            }
        },
    };
    let write_inline = writer
        .as_ref()
        .is_some_and(|writer| writer.inline() || small && !writer.may_wait());
    let flowed = thread::scope(|scope| {
        let _stop_sides = StopSides {
            inputs: &inputs,
            outputs: &outputs,
            partial,
        };
        let (writer, thread) = match writer {
            Some(writer) if !write_inline => {
                let thread = start_writer(scope, context, writer, (&inputs, &outputs), partial)?;
                (None, Some(thread))
            }
            writer => (writer, None),
        };
        let begin_trial = |trial: Trial<'p>| start_trial(scope, context.exec, trial, &inputs);
        let mut engine = Engine {
            service: context.service,
            exec: context.exec,
            affinity: context.affinity,
            intake: Intake::new(Arc::clone(&inputs), source, trace.clone()),
            outlet: Outlet::new(&outputs, writer),
            tally,
            cancel: &options.cancel,
            limits,
            are_buffers_cheap: false,
            live: options.live,
            total: context.total,
            devices,
            begin_trial: &begin_trial,
            prepared: Vec::new(),
            balance: None,
            wave: None,
            recording: options.recording.as_ref(),
        };
        let stop = compute(&mut engine, schedule, (read_inline, write_inline));

        inputs.stop_producers();
        let keep = match stop {
            Stop::End => Keep::Whole,
            Stop::Stopped => Keep::Units,
            _ => partial,
        };
        let written = engine
            .outlet
            .end(keep, partial)
            .or_else(|| thread.map(joined));
        // What goes outside is there when it is computed.
        let computed = Written {
            units: engine.tally.units(),
            failure: None,
        };
        Ok::<_, StreamError>(Flowed {
            stop,
            written: written.unwrap_or(computed),
            inputs: inputs.buffers(),
            outputs: outputs.buffers(),
            dropped: inputs.dropped(),
        })
    })?;
    // A reader inside a read is not waited for: the read may never return.
    if let Some(reader) = reader
        && !inputs.is_busy()
    {
        // It catches panics of its source, so there is none to pass on.
        let _ = reader.join();
    }
    Ok(flowed)
}

/// How many buffers there may be. A farm has a unit in work for each worker, a pipeline more between its stages. A
/// wavefront may not go on with fewer units in work than its shape has.
fn limits(options: &Options<'_>, shapes: &[Shape], workers: usize, on_devices: usize) -> Limits {
    let overlapping = (1 + ROOM) * workers + 2 + on_devices;
    let waves = shapes
        .iter()
        .filter(|shape| shape.structure.flow == Flow::Wavefront);
    let least = waves.map(|shape| shape.units as usize + 2).max();
    let limit = |usual: usize| {
        let most = usual.max(overlapping).max(SHORT_UNIT_BUFFERS);
        let limit = options.in_flight.unwrap_or(most);
        limit.max(least.unwrap_or(0))
    };
    Limits {
        inputs: limit(INPUTS).max(if options.live { LIVE_INPUTS } else { 1 }),
        outputs: limit(OUTPUTS),
    }
}

fn start_reader(
    context: &Context<'_>,
    source: AnySource,
    inputs: &Arc<InputQueue>,
) -> Result<JoinHandle<()>, Error> {
    let live = context.options.live;
    let trace = context.runtime.trace().clone();
    let (inputs, affinity) = (Arc::clone(inputs), context.affinity.io());
    let body = move || {
        affinity.apply();
        read_all(source, &inputs, live, &trace);
    };
    let thread = thread::Builder::new().name(READER.into()).spawn(body);
    thread.map_err(|source| Error::Thread {
        name: READER,
        source,
    })
}

fn start_writer<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    context: &Context<'_>,
    writer: Writer<'scope>,
    (inputs, outputs): (&'scope InputQueue, &'scope OutputQueue),
    partial: Keep,
) -> Result<ScopedJoinHandle<'scope, Written>, Error> {
    let affinity = context.affinity.io();
    let body = move || {
        affinity.apply();
        writer.write_all(outputs, partial, || inputs.stop_consumer())
    };
    let thread = thread::Builder::new().name(WRITER.into());
    thread
        .spawn_scoped(scope, body)
        .map_err(|source| Error::Thread {
            name: WRITER,
            source,
        })
}

fn start_trial<'scope, 'env, 'p: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    exec: &'scope Exec<'_>,
    trial: Trial<'p>,
    inputs: &'scope InputQueue,
) {
    let body = move || trial.run(exec, inputs);
    let thread = thread::Builder::new().name(LANE.into());
    if let Err(error) = thread.spawn_scoped(scope, body) {
        warn!("devices are not used, without a thread to try them: {error}");
    }
}

/// Makes the first buffers and computes until something ends the stream.
fn compute(
    engine: &mut Engine<'_, '_>,
    schedule: &mut dyn Schedule,
    (read_inline, write_inline): (bool, bool),
) -> Stop
where
{
    let count = |inline: bool, usual: usize, limit: usize| match inline {
        true => 1,
        false => usual.min(limit),
    };
    let inputs = count(read_inline, INPUTS, engine.limits.inputs);
    let outputs = count(write_inline, OUTPUTS, engine.limits.outputs);
    let begin = Instant::now();
    engine.make_buffers(inputs, outputs);
    let pair = 2 * begin.elapsed() / (inputs + outputs) as u32;
    engine.are_buffers_cheap = pair < CHEAP_BUFFERS;
    schedule.buffers(pair, engine.capacity() as u32);
    let queue = Arc::clone(engine.intake.queue());
    let _waker = engine
        .cancel
        .on_cancel(Arc::new(move || queue.stop_consumer()));
    drive(engine, schedule)
}

fn joined(thread: ScopedJoinHandle<'_, Written>) -> Written {
    thread.join().unwrap_or_else(|payload| Written {
        units: 0,
        failure: Some((None, Panicked(panic_text(&*payload)).into())),
    })
}
