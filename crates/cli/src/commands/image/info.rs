//! `evener image info`

use std::ffi::OsString;

use evener_block::session::describe;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show an image or overlay: format, sizes, codecs, zero blocks, root
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener image info disk.img.zst
  evener image info --json disk.qcow2

No block is decoded. The root is the hash of the whole image. Images with the
same bytes and block size have the same root, whatever the codec. For an
overlay, the output names the image below it and the amount written.")]
pub struct Args {
    /// Image to inspect
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
