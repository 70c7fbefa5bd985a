//! `evener bench block`

use std::path::PathBuf;

use evener_bench::block::{self, Options};
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time requests to compressed disk images: blocks, 512 KiB on one worker and several, the device in order
#[derive(clap::Args)]
#[command(after_help = "\
Nothing that was decoded is kept, so every request is cold. For other numbers of workers the gain is predicted from what blocks
take by themselves.

Examples:
  evener bench block
  evener bench block disk.img.zst disk.img.evb --rounds 9 --json run.json")]
pub struct Args {
    /// Images of any format; otherwise generated ones
    images: Vec<PathBuf>,

    /// Numbers of workers, in addition to 1; otherwise up to one for each cpu
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=MAX_WORKERS as i64))]
    workers: Vec<u32>,

    #[command(flatten)]
    measured: Measured,
}

pub fn run(args: Args) -> Ended {
    let results = Results::create(args.measured.json.as_deref(), None)?;
    let options = Options {
        images: args.images,
        workers: args.workers,
        rounds: args.measured.rounds,
    };
    let report = block::run(&options, &mut progress()).map_err(failure)?;
    results.write(&text(&report.tables()), &report, String::new)
}
