//! `evener bench product`

use std::ffi::OsString;

use evener_bench::product::{self, LENGTHS, Options};
use evener_bench::report;
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time a cipher of 64 passes on one worker, in pipelines and in a farm, and predict it for others
#[derive(clap::Args)]
#[command(after_help = "\
Systems: all passes on a single worker; a pipeline with as many passes in every stage; one whose boundaries are placed by
measured cost; a farm, in which every worker runs all passes on its unit; and what plan auto chooses. A stream is cut into
22 units, or more if they were larger than 2048 blocks.

Examples:
  evener bench product
  evener bench product --blocks 22,4194304 --rounds 9 --json run.json --report run.html")]
pub struct Args {
    /// Lengths of streams in blocks of 8 bytes; 22 to 4194304 unless given
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    blocks: Vec<u64>,

    /// Numbers of workers, in addition to 1; otherwise one for each cpu
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    #[command(flatten)]
    measured: Measured,

    /// Write a page with tables and graphs
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
