//! `evener decrypt`

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::ArgGroup;
use evener_crypt::age::Identity;
use evener_crypt::session::{
    Opener, Range, Secret, check, check_passphrase, decrypt, opened_in, verify,
};

use super::identity::read_identities;
use super::sealed::{Outputs, SealedArgs};
use super::secret::Purpose;
use crate::failure::Ended;

/// Decrypt a file, or a range of it, from `evener encrypt` or `age`
#[derive(clap::Args)]
#[command(group(ArgGroup::new("who").required(true).multiple(true)
    .args(["key", "passphrase", "passphrase_file", "passphrase_fd", "identity"])))]
#[command(override_usage = "\
evener decrypt {-k KEYFILE | -p | -i IDENTITY} [OPTIONS] [IN]...")]
#[command(after_help = "\
Examples:
  evener decrypt -k key backup.tar.sealed -o backup.tar
  evener decrypt -p photos.tar.sealed | tar x
  evener decrypt -k key --range 0-512 disk.img.sealed | file -
  evener decrypt -k key --range -1024 log.sealed
  evener decrypt -i identity report.pdf.age -o report.pdf
  evener decrypt -k key sealed/*.sealed -o texts/
  evener decrypt --verify -k key backup.tar.sealed

The format is detected. Only verified plaintext is written. Blocks of zeros
become holes. The output file appears when all of it is verified. A pipe gets
plaintext as it is verified, so its reader must check the exit status at the end
to know that nothing was cut off. On a terminal only text is shown.")]
pub struct Args {
    #[command(flatten)]
    sealed: SealedArgs,

    #[command(flatten)]
    identities: IdentityArgs,

    /// Decrypt only bytes FROM up to but excluding TO, counted from 0; FROM- for the rest, -COUNT for the last COUNT bytes
    #[arg(long, value_name = "FROM-TO", allow_hyphen_values = true)]
    range: Option<Range>,

    /// Write nothing; decrypt everything to check that it is intact
    #[arg(long, conflicts_with_all = ["output", "range"])]
    verify: bool,
}

/// What decrypts a file that is encrypted to recipients.
#[derive(clap::Args)]
#[group(conflicts_with = "SecretArgs")]
struct IdentityArgs {
    /// Decrypt an age file with an identity file from `evener keygen --age` or `age-keygen`; - for standard input (repeatable)
    #[arg(short, long, value_name = "IDENTITY")]
    identity: Vec<PathBuf>,
}

/// What was read to decrypt with.
enum Keys {
    Secret(Secret),
    Identities(Vec<Identity>),
}

pub fn run(args: &Args) -> Ended {
    let (sealed, paths) = (&args.sealed, &args.identities.identity);
    let (context, range) = (sealed.context.as_bytes(), args.range);
    let outputs = match args.verify {
        true => Outputs::None,
        false => Outputs::Named(&opened_in),
    };
    let read = |input: &OsStr| match paths.is_empty() {
        true => Ok(Keys::Secret(sealed.secret.read(Purpose::Open, input)?)),
        false => Ok(Keys::Identities(read_identities(paths)?)),
    };
    let check = |input: &OsStr, output: &OsStr| {
        check(input, output, true)?;
        match sealed.secret.asks() {
            true => check_passphrase(input),
            false => Ok(()),
        }
    };
    sealed.run(paths, &outputs, check, read, |keys, input, output| {
        let opener = match keys {
            Keys::Secret(secret) => Opener::Secret(secret),
            Keys::Identities(identities) => Opener::Identities(identities),
        };
        Ok(match outputs {
            Outputs::None => verify(input, opener, context)?,
            Outputs::Named(_) => decrypt(input, output, opener, context, range)?,
        })
    })
}
