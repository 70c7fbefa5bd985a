//! `evener bench block`

use std::path::PathBuf;

use evener_bench::block::{self, Options};
use evener_report::table::text;
use evener_runtime::dispatch::MAX_WORKERS;

use super::results::{Measured, Results};
use super::{failure, progress};
use crate::failure::Ended;

/// Time reads of compressed disk images: blocks, 512 KiB requests, the whole device
#[derive(clap::Args)]
#[command(after_help = "\
Requests of 512 KiB are timed on one worker and on several; the device is read
in order. Decoded blocks are not cached, so every request is cold. For other
worker counts the speed-up is predicted from the times of single blocks.

Examples:
  evener bench block
  evener bench block disk.img.zst disk.img.evb --rounds 9 --json run.json")]
pub struct Args {
    /// Images in any format; by default generated ones
    images: Vec<PathBuf>,

    /// Worker counts besides 1; by default up to one per CPU
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
