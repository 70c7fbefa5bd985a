//! `evener image info`

use std::ffi::OsString;

use evener_block::session::describe;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show what an image or an overlay is: format, sizes, codecs, zero blocks, root hash
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image info disk.img.zst
  evener image info --json disk.qcow2

No block is decoded. The root is the hash of the whole image. It is the same for the same bytes in
blocks of the same size, with every codec. For an overlay, the image below and the amount written are
shown.")]
pub struct Args {
    /// The image
    image: OsString,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    opening: super::Opening,
}

pub fn run(args: &Args) -> Ended {
    let info = describe(&args.image, args.opening.options())?;
    match args.json {
        true => print_json(&info)?,
        false => print(info)?,
    }
    Ok(DONE)
}
