//! `evener image unpack`

use std::ffi::OsString;
use std::path::PathBuf;

use evener_block::session::unpack;

use crate::failure::Ended;
use crate::run::StreamArgs;
use crate::session::{RunOutcome, convert};

/// Unpack an image to a raw image
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image unpack disk.img.zst disk.img
  evener image unpack disk.qcow2 - | sha256sum

Every block is checked against its hash or checksum before it is written. The
first bad block ends the run. The output file has holes where the image is zero.
It appears when it is complete and on disk, unless the image changed meanwhile.
Its permissions are no wider than the image's.")]
pub struct Args {
    /// Image to unpack
    image: OsString,

    /// Output; - for standard output
    #[arg(value_name = "OUT")]
    output: OsString,

    #[command(flatten)]
    opening: super::Opening,

    /// Apply this overlay first (repeatable; later ones on top)
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,

    #[command(flatten)]
    stream: StreamArgs,
}

pub fn run(args: &Args) -> Ended {
    let open = || {
        Ok(unpack(
            &args.image,
            &args.output,
            args.opening.options(),
            &args.overlay,
        )?)
    };
    convert(
        &args.stream,
        &args.output,
        super::COMPLETE,
        open,
        RunOutcome::from,
    )
}
