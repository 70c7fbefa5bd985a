//! `evener encrypt`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use evener_crypt::age::Identity;
use evener_crypt::session::{Error, Recipients, Secret, check, encrypt, encrypt_age, sealed_in};
use evener_files::one_line;

use super::identity::{read_identities, read_recipients};
use super::sealed::{Outputs, SealedArgs};
use super::secret::Purpose;
use crate::failure::{Ended, Failure};

/// Encrypt files or a pipe on all cores, in a standard format
#[derive(clap::Args)]
#[command(group(ArgGroup::new("who").required(true).multiple(true)
    .args(["key", "passphrase", "passphrase_file", "passphrase_fd", "recipient", "recipients_file", "identity"])))]
#[command(override_usage = "\
evener encrypt -k KEYFILE [OPTIONS] [IN]...
       evener encrypt -p [--age] [OPTIONS] [IN]...
       evener encrypt {-r RECIPIENT | -R FILE | -i FILE}... [OPTIONS] [IN]...")]
#[command(after_help = "\
Examples:
  evener keygen -o key
  evener encrypt -k key backup.tar -o backup.tar.sealed
  tar c photos | evener encrypt -p -o photos.tar.sealed
  evener decrypt -k key backup.tar.sealed -o backup.tar
  evener encrypt -k key *.pdf -o sealed/
  evener encrypt -R team.txt report.pdf -o report.pdf.age

With a key file or a passphrase the format is c2sp.org/chunked-encryption,
Cobblestone-256 (AES-256-GCM); with -p a header in front of it tells how
Argon2id derives the key. To recipients, and with --age, it is age version 1
(c2sp.org/age), which age and rage read. Both detect every byte that was
changed, moved, cut off or added, and let any part be decrypted without the
rest. The output file appears when it is complete and on disk. A run that fails
or is interrupted leaves no file.")]
pub struct Args {
    #[command(flatten)]
    sealed: SealedArgs,

    #[command(flatten)]
    to: RecipientArgs,

    /// Write age's format, which -r, -R and -i imply; with -p the key is derived by scrypt
    #[arg(long, conflicts_with = "key")]
    age: bool,

    /// Write ASCII armor (PEM), as age does
    #[arg(short, long, conflicts_with = "key")]
    armor: bool,
}

/// Who can decrypt, as age has it.
#[derive(clap::Args)]
#[group(multiple = true, conflicts_with = "SecretArgs")]
struct RecipientArgs {
    /// Encrypt to this recipient, age1... (repeatable)
    #[arg(short, long, value_name = "RECIPIENT")]
    recipient: Vec<String>,

    /// Encrypt to the recipients in FILE, one per line; - for standard input (repeatable)
    #[arg(short = 'R', long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,

    /// Encrypt to the recipients of the identities in IDENTITY; - for standard input (repeatable)
    #[arg(short, long, value_name = "IDENTITY")]
    identity: Vec<PathBuf>,
}

impl RecipientArgs {
    fn are_given(&self) -> bool {
        !(self.recipient.is_empty() && self.recipients_file.is_empty() && self.identity.is_empty())
    }

    fn read(&self) -> Result<Recipients, Failure> {
        let mut all = read_recipients(&self.recipient, &self.recipients_file)?;
        let identities = read_identities(&self.identity)?;
        all.extend(identities.iter().map(Identity::recipient));
        Ok(Recipients::Keys(all))
    }
}

pub fn run(args: &Args) -> Ended {
    let Args {
        sealed,
        to,
        age,
        armor,
    } = args;
    let files = [&to.recipients_file[..], &to.identity].concat();
    let age = *age || to.are_given();
    let name = |directory: &Path, input: &OsStr| sealed_in(directory, input, age);
    let outputs = Outputs::Named(&name);
    let context = sealed.context.as_bytes();
    if age {
        if !context.is_empty() {
            let name = "--context".to_owned();
            return Err(Error::AgeContext { name }.into());
        }
        return sealed.run(
            &files,
            &outputs,
            |input, output| checked(input, output, *armor),
            |input| recipients(args, input),
            |to, input, output| Ok(encrypt_age(input, output, to, *armor)?),
        );
    }
    if *armor {
        return Err(Failure::request(
            "--armor: only age's format has it; add --age",
        ));
    }
    sealed.run(
        &files,
        &outputs,
        |input, output| checked(input, output, false),
        |input| sealed.secret.read(Purpose::Seal, input),
        |secret, input, output| Ok(encrypt(input, output, secret, context)?),
    )
}

/// Whether the file can be encrypted, and no directory.
fn checked(input: &OsStr, output: &OsStr, shown: bool) -> Result<(), Error> {
    if Path::new(input).is_dir() {
        let name = one_line(&input.to_string_lossy());
        let reason = "is a directory; pipe it: tar c DIR | evener encrypt ..., or name its files: DIR/* -o OUT/";
        return Err(evener_files::Error::Unfit { name, reason }.into());
    }
    check(input, output, shown)
}

fn recipients(args: &Args, input: &OsStr) -> Result<Recipients, Failure> {
    if args.to.are_given() {
        return args.to.read();
    }
    match args.sealed.secret.read(Purpose::Seal, input)? {
        Secret::Passphrase(text) => Ok(Recipients::Passphrase(text)),
        Secret::Key(_) => unreachable!("--age and --key exclude each other"),
    }
}
