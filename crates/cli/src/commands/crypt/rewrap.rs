//! `evener rewrap`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgGroup;
use evener_crypt::session::{
    Opener, Recipients, Rewrapped, Secret, check_passphrase, check_rewrap, rewrap,
};
use evener_files::one_line;
use evener_runtime::quantity::Size;

use super::identity::{read_identities, read_recipients};
use super::secret::{Purpose, SecretArgs, check_distinct};
use crate::failure::{DONE, Ended, Failure};
use crate::output::is_stdout;
use crate::progress::{Bar, BarKind};
use crate::signals::Signals;
use crate::stderr::note;

/// Change who can decrypt an age file, without re-encrypting it
#[derive(clap::Args)]
#[command(group(ArgGroup::new("who").required(true).multiple(true)
    .args(["identity", "passphrase", "passphrase_file", "passphrase_fd"])))]
#[command(group(ArgGroup::new("to").required(true).multiple(true)
    .args(["recipient", "recipients_file", "new_passphrase", "new_passphrase_file"])))]
#[command(group(ArgGroup::new("where").required(true).args(["output", "in_place"])))]
#[command(override_usage = "\
evener rewrap {-i FILE | -p} -r RECIPIENT {-o OUT | --in-place} [IN]
       evener rewrap {-i FILE | -p} --new-passphrase {-o OUT | --in-place} [IN]")]
#[command(after_help = "\
Examples:
  evener rewrap -i identity -R team.txt report.pdf.age --in-place
  evener rewrap -p --new-passphrase report.pdf.age -o report2.pdf.age

The new header is for the given recipients only. The payload is copied without
verifying it. With --in-place the new file replaces the old one when it is
complete and on disk.

Rewrapping does not revoke earlier recipients' access: they may have kept the
file or its key. To keep them out of later versions, encrypt those anew. Files
encrypted with a key file, or in evener's own format, have no such header.")]
pub struct Args {
    /// age file; - or nothing for standard input
    #[arg(value_name = "IN", default_value = "-", hide_default_value = true)]
    input: OsString,

    /// Output; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<OsString>,

    /// Replace IN
    #[arg(long)]
    in_place: bool,

    /// Open IN with this identity file; - for standard input (repeatable)
    #[arg(short, long, value_name = "IDENTITY")]
    #[arg(conflicts_with_all = ["passphrase", "passphrase_file", "passphrase_fd"])]
    identity: Vec<PathBuf>,

    /// Open IN with a passphrase, prompted for on the terminal
    #[arg(short, long, conflicts_with_all = ["passphrase_file", "passphrase_fd"])]
    passphrase: bool,

    /// Open IN with the passphrase in the first line of FILE
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_fd")]
    passphrase_file: Option<PathBuf>,

    /// Open IN with the passphrase in the first line of file descriptor N
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<u32>,

    /// Let this recipient decrypt IN, age1... (repeatable)
    #[arg(short, long, value_name = "RECIPIENT")]
    #[arg(conflicts_with_all = ["new_passphrase", "new_passphrase_file"])]
    recipient: Vec<String>,

    /// Let the recipients in FILE decrypt IN, one per line; - for standard input (repeatable)
    #[arg(short = 'R', long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["new_passphrase", "new_passphrase_file"])]
    recipients_file: Vec<PathBuf>,

    /// Set a new passphrase, prompted for on the terminal
    #[arg(long, conflicts_with = "new_passphrase_file")]
    new_passphrase: bool,

    /// Set the passphrase in the first line of FILE
    #[arg(long, value_name = "FILE")]
    new_passphrase_file: Option<PathBuf>,
}

pub fn run(args: &Args) -> Ended {
    let _signals = Signals::take()?;
    let old = SecretArgs::of_passphrase(
        args.passphrase,
        args.passphrase_file.clone(),
        args.passphrase_fd,
    );
    let new =
        SecretArgs::of_passphrase(args.new_passphrase, args.new_passphrase_file.clone(), None);
    let lists = [&args.identity[..], &args.recipients_file].concat();
    let output = args.output.clone().unwrap_or_else(|| args.input.clone());
    let secrets: Vec<PathBuf> = [old.path(), new.path()].into_iter().flatten().collect();
    let pairs = [(args.input.clone(), output.clone())];
    check_distinct(secrets.iter().chain(&lists), &pairs, &[])?;
    let piped = lists.iter().filter(|path| path.as_os_str() == "-").count();
    if piped > 1 || piped > 0 && args.input == "-" {
        return Err(Failure::request(
            "-: only one of IN, -i and -R can be the standard input; name files",
        ));
    }
    let place = match &args.output {
        Some(output) => Rewrapped::Output(output),
        None => Rewrapped::InPlace,
    };
    check_rewrap(&args.input, place)?;
    if old.asks() {
        check_passphrase(&args.input)?;
    }
    let recipients = read_recipients(&args.recipient, &args.recipients_file)?;
    let identities = read_identities(&args.identity)?;
    let secret = match args.identity.is_empty() {
        true => Some(old.read(Purpose::Open, &args.input)?),
        false => None,
    };
    let opener = match &secret {
        Some(secret) => Opener::Secret(secret),
        None => Opener::Identities(&identities),
    };
    let session = rewrap(&args.input, place, opener)?;
    let to = match recipients.is_empty() {
        false => Recipients::Keys(recipients),
        true => match new.read(Purpose::Change, &args.input)? {
            Secret::Passphrase(text) => Recipients::Passphrase(text),
            Secret::Key(_) => unreachable!("no key was asked for"),
        },
    };
    let bar = Bar::start(BarKind::Bytes(session.bytes()));
    let mut update = bar.as_ref().map(Bar::bytes_updater);
    let written = session.run(&to, |bytes| {
        if let Some(update) = &mut update {
            update(bytes);
        }
    });
    drop(bar);
    let bytes = written?;
    if !is_stdout(&output) {
        let name = one_line(&output.to_string_lossy());
        note(&format!("{name}: {} with a new header", Size(bytes)));
    }
    Ok(DONE)
}
