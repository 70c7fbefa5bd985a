//! A filter run from one named input to one named output, as for a command line.
//!
//! ```no_run
//! use evener_image::graph::{Graph, Planes};
//! use evener_image::session::{Audio, Options, Session};
//! use evener_runtime::Runtime;
//!
//! let graph = Graph::parse("undistort,rotate=6,crop=0.8")?;
//! let session = Session::open(&graph, Planes::Auto, "in.y4m", "out.mkv", Audio::Copied)?;
//! println!("{}", session.run(&Runtime::new()?, Options::default())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod explain;
mod fields;
#[cfg(debug_assertions)]
mod panic_at;
mod select;
mod units;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use evener_runtime::stream::{CancelToken, Report, Sink, Source, StreamError};
use evener_runtime::{Choice, Runtime, Service, Shape, Topology};

use fields::Fields;

use crate::exec::service::FilterService;
use crate::format::{Ratio, Video};
use crate::frame::Frame;
use crate::graph::bind::video_of;
use crate::graph::{Bound, Graph, Planes, Rest};
use crate::io::ffmpeg::Origin;
use crate::io::{Input, Output, open_input, open_pictures, plan_output_with};

use crate::sequence::flow::Flow;
use crate::sequence::rate::frames_at;

pub use crate::times::{rate, seconds};
pub use error::Error;
pub use explain::{Explanation, explain};
use select::Chosen;
pub use select::Selection;
use units::{Recipes, Shots, Units};

/// An input, a graph and an output that fit together, ready to run.
///
/// If it is dropped before it has run, it leaves no output.
pub struct Session {
    graph: Graph,
    bound: Bound,
    service: Filtering,
    shots: Shots,
    output: Output,
    notes: Vec<String>,
}

/// What computes the frames of a session.
enum Filtering {
    /// Each is made of one frame, in the same way.
    Plain(Box<FilterService>),
    Units(Units),
}

impl Filtering {
    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        match self {
            Filtering::Plain(service) => service.shapes(private_cache),
            Filtering::Units(service) => service.shapes(private_cache),
        }
    }
}

/// Whether the audio of a file is kept, if both input and output go through FFmpeg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audio {
    /// It is copied.
    #[default]
    Copied,
    /// It is left out.
    Omitted,
}

/// What is read of the input and how the output is written; all have defaults.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Whether sound is kept.
    pub audio: Audio,
    /// The input is numbered pictures, so many a second: see [`open_pictures`].
    pub pictures: Option<Ratio>,
    /// Which frames, of the first input.
    pub selection: Selection,
    /// Further inputs, `[1:v]` and on in a graph.
    pub others: Vec<OsString>,
    /// Whether a file that is there already is left as it is, which is an error.
    pub keep_old: bool,
    /// What the `ffmpeg` that writes the output computes of the graph: see [`Graph::parse_for`].
    pub rest: Option<Rest>,
    /// Filters of sound, for `ffmpeg`.
    pub sound: Option<String>,
    /// Arguments of `ffmpeg` for the output, such as `-crf 18`.
    pub encoder: Vec<OsString>,
}

/// Options of a run; all have defaults.
#[derive(Default)]
pub struct Options<'a> {
    /// Which plan.
    pub plan: Choice,
    /// Pins the number of workers.
    pub workers: Option<u32>,
    /// The input cannot wait: if computing is too slow, the oldest frames are dropped.
    pub live: bool,
    /// Whether the frames before a failure are kept.
    pub keep_partial: bool,
    /// Ends the run early, with all frames so far.
    pub cancel: CancelToken,
    /// Called now and then with how far the run is.
    pub on_progress: Option<OnProgress<'a>>,
    /// Makes a kernel panic on this frame, for tests. Debug builds only.
    #[cfg(debug_assertions)]
    pub panic_at: Option<u64>,
}

impl Options<'_> {
    /// The frame on which a kernel panics.
    fn panics_at(&self) -> Option<u64> {
        #[cfg(debug_assertions)]
        return self.panic_at;
        #[cfg(not(debug_assertions))]
        None
    }
}

pub use evener_runtime::stream::OnProgress;

impl Session {
    /// Opens `input` and creates `output`, both named as [`open_input`] and
    /// [`plan_output`](crate::io::plan_output) take them.
    /// An input that is a pipe is waited for.
    ///
    /// # Errors
    /// The output cannot be written, the input cannot be read, or the graph does not fit its frames. The name of the output
    /// is checked before anything is read.
    pub fn open(
        graph: &Graph,
        planes: Planes,
        input: impl AsRef<OsStr>,
        output: impl AsRef<OsStr>,
        audio: Audio,
    ) -> Result<Session, Error> {
        let files = Files {
            audio,
            ..Files::default()
        };
        Session::open_with(graph, planes, input, output, &files)
    }

    /// The same with all options of files.
    ///
    /// # Errors
    /// As [`Session::open`]; the output is there and is to be kept; or there are arguments of `ffmpeg` for an output that
    /// it does not write.
    pub fn open_with(
        graph: &Graph,
        planes: Planes,
        input: impl AsRef<OsStr>,
        output: impl AsRef<OsStr>,
        files: &Files,
    ) -> Result<Session, Error> {
        let mut encoder = files.encoder.clone();
        if let Some(sound) = &files.sound {
            encoder.extend(filtered_sound(sound, output.as_ref(), &encoder));
        }
        let planned = plan_output_with(output, &encoder)?.with_rest(files.rest.clone())?;
        if files.keep_old {
            planned.must_be_new()?;
        }
        let input = match files.pictures {
            Some(rate) => open_pictures(input, rate)?,
            None => open_input(input)?,
        };
        let (needed, given) = (graph.inputs(), files.others.len() + 1);
        if needed > given {
            return Err(Error::Inputs { needed, given });
        }
        let source = input.source_file();
        let own = *input.timing();
        let skipped = files.selection.skipped(own.rate) as f64;
        let skipped = skipped * f64::from(own.rate.den) / f64::from(own.rate.num);
        let origin = input.origin().cloned().map(|origin| match files.audio {
            Audio::Copied => origin.without_seconds(skipped),
            Audio::Omitted => origin.without_audio().without_seconds(skipped),
        });
        let mut feeds = vec![Chosen::new(input, files.selection)?];
        for other in &files.others {
            feeds.push(Chosen::new(open_input(other)?, Selection::default())?);
        }
        let entering = |(at, feed): (usize, &Chosen)| {
            let timing = *feed.input.timing();
            Video {
                format: *feed.input.format(),
                timing: match at {
                    0 => files.selection.timing(&timing),
                    _ => timing,
                },
            }
        };
        let inputs: Vec<Video> = feeds.iter().enumerate().map(entering).collect();
        let videos = graph.videos(&inputs)?;
        let bound = graph.bind_recipe(&graph.recipe(), &inputs, planes)?;
        let mut timing = video_of(&inputs, &videos, graph.result).timing;
        let fields = fields::of(&inputs[0].timing, &bound);
        timing.interlace = match (&fields, timing.interlace) {
            (Fields::Kept, order) => order,
            (Fields::Swapped, 't') => 'b',
            (Fields::Swapped, 'b') => 't',
            (Fields::Swapped, order) => order,
            (Fields::Joined | Fields::Mixed(_), _) => 'p',
        };
        let mixes = match fields {
            Fields::Mixed(note) => Some(note),
            Fields::Kept | Fields::Swapped | Fields::Joined => None,
        };
        let output = planned.create(&bound.output, &timing, &source, origin.as_ref())?;
        let mut notes = Vec::new();
        if !matches!(output, Output::Null(_)) {
            let lost = origin.as_ref().map_or(&[][..], |origin| origin.lost());
            notes.extend(
                lost.iter()
                    .cloned()
                    .chain(output.lost(origin.as_ref()))
                    .chain(mixes),
            );
        }
        let holds = matches!(&output, Output::Ffmpeg(encoder) if encoder.holds_sound());
        let sounds = holds && origin.as_ref().is_some_and(Origin::has_audio);
        if sounds && !graph.is_steady() && files.sound.is_none() {
            notes.push(
                "its sound is copied as it is, and the graph changes times; \
                 filter it too, as in `setpts=PTS/2;[0:a]atempo=2`, or leave it out by --no-audio"
                    .to_owned(),
            );
        }
        if let Some(rest) = &files.rest {
            notes.push(format!(
                "{} and what follows are computed by the ffmpeg that writes the output",
                rest.names.join(", ")
            ));
        }
        let topology = Topology::detect();
        let frames = frames(graph, &feeds, &inputs, &videos);
        let recipes = Recipes::new(graph, &inputs, planes, &topology);
        let service = match graph.is_plain() {
            true => Filtering::Plain(Box::new(graph.serve(&bound, planes, &topology))),
            false => Filtering::Units(Units {
                key: graph.key(&inputs, planes),
                output: bound.output,
                usual: recipes.prepare(&bound),
            }),
        };
        // Pictures have no times.
        let pictures = matches!(&output, Output::Ffmpeg(encoder) if encoder.writes_pictures());
        let steady = (!graph.is_steady() && !pictures).then_some(timing.rate);
        let rate = files.selection.rate;
        let feeds: Vec<(Chosen, Video)> = feeds
            .into_iter()
            .map(|feed| {
                let (format, timing) = (*feed.input.format(), *feed.input.timing());
                (feed, Video { format, timing })
            })
            .collect();
        let most = files.selection.frames;
        Ok(Session {
            service,
            graph: graph.clone(),
            bound,
            shots: Shots {
                flow: Flow::new(graph, feeds, rate, steady, &videos),
                most,
                given: 0,
                frames: match (frames, most) {
                    (Some(all), Some(most)) => Some(all.min(most)),
                    (all, _) => all,
                },
                recipes,
            },
            output,
            notes,
        })
    }

    /// What the output loses of the input, each as a part of a sentence about the input.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The input.
    pub fn input(&self) -> &Input {
        self.shots.input()
    }

    /// Whether the output is numbered pictures, a file for each frame.
    pub fn writes_pictures(&self) -> bool {
        matches!(&self.output, Output::Ffmpeg(encoder) if encoder.writes_pictures())
    }

    /// Frames that are read, if known; an estimate for FFmpeg.
    pub fn frames(&self) -> Option<u64> {
        self.shots.frames
    }

    /// What is known about the run before it starts: formats, stages, tiles and what they read.
    pub fn explain(&self, private_cache: usize) -> Explanation<'_> {
        Explanation {
            stages: explain::Stages {
                graph: &self.graph,
                bound: &self.bound,
                shapes: self.service.shapes(private_cache),
                private_cache,
            },
            input: self.shots.input(),
            output: &self.output,
        }
    }

    /// Runs until the input ends, or is cancelled.
    ///
    /// # Errors
    /// There is no memory for the frames, or a frame could not be read, computed or written.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Report, Error> {
        check_memory(&self.bound)?;
        let Session {
            service,
            mut shots,
            output,
            ..
        } = self;
        for feed in shots.flow.feeds_mut() {
            if let Input::Test(source) = &mut feed.input {
                // Not a part of what is measured.
                source.draw()?;
            }
        }
        let partial = output.partial();
        if let (Some(partial), true) = (&partial, options.keep_partial) {
            partial.keep();
        }
        let result = match (service, options.panics_at()) {
            #[cfg(debug_assertions)]
            (Filtering::Plain(service), Some(frame)) => {
                let (source, service) = panic_at::wrap(shots, *service, frame);
                run_stream(runtime, source, service, output, options)
            }
            (Filtering::Plain(service), _) => run_stream(runtime, shots, *service, output, options),
            (Filtering::Units(service), _) => run_stream(runtime, shots, service, output, options),
        };
        result.map_err(|mut error| {
            // FFmpeg had taken more frames than are in its file.
            let kept = partial.and_then(|partial| partial.kept());
            if let (StreamError::Sink { written, .. }, Some(kept)) = (&mut error, kept) {
                *written = kept;
            }
            Error::Stream {
                work: "a kernel",
                reason: error,
            }
        })
    }
}

/// Arguments of `ffmpeg` for filtered sound, which has to be encoded: with a usual codec, unless `given` names one.
fn filtered_sound(filters: &str, output: &OsStr, given: &[OsString]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-af".into(), filters.into()];
    let codec = ["-c:a", "-acodec", "-codec:a"];
    if !given
        .iter()
        .any(|argument| codec.iter().any(|name| argument == name))
    {
        let extension = Path::new(output).extension().and_then(OsStr::to_str);
        let usual = match extension {
            Some("webm" | "opus") => "libopus",
            Some("ogg" | "ogv") => "libvorbis",
            _ => "aac",
        };
        arguments.extend(["-c:a".into(), usual.into()]);
    }
    arguments
}

/// How many frames `graph` gives, if that is known.
fn frames(graph: &Graph, feeds: &[Chosen], inputs: &[Video], videos: &[Video]) -> Option<u64> {
    let entering = feeds.iter().zip(inputs).map(|(feed, entering)| {
        let rate = feed.input.timing().rate;
        Some(frames_at(feed.frames()?, rate, entering.timing.rate))
    });
    let entering: Vec<Option<u64>> = entering.collect();
    graph.frames(&entering, inputs, videos)
}

/// Frames that a stream has at most on either side, unless it has many workers.
const IN_FLIGHT: usize = 5;

/// Checks that there is memory for all frames of a stream, since running out of it later ends the process.
fn check_memory(bound: &Bound) -> Result<(), Error> {
    let (input, output) = (bound.input.frame_bytes(), bound.output.frame_bytes());
    let bytes = IN_FLIGHT * (input + output);
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| Error::Memory {
            format: if input > output {
                bound.input
            } else {
                bound.output
            },
            frames: "the frames in flight",
            bytes,
        })
}

fn run_stream<Src, S, K>(
    runtime: &Runtime,
    source: Src,
    service: S,
    sink: K,
    options: Options<'_>,
) -> Result<Report, StreamError>
where
    Src: Source<S> + 'static,
    S: Service<Output = Frame>,
    K: Sink<S>,
{
    let mut stream = runtime
        .stream(source)
        .through(service)
        .plan(options.plan)
        .workers(options.workers)
        .live(options.live)
        .keep_partial(options.keep_partial)
        .cancel(options.cancel)
        .named("frames", "rows")
        .rate_named("fps");
    if let Some(on_progress) = options.on_progress {
        stream = stream.on_progress(on_progress);
    }
    stream.into(sink)
}
