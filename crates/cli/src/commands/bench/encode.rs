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

/// Time the analysis of H.264 encoding in jobs from a search to a frame, and predict encodes on 16 workers
#[derive(clap::Args)]
#[command(after_help = "\
Jobs: search is one motion search of 16x16 samples; macroblock is its search and refinement between samples;
row and frame are those of so many macroblocks. Half-pel planes are jobs of a row.
Each is handed to other workers or done by the calling one, at sub-pel depths 2, 5 and 7.

Examples:
  evener bench encode
  evener bench encode --clip foreman.y4m --clip street.y4m --json run.json --report run.html
  evener bench encode --clip testsrc:1920x1080:9 --job row,frame --workers 2 --rounds 3")]
pub struct Args {
    /// A video, as inputs of `evener encode`; otherwise a generated scene
    #[arg(long, value_name = "FILE")]
    clip: Vec<OsString>,

    /// Sizes of jobs; all unless given
    #[arg(long, value_delimiter = ',', value_parser = job())]
    job: Vec<Job>,

    /// Numbers of workers, in addition to 1; otherwise one for each cpu
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Frames that are analysed at a time; otherwise 4 to 16, by their size
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    frames: Option<u32>,

    #[command(flatten)]
    measured: Measured,

    /// Write a page with tables and graphs
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
