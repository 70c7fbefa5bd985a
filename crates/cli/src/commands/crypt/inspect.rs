//! `evener inspect`

use std::ffi::OsString;

use evener_crypt::session::inspect;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show what an encrypted file is and what decrypts it, without a key
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener inspect backup.tar.sealed
  evener inspect --json report.pdf.age

Only the beginning of the file is read. A file that was encrypted with a key file has no mark: nothing tells it from random bytes,
and that is what is shown. What evener cannot decrypt, as files of gpg and openssl, is an error.")]
pub struct Args {
    /// The encrypted file; - or nothing is the standard input
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    input: OsString,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Ended {
    let found = inspect(&args.input)?;
    match args.json {
        true => print_json(&found)?,
        false => print(found)?,
    }
    Ok(DONE)
}
