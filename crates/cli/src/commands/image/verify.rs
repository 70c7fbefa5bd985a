//! `evener image verify`

use std::ffi::OsString;

use evener_block::session::verify;
use evener_runtime::dispatch::MAX_WORKERS;
use evener_runtime::{Choice, Placement};

use crate::amount::Amount;
use crate::failure::{DONE, Ended, Status};
use crate::output::{can_print, print, print_json};
use crate::run::StreamArgs;
use crate::session;
use crate::signals::Signals;
use crate::stderr::note;
use crate::structures;
use crate::summary;

/// Check every block of an image against its hash or checksum
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image verify disk.img.zst
  evener image verify --json disk.evb

Bad blocks are listed, and the exit status is then 1. Images packed by evener
have a BLAKE3 hash of every block and one over all of them. Other formats are
checked by their own checksums. In formats without checksums, verifying only
shows that every block decodes. In a qcow2 image the parts that only writers
need, such as reference counts, are checked too.")]
pub struct Args {
    /// Image to verify
    image: OsString,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    opening: super::Opening,

    /// Plan to run: auto or NAME[/DISPATCH[/GRAIN]]; see `evener plans`
    #[arg(long, default_value = "auto", value_parser = structures::plan)]
    plan: Choice,

    /// Use exactly N workers; by default the tuner picks, up to one per CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_WORKERS as i64))]
    workers: Option<u32>,
}

pub fn run(args: &Args) -> Ended {
    can_print()?;
    let signals = Signals::take()?;
    let session = verify(&args.image, args.opening.options())?;
    let stream = StreamArgs {
        plan: args.plan.clone(),
        workers: args.workers,
        affinity: Placement::default(),
        explain: false,
        json: None,
        trace: None,
        no_memory: false,
    };
    let started = stream.start(&signals)?;
    let all = Amount::Bytes(session.bytes());
    let (verified, report) = session::run(session, &stream, &started, &signals)?;
    let good = verified.good;
    let bytes = Amount::Bytes(report.bytes.unwrap_or(0));
    let line = summary::checked(&verified.name, bytes, all, &report);
    match args.json {
        true => print_json(&verified)?,
        false => print(verified)?,
    }
    note(&line);
    let found = if good { DONE } else { Status::Exit(1) };
    Ok(signals.status().unwrap_or(found))
}
