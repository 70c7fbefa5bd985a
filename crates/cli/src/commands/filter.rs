//! `evener filter`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_image::Ratio;
use evener_image::graph::{Graph, Parsed, Planes};
use evener_image::io::without_prefix;
use evener_image::session::{self, Audio, Files, Options, Selection, Session};
use evener_runtime::Topology;

use crate::amount::Amount;
use crate::device::DeviceArgs;
use crate::failure::{DONE, Ended, Failure, Status};
use crate::output::print;
use crate::progress::{Bar, BarKind};
use crate::run::StreamArgs;
use crate::signals::Signals;
use crate::stderr::{self, print_err};
use crate::summary::{self, Output};

/// Run a video through a graph of filters
#[derive(clap::Args)]
#[command(override_usage = "evener filter GRAPH -i FILE -o FILE [OPTIONS] [-- ARGUMENTS]")]
#[command(after_help = "\
Examples:
  evener filter \"undistort,rotate=6,crop=0.8\" -i in.mkv -o out.mkv
  evener filter blur,sobel,threshold=0.3 -i in.y4m -o out.y4m --explain
  evener filter blur -i testsrc:1920x1080:300 -o null:
  evener filter scale=-2:720 -i in.mkv -o out.mkv --start 1:30 -- -crf 18
  evener filter overlay=10:10 -i in.mkv -i logo.png -o out.mkv
  evener filter \"[0:v][1:v]hstack\" -i a.mkv -i b.mkv -o both.mkv
  ffmpeg -i a.mp4 -f yuv4mpegpipe - | evener filter flip=h -i - -o - | ffplay -

Inputs:
  FILE.y4m, or - for y4m on standard input
  any file or URL that ffmpeg reads, if ffmpeg is installed
  testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT], a moving test scene in limited range
  (mono: full range)

Outputs:
  FILE.y4m, or - for y4m on standard output
  NAME-%04d.png, an image per frame, numbered from 1; any image format that
  ffmpeg writes
  any file that ffmpeg encodes, by its extension; audio, subtitles, titles and
  chapters are copied from an input file that ffmpeg reads, if the output
  format can hold them
  null:, which discards the frames

Arguments after -- go to the ffmpeg that writes the output.

The output file appears when it is complete. It replaces an existing file
unless -n is given. Its permissions are no wider than the input's. A run that
fails leaves no file unless --keep-partial is given.

Ctrl-C stops after the current frame and keeps the frames so far. A second
Ctrl-C stops at once and leaves no file; so does the first one if the reader of
a pipe has stalled.

See also: evener filters, evener plans.")]
pub struct Args {
    /// Filters joined by commas, each NAME or NAME=VALUE:NAME=VALUE…; labels and semicolons as in ffmpeg
    graph: String,

    /// Input; see below. A graph that joins streams reads several, as [0:v] and [1:v]
    #[arg(short, long, value_name = "FILE", required_unless_present = "check")]
    input: Vec<OsString>,

    /// Output; see below
    #[arg(short, long, value_name = "FILE", required_unless_present = "check")]
    output: Option<OsString>,

    /// Say what becomes of each filter of a graph written for ffmpeg, and run nothing
    #[arg(long)]
    check: bool,

    /// Read numbered images, such as frames-%05d.png, at RATE per second
    #[arg(long, value_name = "RATE", value_parser = session::rate)]
    pictures: Option<Ratio>,

    /// Start at TIME: seconds, 1:30 or 0:01:30.5
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = session::seconds, hide_default_value = true)]
    start: f64,

    /// Write at most N frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,

    /// Write RATE frames per second by repeating or dropping frames
    #[arg(long, value_name = "RATE", value_parser = session::rate)]
    fps: Option<Ratio>,

    /// Replace an existing output (the default; accepted as in ffmpeg)
    #[arg(short = 'y', conflicts_with = "keep_old")]
    replace: bool,

    /// Fail if the output exists
    #[arg(short = 'n')]
    keep_old: bool,

    /// Drop the oldest frames when filtering falls behind a live input, such as a camera
    #[arg(long)]
    live: bool,

    /// Planes to filter: auto (edges and tones on luma, grey chroma), each (every filter on every plane) or luma (drop chroma)
    #[arg(long, default_value = "auto", value_parser = planes())]
    planes: Planes,

    /// Drop the audio, which is otherwise copied from file to file
    #[arg(long)]
    no_audio: bool,

    /// If the run fails, keep the frames before the failure
    #[arg(long)]
    keep_partial: bool,

    #[command(flatten)]
    stream: StreamArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Arguments after -- for the ffmpeg that writes the output, such as -crf 18
    #[arg(last = true, value_name = "ARGUMENTS")]
    encoder: Vec<OsString>,
}

fn planes() -> impl TypedValueParser<Value = Planes> {
    PossibleValuesParser::new(Planes::ALL.map(Planes::name)).try_map(|name| {
        let found = Planes::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or("no such choice")
    })
}

pub fn run(mut args: Args) -> Ended {
    if args.check {
        let check = Graph::check(&args.graph);
        print(check.to_string())?;
        return Ok(match check.runs() {
            true => DONE,
            false => Status::Exit(1),
        });
    }
    let mut output = args.output.take().unwrap_or_default();
    for name in args.input.iter_mut().chain([&mut output]) {
        *name = without_prefix(name);
    }
    let input = args.input.remove(0);
    let parsed = Graph::parse_for(&args.graph, &args.input);
    let Parsed {
        graph,
        others,
        rest,
        sound,
    } = parsed.map_err(|error| Failure::from(session::Error::from(error)))?;
    args.stream.check_distinct(None, &output)?;

    let signals = Signals::take()?;
    let audio = match args.no_audio {
        true => Audio::Omitted,
        false => Audio::Copied,
    };
    let files = Files {
        audio,
        pictures: args.pictures,
        selection: Selection {
            start: args.start,
            frames: args.frames,
            rate: args.fps,
        },
        others,
        rest,
        sound,
        keep_old: args.keep_old && !args.replace,
        encoder: args.encoder,
    };
    let session = Session::open_with(&graph, args.planes, &input, &output, &files)?;
    args.stream.check_distinct(session.input().id(), &output)?;
    let started = args.stream.start_with(Some(&args.device), &signals)?;
    let output = Output::named(&output).of_pictures(session.writes_pictures());
    let all = session.frames();

    for note in session.notes() {
        stderr::note(&format!("evener: note: {}: {note}", session.input().name()));
    }
    if args.stream.explain {
        let private_cache = Topology::detect().private_cache();
        print_err(&session.explain(private_cache).to_string());
    }
    let bar = Bar::start(BarKind::Frames(all));
    let options = Options {
        plan: args.stream.plan,
        workers: args.stream.workers,
        live: args.live,
        keep_partial: args.keep_partial,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
        #[cfg(debug_assertions)]
        panic_at: panic_at()?,
    };
    let result = session.run(&started.runtime, options);
    drop(bar);
    let report = result.map_err(|error| {
        let written = Amount::Frames(error.written());
        signals.failed(output.kept(Failure::from(error), written, args.keep_partial))
    })?;
    let frames = Amount::Frames(report.units);
    let line = match report.cancelled {
        true => summary::interrupted(&output, frames, all.map(Amount::Frames)),
        false => {
            let name = output.name();
            summary::done(name.as_deref(), &frames.to_string(), frames, &report)
        }
    };
    started.done(&report, &[line], &signals, "the video itself is complete")
}

/// The frame on which a kernel panics, for tests: `EVENER_TEST_PANIC=frame:N`, in debug builds only.
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
