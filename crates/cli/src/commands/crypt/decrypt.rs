//! `evener decrypt`

use evener_crypt::session::{Range, decrypt};

use super::SealedArgs;
use crate::failure::Ended;

/// Decrypt what `evener encrypt` made, or a part of it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener decrypt -k key backup.tar.sealed -o backup.tar
  evener decrypt -p photos.tar.sealed | tar x
  evener decrypt -k key --range 0-512 disk.img.sealed | file -

Only verified text is written. A file appears when all of it is verified. A pipe gets the text as it
is verified, so its reader learns only at the end, by the exit status, whether all of it was whole.")]
pub struct Args {
    #[command(flatten)]
    sealed: SealedArgs,

    /// Only the bytes from FROM up to, but not including, TO, counted from 0; FROM- for all from there on
    #[arg(long, value_name = "FROM-TO")]
    range: Option<Range>,
}

pub fn run(args: &Args) -> Ended {
    args.sealed.run(false, |input, output, secret, context| {
        decrypt(input, output, secret, context, args.range)
    })
}
