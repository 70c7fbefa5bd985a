//! `evener keygen`

use std::path::PathBuf;

use evener_crypt::keys::Key;
use evener_crypt::session::{Error, new_key_file};

use crate::failure::{DONE, Ended};
use crate::output::print_secret;

/// Make a key for `evener encrypt`
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener keygen -o backup.key
  evener encrypt -k backup.key backup.tar -o backup.tar.sealed

The key is one line of 64 hexadecimal digits. The file is new, and only its owner may read it. The
key decrypts all that was encrypted with it, and without the key that data is lost.")]
pub struct Args {
    /// The file to create; - or nothing prints the key
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Ended {
    match &args.output {
        Some(path) if path.as_os_str() != "-" => new_key_file(path)?,
        _ => print_secret(&Key::generate().map_err(Error::from)?.to_line())?,
    }
    Ok(DONE)
}
