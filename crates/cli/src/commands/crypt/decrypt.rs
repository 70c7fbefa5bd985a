//! `evener decrypt`

use evener_crypt::session::{Range, decrypt};

use super::Files;
use super::secret::SecretArgs;
use crate::failure::Ended;
use crate::stream::StreamArgs;

/// Decrypt what `evener encrypt` made, or a part of it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener decrypt -k key backup.tar.sealed -o backup.tar
  evener decrypt -p photos.tar.sealed | tar x
  evener decrypt -k key --range 0-512 disk.img.sealed | file -

Nothing is written that was not verified. A file appears when all of it was; a pipe gets the text
as it is verified, so that whoever reads it learns only at the end, by the exit status, whether
the rest was whole.")]
pub struct Args {
    #[command(flatten)]
    secret: SecretArgs,

    /// The text given when it was encrypted
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    context: String,

    /// Only the bytes from FROM up to but without TO, counted from 0; FROM- for all from there on
    #[arg(long, value_name = "FROM-TO")]
    range: Option<Range>,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    stream: StreamArgs,
}

pub fn run(args: &Args) -> Ended {
    args.secret.check_apart(&args.files, &args.stream)?;
    let secret = args.secret.read(false)?;
    super::run(&args.files, &args.stream, |input, output| {
        let context = args.context.as_bytes();
        Ok(decrypt(input, output, &secret, context, args.range)?)
    })
}
