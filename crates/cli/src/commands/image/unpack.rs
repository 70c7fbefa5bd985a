//! `evener image unpack`

use std::ffi::OsString;
use std::path::PathBuf;

use evener_block::session::unpack;

use crate::failure::Ended;
use crate::run::StreamArgs;
use crate::session::{RunOutcome, convert};

/// Unpack an image into a raw one
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image unpack disk.img.zst disk.img
  evener image unpack disk.qcow2 - | sha256sum

Every block is compared with its hash or checksum before it is written. The first bad one ends the
run. A file has holes where the image is zero. It appears when it is complete and on the disk, if the
image did not change meanwhile. A new one is not more readable than the image.")]
pub struct Args {
    /// The image
    image: OsString,

    /// What to write; - is the standard output
    #[arg(value_name = "OUT")]
    output: OsString,

    #[command(flatten)]
    opening: super::Opening,

    /// Unpack it with what was written over it into this overlay, as a server of both gives it; given several times, each
    /// lies over the one before
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
