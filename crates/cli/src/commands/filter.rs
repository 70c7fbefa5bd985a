//! `evener filter`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_image::Ratio;
use evener_image::graph::{Graph, Planes};
use evener_image::io::without_prefix;
use evener_image::session::{self, Audio, Files, Options, Selection, Session};
use evener_runtime::Topology;

use crate::amount::Amount;
use crate::device::DeviceArgs;
use crate::failure::{Ended, Failure};
use crate::progress::{Bar, BarKind};
use crate::run::StreamArgs;
use crate::signals::Signals;
use crate::stderr::{self, print_err};
use crate::summary::{self, Output};

/// Run the frames of a video through filters
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener filter \"undistort,rotate=6,crop=0.8\" -i in.mkv -o out.mkv
  evener filter blur,sobel,threshold=0.3 -i in.y4m -o out.y4m --explain
  evener filter blur -i testsrc:1920x1080:300 -o null:
  evener filter scale=-2:720 -i in.mkv -o out.mkv --start 1:30 --frames 250 -- -crf 18
  ffmpeg -v error -i in.mp4 -f yuv4mpegpipe - | evener filter flip=h -i - -o - | ffplay -

Inputs:
  FILE.y4m, or - for y4m on the standard input
  any file or address that ffmpeg can read, if ffmpeg is installed
  testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT], a moving test scene of limited range (mono: full range)

Outputs:
  FILE.y4m, or - for y4m on the standard output
  NAME-%04d.png, a picture for each frame, from 1 on; any picture that ffmpeg can write
  any file that ffmpeg can encode, by its extension; sound, subtitles, titles and chapters are
  copied from an input file that ffmpeg reads, as far as the output can hold them
  null:, nothing

What stands after -- goes to ffmpeg, which writes the output.

A file appears when it is complete. It replaces an older one of its name, unless -n. A new one is not
more readable than the input. A run that fails leaves none, unless --keep-partial.
Ctrl-C ends the stream after the current frame and keeps the frames so far. A second one ends evener at
once and leaves no file. So does the first one if the reader of a pipe does not read.
See also: evener filters, evener plans.")]
pub struct Args {
    /// Filters joined by commas, each as NAME or NAME=VALUE:NAME=VALUE…
    graph: String,

    /// What to read
    #[arg(short, long, value_name = "FILE")]
    input: OsString,

    /// What to write
    #[arg(short, long, value_name = "FILE")]
    output: OsString,

    /// The input is numbered pictures, as frames-%05d.png, RATE a second
    #[arg(long, value_name = "RATE", value_parser = session::rate)]
    pictures: Option<Ratio>,

    /// Begin at this time: seconds, or as 1:30 or 0:01:30.5
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = session::seconds, hide_default_value = true)]
    start: f64,

    /// Write N frames at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,

    /// Write RATE frames a second: frames are repeated or left out
    #[arg(long, value_name = "RATE", value_parser = session::rate)]
    fps: Option<Ratio>,

    /// Replace an output that exists, as without it; as ffmpeg has it
    #[arg(short = 'y', conflicts_with = "keep_old")]
    replace: bool,

    /// Leave an output that exists as it is, and fail
    #[arg(short = 'n')]
    keep_old: bool,

    /// The input cannot wait (a camera, a game): when computing is too slow, drop the oldest frames
    #[arg(long)]
    live: bool,

    /// Which planes: auto = edges and tones on luma, chroma grey; each = all filters on all; luma = no chroma
    #[arg(long, default_value = "auto", value_parser = planes())]
    planes: Planes,

    /// Leave the sound out; otherwise it is copied from file to file
    #[arg(long)]
    no_audio: bool,

    /// When a run fails, keep the frames before the failure
    #[arg(long)]
    keep_partial: bool,

    #[command(flatten)]
    stream: StreamArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Arguments of ffmpeg for the output, after --, such as -crf 18
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
    for name in [&mut args.input, &mut args.output] {
        *name = without_prefix(name);
    }
    let graph =
        Graph::parse(&args.graph).map_err(|error| Failure::from(session::Error::Graph(error)))?;
    args.stream.check_distinct(None, &args.output)?;

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
        keep_old: args.keep_old && !args.replace,
        encoder: args.encoder,
    };
    let session = Session::open_with(&graph, args.planes, &args.input, &args.output, &files)?;
    args.stream
        .check_distinct(session.input().id(), &args.output)?;
    let started = args.stream.start_with(Some(&args.device), &signals)?;
    let output = Output::named(&args.output).of_pictures(session.writes_pictures());
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
