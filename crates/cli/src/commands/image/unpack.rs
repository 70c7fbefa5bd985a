//! `evener image unpack`

use std::ffi::OsString;

use evener_block::format::Format;
use evener_block::session::{Options, unpack};

use crate::failure::Ended;
use crate::output::tell;
use crate::progress::Bar;
use crate::signals::Signals;
use crate::stream::StreamArgs;

/// Unpack an image into a raw one
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image unpack disk.img.zst disk.img
  evener image unpack disk.qcow2 - | sha256sum

Every block is compared with its hash or checksum before it is written; the first bad one ends it.
A file has holes where the image is zero, and appears when it is complete.")]
pub struct Args {
    /// The image
    image: OsString,

    /// What to write; - is the standard output
    #[arg(value_name = "OUT")]
    output: OsString,

    /// The format of the image, instead of recognising it
    #[arg(long, value_parser = super::format())]
    format: Option<&'static Format>,

    #[command(flatten)]
    stream: StreamArgs,
}

pub fn run(args: &Args) -> Ended {
    args.stream.check_apart(None, &args.output)?;
    let signals = Signals::take()?;
    let session = unpack(&args.image, &args.output, args.format)?;
    args.stream.check_apart(session.input_id(), &args.output)?;
    let started = args.stream.start(&signals)?;
    if args.stream.explain {
        tell(&session.to_string());
    }
    let bar = Bar::start(Some(session.units()), "units", "units/s");
    let options = Options {
        plan: args.stream.plan,
        workers: args.stream.workers,
        cancel: signals.token(),
        on_progress: bar.as_ref().map(|bar| Box::new(bar.updater()) as _),
    };
    let result = session.run(&started.runtime, options);
    if let Some(bar) = bar {
        bar.end();
    }
    match result {
        Ok(report) => started.done(&report, &signals, "the image itself is complete"),
        Err(error) => super::failed(error, &signals),
    }
}
