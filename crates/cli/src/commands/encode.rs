//! `evener encode`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_h264::config::{Config, KEYINT, Preset, Rate, Settings, Tune, parse_bits, parse_level};
use evener_h264::session::{Error, Options, Session};
use evener_h264::syntax::{Level, Profile};
use evener_image::graph::Graph;
use evener_image::session::Audio;

use crate::amount::Amount;
use crate::device::DeviceArgs;
use crate::failure::{Ended, Failure};
use crate::progress::{Bar, BarKind};
use crate::run::StreamArgs;
use crate::signals::Signals;
use crate::stderr::{self, print_err};
use crate::summary::{self, Output};

/// Encode video as H.264
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener encode -i in.y4m -o out.mp4
  evener encode -i in.mkv -o out.mkv --preset slow --crf 20
  evener encode -i in.mp4 -o out.mp4 --bitrate 2M --maxrate 3M --bufsize 6M
  evener encode -i in.mkv -o out.mp4 --filter crop=0.8,resize=1280:720 --psnr
  ffmpeg -i in.mov -f yuv4mpegpipe - | evener encode -i - -o - | ffplay -

Inputs:
  FILE.y4m, or - for y4m on standard input
  any file or URL that ffmpeg reads, if ffmpeg is installed
  testsrc:WIDTHxHEIGHT:FRAMES[:FORMAT], a moving test scene
  Frames are encoded as 8-bit 4:2:0 progressive; others are converted.

Outputs:
  FILE.264, or - for an H.264 byte stream (Annex B) on standard output
  FILE.mp4
  FILE.mkv, .mov, .ts, .flv and others through ffmpeg, if it is installed
  null:, which discards the stream
  Audio, subtitles, titles and chapters are copied from an input file that
  ffmpeg reads, if the output format can hold them.

Rates and sizes in bits need a unit: 800k, 2.5M. Without --qp or --bitrate,
--crf 23 applies. The stream is the same, byte for byte, under every plan and
number of workers.

The output file appears when it is complete. Its permissions are no wider than
the input's. A run that fails leaves no file unless --keep-partial is given.

Ctrl-C stops after the frames in flight and keeps what is encoded so far. A
second Ctrl-C stops at once and leaves no file.

Using H.264 may require patent licences in some countries.
See also: evener filters, evener plans.")]
pub struct Args {
    /// Input; see below
    #[arg(short, long, value_name = "FILE")]
    input: OsString,

    /// Output; see below
    #[arg(short, long, value_name = "FILE")]
    output: OsString,

    /// Speed/compression trade-off
    #[arg(long, default_value = Preset::default().name(), value_parser = preset())]
    preset: Preset,

    /// Constant quality, from 0 (best) to 51; about 6 less doubles the size
    #[arg(long, value_name = "N", group = "rate")]
    crf: Option<f32>,

    /// Constant quantisation parameter of P frames, from 0 (best) to 51
    #[arg(long, value_name = "N", group = "rate", value_parser = clap::value_parser!(u8).range(0..=51))]
    qp: Option<u8>,

    /// Average bit rate, in bits per second
    #[arg(long, value_name = "R", group = "rate", value_parser = parse_bits)]
    bitrate: Option<u64>,

    /// Maximum rate into the decoder's buffer, in bits per second; needs --bufsize
    #[arg(long, value_name = "R", value_parser = parse_bits)]
    maxrate: Option<u64>,

    /// Size of the decoder's buffer, in bits; needs --maxrate
    #[arg(long, value_name = "B", value_parser = parse_bits)]
    bufsize: Option<u64>,

    /// Use only the tools of this profile
    #[arg(long, value_parser = profile())]
    profile: Option<Profile>,

    /// Keep to this level, such as 4.1; by default the lowest that fits
    #[arg(long, value_parser = parse_level)]
    level: Option<&'static Level>,

    /// Maximum distance between keyframes, in frames
    #[arg(long, value_name = "N", default_value_t = KEYINT)]
    keyint: u32,

    /// Metric to optimise: psnr or ssim; zerolatency encodes each frame before the next arrives
    #[arg(long, value_parser = tune())]
    tune: Option<Tune>,

    /// Compute the PSNR
    #[arg(long)]
    psnr: bool,

    /// Compute the SSIM
    #[arg(long)]
    ssim: bool,

    /// Filter frames first, as evener filter does
    #[arg(long, value_name = "GRAPH")]
    filter: Option<String>,

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
}

/// The values of an option that is one of `all` by its `name`.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).try_map(move |given| {
        let found = all.into_iter().find(|&one| name(one) == given);
        found.ok_or("no such choice")
    })
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    one_of(Preset::ALL, Preset::name)
}

fn profile() -> impl TypedValueParser<Value = Profile> {
    one_of(Profile::ALL, Profile::name)
}

fn tune() -> impl TypedValueParser<Value = Tune> {
    one_of(Tune::ALL, Tune::name)
}

impl Args {
    fn settings(&self) -> Settings {
        let qp = self.qp.map(Rate::Qp);
        let rate = qp
            .or(self.bitrate.map(Rate::Bitrate))
            .or(self.crf.map(Rate::Crf));
        Settings {
            preset: self.preset,
            rate: rate.unwrap_or_default(),
            maxrate: self.maxrate,
            bufsize: self.bufsize,
            profile: self.profile,
            level: self.level,
            keyint: self.keyint,
            tune: self.tune,
            psnr: self.psnr,
            ssim: self.ssim,
            ..Settings::default()
        }
    }
}

pub fn run(args: Args) -> Ended {
    let config = Config::new(&args.settings()).map_err(Failure::request)?;
    let graph = args.filter.as_deref().map(Graph::parse).transpose();
    let graph = graph.map_err(|error| Failure::from(Error::of_filters(error)))?;
    args.stream.check_distinct(None, &args.output)?;

    let signals = Signals::take()?;
    let audio = match args.no_audio {
        true => Audio::Omitted,
        false => Audio::Copied,
    };
    let session = Session::open(&config, graph.as_ref(), &args.input, &args.output, audio)?;
    args.stream
        .check_distinct(session.input().id(), &args.output)?;
    let started = args.stream.start_with(Some(&args.device), &signals)?;
    let output = Output::named(&args.output);
    let all = session.input().frames();

    for note in session.notes() {
        stderr::note(&format!("evener: note: {}: {note}", session.input().name()));
    }
    if args.stream.explain {
        print_err(&session.explain().to_string());
    }
    let bar = Bar::start(BarKind::Coded(all, session.rate()));
    let options = Options {
        plan: args.stream.plan,
        workers: args.stream.workers,
        keep_partial: args.keep_partial,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
    };
    let result = session.run(&started.runtime, options);
    drop(bar);
    let outcome = result.map_err(|error| {
        let written = Amount::Frames(error.written());
        signals.failed(output.kept(Failure::from(error), written, args.keep_partial))
    })?;
    for note in &outcome.notes {
        stderr::note(&format!("evener: note: {note}"));
    }
    let report = &outcome.report;
    let frames = Amount::Frames(report.units);
    let (what, measures) = summary::encoded(&outcome.encoded);
    let line = match report.cancelled {
        true => summary::interrupted(&output, frames, all.map(Amount::Frames)),
        false => summary::done(output.name().as_deref(), &what, frames, report),
    };
    let complete = "the video itself is complete";
    let ended = started.done_with(report, &outcome, &[line], &signals, complete)?;
    // They are asked for, so --quiet leaves them; the standard output may be the video.
    measures.iter().for_each(|measure| print_err(measure));
    Ok(ended)
}
