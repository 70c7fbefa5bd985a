//! An encode from one named input to one named output, as for a command line.
//!
//! A [`Session`] opens both, works out what the stream says of its pictures, and runs the encoder's service between them.

mod colour;
mod error;
mod explain;
mod output;
mod parameters;
mod ports;
mod totals;

use std::ffi::OsStr;

use evener_files::lock;
use evener_image::graph::Graph;
use evener_image::io::{Input, open_input};
use evener_image::session::Audio;
use evener_image::{Format, Ratio};
use evener_runtime::stream::{CancelToken, OnProgress, Report};
use evener_runtime::{Choice, Runtime, Service, Simd};
use serde::Serialize;

use crate::chosen;
use crate::config::Config;
use crate::kernels::{Kernels, Samples};
use crate::preprocess::Preprocess;
use crate::quality::WINDOW;
use crate::service::EncodeService;
use crate::syntax::Parameters;
use crate::unit::{Coded, InputFrame};

pub use error::Error;
pub use explain::Explanation;
pub use output::Output;
pub use parameters::{parameters, vui};
pub use totals::{Quality, Summary, Totals};

use output::Planned;
use ports::{Frames, Pictures};

/// An input, options and an output that fit together, ready to run.
///
/// If it is dropped before it has run, it leaves no output.
pub struct Session {
    config: Config,
    graph: Option<Graph>,
    preprocess: Preprocess,
    parameters: Parameters,
    rate: Ratio,
    input: Input,
    output: Output,
    notes: Vec<String>,
}

/// Options of a run; all have defaults.
#[derive(Default)]
pub struct Options<'a> {
    /// Which plan.
    pub plan: Choice,
    /// Pins the number of workers.
    pub workers: Option<u32>,
    /// Whether the pictures before a failure are kept.
    pub keep_partial: bool,
    /// Ends the run early, with all pictures so far.
    pub cancel: CancelToken,
    /// Called now and then with how far the run is.
    pub on_progress: Option<OnProgress<'a>>,
}

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How it ran.
    #[serde(flatten)]
    pub report: Report,
    /// What was written.
    pub encoded: Summary,
    /// What was asked for and is not kept, a sentence each.
    pub notes: Vec<String>,
}

impl Session {
    /// Opens `input` and creates `output`, with the filters of `graph` between if there are any. `input` is as
    /// [`open_input`] takes it. `output` is `-` for NAL units on the standard output, `null:` for nothing, or a file by its
    /// extension. An input that is a pipe is waited for.
    ///
    /// # Errors
    /// The output cannot be written, the input cannot be read, the graph does not fit its frames, or no stream can be as
    /// `config` wants it. The name of the output is checked before anything is read.
    pub fn open(
        config: &Config,
        graph: Option<&Graph>,
        input: impl AsRef<OsStr>,
        output: impl AsRef<OsStr>,
        audio: Audio,
    ) -> Result<Session, Error> {
        let planned = Planned::of(output.as_ref())?;
        let mut input = open_input(input)?;
        let preprocess = Preprocess::new(input.format(), graph).map_err(Error::of_filters)?;
        input.want_planes(preprocess.planes_read());
        let origin = input.origin().cloned().map(|origin| match audio {
            Audio::Copied => origin,
            Audio::Omitted => origin.without_audio(),
        });
        let mut timing = *input.timing();
        if let Some(graph) = graph {
            let format = *input.format();
            let video = graph.video(evener_image::Video { format, timing });
            timing = video.map_err(Error::of_filters)?.timing;
        }
        let conversion = preprocess.conversion();
        let centred = conversion.is_some_and(|convert| convert.centres_chroma());
        let tags = origin.as_ref().map(|origin| origin.colour());
        let vui = vui(preprocess.output(), &timing, tags, centred);
        let parameters = parameters(config, preprocess.output(), timing.rate, vui);
        let parameters = parameters.map_err(|cause| Error::Syntax {
            name: input.name().to_owned(),
            cause,
        })?;
        check_buffer(config, timing.rate)?;
        let source = input.source_file();
        let mut notes: Vec<String> = conversion.and_then(|c| c.note()).into_iter().collect();
        if timing.interlace != 'p' && timing.interlace != '?' {
            notes.push(
                "it is interlaced and is coded as whole frames; to have them before, run ffmpeg -i FILE -vf bwdif first"
                    .to_owned(),
            );
        }
        if let Some(origin) = &origin {
            notes.extend(planned.lost(origin));
        }
        let output = planned.create(&parameters.sequence, timing.rate, &source, origin.as_ref())?;
        Ok(Session {
            config: config.clone(),
            graph: graph.cloned(),
            preprocess,
            parameters,
            rate: timing.rate,
            input,
            output,
            notes,
        })
    }

    /// What is lost of the input, each as a part of a sentence about the input.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The input.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Pictures a second.
    pub fn rate(&self) -> f64 {
        per_second(self.rate)
    }

    /// What is known about the run before it starts.
    pub fn explain(&self) -> Explanation<'_> {
        Explanation(self)
    }

    /// Runs until the input ends, or the run is cancelled.
    ///
    /// # Errors
    /// There is no memory for the frames, or a frame could not be read, coded or written.
    pub fn run(self, runtime: &Runtime, options: Options<'_>) -> Result<Outcome, Error> {
        let mut rates = None;
        let mut outcome = self.run_with(runtime, options, |config, parameters, preprocess| {
            let kernels = Kernels {
                samples: Samples::at(chosen::ANALYSIS.level()),
                ..Kernels::at(Simd::detect())
            };
            let service = EncodeService::new(config, parameters, preprocess, kernels);
            rates = Some(service.rates());
            service
        })?;
        if let Some(rates) = rates {
            let of_rates = lock(&rates).summary().notes();
            outcome.notes.extend(of_rates);
        }
        Ok(outcome)
    }

    /// Runs the service that `make` makes until the input ends, or the run is cancelled.
    ///
    /// # Errors
    /// There is no memory for the frames, or a frame could not be read, coded or written.
    pub fn run_with<S>(
        self,
        runtime: &Runtime,
        options: Options<'_>,
        make: impl FnOnce(&Config, &Parameters, Preprocess) -> S,
    ) -> Result<Outcome, Error>
    where
        S: Service<Input = InputFrame, Output = Coded>,
    {
        let Session {
            config,
            preprocess,
            parameters,
            rate,
            mut input,
            output,
            ..
        } = self;
        let format = *preprocess.output();
        check_memory(
            &format,
            EncodeService::bytes(&config, &parameters, &preprocess),
        )?;
        if let Input::Test(source) = &mut input {
            // Not a part of what is measured.
            source.draw()?;
        }
        let service = make(&config, &parameters, preprocess);
        let sink = Pictures::new(output);
        let totals = sink.totals();
        let mut stream = runtime
            .stream(Frames::new(input))
            .through(service)
            .plan(options.plan)
            .workers(options.workers)
            .keep_partial(options.keep_partial)
            .cancel(options.cancel)
            .named("frames", "rows")
            .rate_named("fps")
            .counting(sink.count());
        if let Some(on_progress) = options.on_progress {
            stream = stream.on_progress(on_progress);
        }
        let report = stream.into(sink).map_err(Error::of_run)?;
        let totals = lock(&totals);
        let encoded = totals.summary(&format, per_second(rate), config.psnr, config.ssim);
        let small = totals::windowless(&format).filter(|_| config.ssim);
        let notes = small.map(|(width, height)| {
            format!(
                "no SSIM: it is the mean over windows of {WINDOW}x{WINDOW} samples, and planes of chroma have {width}x{height}"
            )
        });
        Ok(Outcome {
            report,
            encoded,
            notes: notes.into_iter().collect(),
        })
    }
}

fn per_second(rate: Ratio) -> f64 {
    f64::from(rate.num) / f64::from(rate.den)
}

/// Checks that the decoder's buffer holds one frame at the highest rate.
fn check_buffer(config: &Config, rate: Ratio) -> Result<(), Error> {
    let Some(vbv) = config.vbv else {
        return Ok(());
    };
    let least = (vbv.maxrate as f64 / per_second(rate)).ceil() as u64;
    match vbv.bufsize >= least {
        true => Ok(()),
        false => Err(Error::SmallBuffer {
            bufsize: vbv.bufsize,
            maxrate: vbv.maxrate,
            rate: per_second(rate),
            least,
        }),
    }
}

/// Checks that `bytes` can be had for pictures of `coded`, since running out of memory later ends the process.
fn check_memory(coded: &Format, bytes: usize) -> Result<(), Error> {
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| Error::of_memory(*coded, bytes))
}
