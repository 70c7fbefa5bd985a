//! `evener bench product`

use std::ffi::OsString;

use evener_bench::product::{self, LENGTHS, Options};
use evener_bench::report;
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time the 64-pass cipher on one worker, in pipelines and in a farm, and predict more
#[derive(clap::Args)]
#[command(after_help = "\
Systems: all passes on one worker; a pipeline with equal numbers of passes per
stage; a pipeline balanced by measured cost; a farm, in which every worker runs
all passes on its unit; and what plan auto chooses. A stream is cut into 22
units, or more where these would exceed 2048 blocks.

Examples:
  evener bench product
  evener bench product --blocks 22,4194304 --rounds 9 --report run.html")]
pub struct Args {
    /// Stream lengths in blocks of 8 bytes; by default 22 to 4194304
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    blocks: Vec<u64>,

    /// Worker counts besides 1; by default one per CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    let options = Options {
        lengths: match args.blocks {
            none if none.is_empty() => LENGTHS.into(),
            some => some,
        },
        workers: args.workers,
        rounds: args.measured.rounds,
    };
    let report = product::run(&options, &mut progress()).map_err(failure)?;
    results.write(&text(&report.tables()), &report, || {
        report::product_html(&report)
    })
}
