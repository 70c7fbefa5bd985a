//! `evener bench encode`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_bench::encode::{self, Job, Options};
use evener_bench::report;
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time H.264 analysis in jobs from one search to a frame, and predict 16 workers
#[derive(clap::Args)]
#[command(after_help = "\
Jobs: search is one 16x16 motion search; macroblock is its search and sub-pel
refinement; row and frame are all macroblocks of a row or a frame. Half-pel
planes are jobs of a row. Each job is handed to other workers or done by the
caller, at sub-pel depths 2, 5 and 7.

Examples:
  evener bench encode
  evener bench encode --clip foreman.y4m --clip street.y4m --report run.html
  evener bench encode --clip testsrc:1920x1080:9 --job row,frame --workers 2")]
pub struct Args {
    /// Video, as for `evener encode`; by default a generated scene
    #[arg(long, value_name = "FILE")]
    clip: Vec<OsString>,

    /// Job sizes; by default all
    #[arg(long, value_delimiter = ',', value_parser = job())]
    job: Vec<Job>,

    /// Worker counts besides 1; by default one per CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Frames to analyse at a time; by default 4 to 16, depending on their size
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    frames: Option<u32>,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

fn job() -> impl TypedValueParser<Value = Job> {
    PossibleValuesParser::new(Job::ALL.map(Job::name)).map(|name| {
        let mut all = Job::ALL.into_iter();
        all.find(|job| job.name() == name).unwrap_or(Job::Frame)
    })
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    let options = Options {
        clips: args.clip,
        jobs: match args.job {
            none if none.is_empty() => Job::ALL.into(),
            some => some,
        },
        workers: args.workers,
        frames: args.frames,
        rounds: args.measured.rounds,
    };
    let report = encode::run(&options, &mut progress()).map_err(failure)?;
    let tables = format!(
        "{}\n{}",
        text(&report.tables()),
        report.sentences().join("\n")
    );
    results.write(&tables, &report, || report::encode_html(&report))
}
