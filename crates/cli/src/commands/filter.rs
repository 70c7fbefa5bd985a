//! `evener filter`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_image::graph::{Graph, Planes};
use evener_image::session::{self, Options, Session};
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::{Choice, Placement, Report, Runtime, Topology, Trace};

use crate::failure::{DONE, Ended, Failure};
use crate::output::{Side, check_apart, file_id, tell};
use crate::progress::Bar;
use crate::signals::Signals;

/// Run the frames of a video through filters
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener filter \"undistort,rotate=6,crop=0.8\" -i in.mkv -o out.mkv
  evener filter blur,sobel,threshold=0.3 -i in.y4m -o out.y4m --explain
  evener filter blur -i testsrc:1920x1080:300 -o null:
  ffmpeg -v error -i in.mp4 -f yuv4mpegpipe - | evener filter flip=h -i - -o - | ffplay -

Inputs:
  FILE.y4m, or - for y4m on the standard input
  any file or address that ffmpeg can read, if ffmpeg is installed
  testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT], a moving test scene

Outputs:
  FILE.y4m, or - for y4m on the standard output
  any file that ffmpeg can encode; its extension says what
  null:, nothing

A file appears when it is complete; a run that fails leaves none, unless --keep-partial.
Ctrl-C ends the stream after the frame in work and keeps the frames so far (exit status 130);
a second one ends evener at once and leaves no file. See also: evener filters, evener plans.")]
pub struct Args {
    /// Filters joined by commas, each as NAME or NAME=VALUE:NAME=VALUE…
    graph: String,

    /// What to read
    #[arg(short, long, value_name = "FILE")]
    input: OsString,

    /// What to write
    #[arg(short, long, value_name = "FILE")]
    output: OsString,

    /// How to run: auto, or a plan NAME[/DISPATCH[/GRAIN]]; see `evener plans`
    #[arg(long, default_value = "auto")]
    plan: Choice,

    /// Use exactly N workers; otherwise the tuner picks, up to one for each cpu
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,

    /// The input cannot wait (a camera, a game): when computing is too slow, drop the oldest frames
    #[arg(long)]
    live: bool,

    /// Which planes: auto = edges and tones on luma, chroma grey; each = all filters on all; luma = no chroma
    #[arg(long, default_value = "auto", value_parser = planes())]
    planes: Planes,

    /// Where workers run relative to the threads for input and output
    #[arg(long, default_value = "none", value_parser = placement())]
    affinity: Placement,

    /// Tell what is computed, and which plans were tried and why
    #[arg(long)]
    explain: bool,

    /// Write a report as JSON; `-` is the standard output
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,

    /// Write what ran where and when, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<OsString>,

    /// Neither use nor keep plans of earlier runs
    #[arg(long)]
    no_memory: bool,

    /// When a run fails, keep the frames before the failure
    #[arg(long)]
    keep_partial: bool,
}

fn planes() -> impl TypedValueParser<Value = Planes> {
    PossibleValuesParser::new(Planes::ALL.map(Planes::name)).try_map(|name| {
        let found = Planes::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or("no such choice")
    })
}

pub fn placement() -> impl TypedValueParser<Value = Placement> {
    PossibleValuesParser::new(Placement::ALL.map(Placement::name))
        .try_map(|name| name.parse::<Placement>())
}

pub fn run(args: Args) -> Ended {
    let graph =
        Graph::parse(&args.graph).map_err(|error| Failure::from(session::Error::Graph(error)))?;
    let (json, trace) = (args.json.as_deref(), args.trace.as_deref());
    let sides = [("--json", json), ("--trace", trace)];
    check_apart(None, Some(&args.output), &sides)?;

    let signals = Signals::take()?;
    let session = Session::open(&graph, args.planes, &args.input, &args.output)?;
    check_apart(session.input().id(), Some(&args.output), &sides)?;
    let json = json.map(Side::create).transpose()?;
    let trace = trace.map(Side::create).transpose()?;
    signals.streaming();
    let old = file_id(&args.output);

    let topology = Topology::detect();
    let workers = args.workers.map_or(topology.workers(), |n| n as usize);
    let recorder = if trace.is_some() {
        Trace::on(workers)
    } else {
        Trace::off()
    };
    let runtime = Runtime::builder()
        .workers(workers)
        .placement(args.affinity)
        .memory(!args.no_memory)
        .trace(recorder.clone())
        .build()?;
    if args.explain {
        tell(&session.explain(topology.private_cache()).to_string());
    }
    let bar = Bar::start(session.input().frames());
    let options = Options {
        plan: args.plan,
        workers: args.workers,
        live: args.live,
        keep_partial: args.keep_partial,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
        #[cfg(debug_assertions)]
        panic_at: panic_at()?,
    };
    let result = session.run(&runtime, options);
    if let Some(bar) = bar {
        bar.end();
    }
    match result {
        Ok(report) => {
            let written = write(json, |side| side.write_json(&report))
                .and_then(|()| write(trace, |side| side.write(|out| recorder.write(out))));
            written.map_err(|failure| failure.and("the video itself is complete"))?;
            if args.explain {
                report.decisions.iter().for_each(|decision| tell(decision));
            }
            if let Some(note) = &report.placement_note {
                tell(&format!("evener: note: {note}"));
            }
            tell(&report.to_string());
            Ok(status(&report, &signals))
        }
        Err(error) if error.is_closed_pipe() => Ok(signals.status().unwrap_or(DONE)),
        Err(error) => {
            let written = error.written();
            let mut failure = Failure::from(error);
            // What is there now and was not before.
            let new = file_id(&args.output);
            if args.keep_partial && new.is_some() && new != old {
                let name = args.output.to_string_lossy();
                failure = failure.and(format_args!("{written} frames kept in {name}"));
            }
            Err(match signals.status() {
                Some(status) => failure.with_status(status),
                None => failure,
            })
        }
    }
}

fn write(
    side: Option<Side>,
    write: impl FnOnce(Side) -> Result<(), Failure>,
) -> Result<(), Failure> {
    side.map_or(Ok(()), write)
}

fn status(report: &Report, signals: &Signals) -> u8 {
    match signals.status() {
        Some(status) if report.cancelled => status,
        _ => DONE,
    }
}

/// The frame on which a kernel is to panic, for tests of what becomes of that: `EVENER_TEST_PANIC=frame:N`, in debug
/// builds only.
#[cfg(debug_assertions)]
fn panic_at() -> Result<Option<u64>, Failure> {
    const VARIABLE: &str = "EVENER_TEST_PANIC";
    let Ok(text) = std::env::var(VARIABLE) else {
        return Ok(None);
    };
    let frame = text.strip_prefix("frame:").and_then(|n| n.parse().ok());
    let unclear = || Failure::request(format!("{VARIABLE}: '{text}' is not frame:N"));
    frame.map(Some).ok_or_else(unclear)
}
