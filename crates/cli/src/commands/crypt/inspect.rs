//! `evener inspect`

use std::ffi::OsString;

use evener_crypt::session::inspect;

use crate::failure::{DONE, Ended};
use crate::output::{print, print_json};

/// Show an encrypted file's format and what decrypts it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener inspect backup.tar.sealed
  evener inspect --json report.pdf.age

No key is needed, and only the beginning of the file is read. A file encrypted
with a key file looks like random bytes, and evener says so. Files that evener
cannot decrypt, such as those of gpg and openssl, are an error.")]
pub struct Args {
    /// Encrypted file; - or nothing for standard input
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
