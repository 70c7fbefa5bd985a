//! `evener keygen`

use std::path::PathBuf;

use evener_crypt::age::{Identity, identity_lines};
use evener_crypt::keys::Key;
use evener_crypt::session::{Error, new_identity_file, new_key_file};
use evener_files::one_line;

use super::identity::read_identities;
use crate::failure::{DONE, Ended, Failure};
use crate::output::{print, print_secret};
use crate::stderr::note;

/// Generate a key for `evener encrypt`, or an age identity
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener keygen -o backup.key
  evener encrypt -k backup.key backup.tar -o backup.tar.sealed
  evener keygen --age -o identity
  evener keygen -y identity > recipient
  evener encrypt -R recipient backup.tar -o backup.tar.age

A key is one line of 64 hexadecimal digits. An identity is a file in
age-keygen's format; others encrypt to its recipient, which is not secret. An
existing file is not overwritten, and only the owner can read the new one.

The key or identity decrypts everything encrypted with it. Without it that data
is lost.")]
pub struct Args {
    /// File to create; - or nothing prints the key
    #[arg(short, long, value_name = "FILE", conflicts_with = "recipient")]
    output: Option<PathBuf>,

    /// Generate an age identity
    #[arg(long)]
    age: bool,

    /// Print the recipients of the identities in IDENTITY instead
    #[arg(short = 'y', long = "recipient")]
    recipient: bool,

    /// Identity file for -y; - or nothing for standard input
    #[arg(value_name = "IDENTITY")]
    identity: Option<PathBuf>,
}

pub fn run(args: &Args) -> Ended {
    if let Some(name) = args.identity.as_ref().filter(|_| !args.recipient) {
        return Err(Failure::request(format!(
            "{}: only -y takes a file of identities; -o names the file to create",
            one_line(&name.to_string_lossy())
        )));
    }
    let path = args.output.as_deref();
    let path = path.filter(|path| path.as_os_str() != "-");
    match (args.recipient, args.age, path) {
        (true, ..) => {
            let from = args.identity.clone().unwrap_or_else(|| "-".into());
            let identities = read_identities(&[from])?;
            let recipients = identities
                .iter()
                .map(|identity| identity.recipient().to_string());
            print(recipients.collect::<Vec<_>>().join("\n"))?;
        }
        (_, true, Some(path)) => {
            let recipient = new_identity_file(path)?;
            note(&format!("Public key: {recipient}"));
        }
        (_, true, None) => {
            let identity = Identity::generate().map_err(Error::from)?;
            print_secret(identity_lines(&identity).as_bytes())?;
        }
        (_, false, Some(path)) => new_key_file(path)?,
        (_, false, None) => print_secret(&Key::generate().map_err(Error::from)?.to_line())?,
    }
    Ok(DONE)
}
