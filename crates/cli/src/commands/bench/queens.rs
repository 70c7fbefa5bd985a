//! `evener bench queens`

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use evener_bench::queens::{self, Options};
use evener_bench::report;
use evener_queens::{LARGEST, Split};
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time n-queens split into jobs in three ways, and predict up to 256 workers
#[derive(clap::Args)]
#[command(after_help = "\
Splits: first-row has a job per square of half the first row; two-rows has a job
per pair of queens in the first two rows. Both search the whole board, halved by
mirror symmetry. constellations is what `evener queens` runs, on the plan farm.

Examples:
  evener bench queens
  evener bench queens --n 16,18 --rounds 3 --report run.html
  evener bench queens --n 18 --split constellations --workers 2")]
pub struct Args {
    /// Board sizes, in rows
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16", value_parser = clap::value_parser!(u32).range(0..=LARGEST as i64))]
    n: Vec<u32>,

    /// Worker counts besides 1; by default one per CPU
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    /// Ways to split a board into jobs; by default all
    #[arg(long, value_delimiter = ',', value_parser = split())]
    split: Vec<Split>,

    #[command(flatten)]
    measured: Measured,

    /// Write an HTML page with tables and graphs
    #[arg(long, value_name = "FILE.html")]
    report: Option<OsString>,
}

fn split() -> impl TypedValueParser<Value = Split> {
    PossibleValuesParser::new(Split::ALL.map(Split::name)).map(|name| {
        let mut all = Split::ALL.into_iter();
        all.find(|split| split.name() == name)
            .unwrap_or(Split::Constellations)
    })
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), args.report.as_deref())?;
    let options = Options {
        boards: args.n,
        workers: args.workers,
        splits: match args.split {
            none if none.is_empty() => Split::ALL.into(),
            some => some,
        },
        rounds: args.measured.rounds,
    };
    let report = queens::run(&options, &mut progress()).map_err(failure)?;
    results.write(&text(&report.tables()), &report, || {
        report::queens_html(&report)
    })
}
