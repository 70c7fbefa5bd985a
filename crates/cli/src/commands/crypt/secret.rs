//! Keys and passphrases from files and from the terminal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use evener_crypt::keys::{KeyFileError, generated_passphrase};
use evener_crypt::session::{
    Error, Secret, SecretWarning, key_file, passphrase_fd, passphrase_file,
};
use evener_files::{STDOUT, one_line};
use rustix::io::Errno;

use super::sealed::is_secret;
use crate::failure::Failure;
use crate::output::{file_id, is_stdout};
use crate::stderr::print_err;
use crate::terminal::Terminal;

/// The source of the key or the passphrase: never the command line itself, which others can see.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct SecretArgs {
    /// Key file from `evener keygen`, one line of 64 hexadecimal digits; - for standard input. If IN is the same pipe, the first line
    /// is the key and the rest is the data
    #[arg(short, long, value_name = "KEYFILE")]
    key: Option<PathBuf>,

    /// Prompt for a passphrase on the terminal
    #[arg(short, long)]
    passphrase: bool,

    /// Read the passphrase from the first line of FILE, spaces included; - for standard input. If IN is the same pipe, the
    /// rest is the data
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// Read the passphrase from the first line of file descriptor N, as gpg does
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<u32>,
}

/// What a passphrase is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To decrypt.
    Open,
    /// To encrypt.
    Seal,
    /// To encrypt what another one decrypts.
    Change,
}

impl SecretArgs {
    /// Those of a passphrase.
    pub fn of_passphrase(ask: bool, file: Option<PathBuf>, fd: Option<u32>) -> SecretArgs {
        SecretArgs {
            key: None,
            passphrase: ask,
            passphrase_file: file,
            passphrase_fd: fd,
        }
    }

    /// The file that the key or the passphrase is in.
    pub fn path(&self) -> Option<PathBuf> {
        self.key
            .as_deref()
            .map(named)
            .or_else(|| self.passphrase_path())
    }

    fn passphrase_path(&self) -> Option<PathBuf> {
        let descriptor = self.passphrase_fd;
        let file = self.passphrase_file.as_deref().map(named);
        file.or(descriptor.map(|number| format!("/dev/fd/{number}").into()))
    }

    /// Whether a person is asked for the passphrase.
    pub fn asks(&self) -> bool {
        self.passphrase
    }

    /// Reads the key or the passphrase; a new passphrase is asked for twice. `input` is the name of the data.
    pub fn read(&self, purpose: Purpose, input: &OsStr) -> Result<Secret, Failure> {
        let shown = |path: &Path| one_line(&path.to_string_lossy());
        let (name, (secret, warnings)) =
            match (&self.key, &self.passphrase_file, self.passphrase_fd) {
                (Some(path), ..) => {
                    let name = shown(&named(path));
                    let read = key_file(&named(path), input);
                    let read = read.map_err(|error| no_key(error, &name, purpose))?;
                    (name, read)
                }
                (_, Some(path), _) => (shown(&named(path)), passphrase_file(&named(path), input)?),
                (.., Some(number)) => (
                    format!("file descriptor {number}"),
                    passphrase_fd(number, input)?,
                ),
                _ => return ask(purpose),
            };
        warn(&name, &warnings);
        Ok(secret)
    }
}

/// The path of a file with a secret; `-` is the standard input.
fn named(path: &Path) -> PathBuf {
    match path.as_os_str() == "-" {
        true => "/dev/stdin".into(),
        false => path.to_owned(),
    }
}

/// Prints warnings about a file with a secret.
pub fn warn(name: &str, warnings: &[SecretWarning]) {
    for warning in warnings {
        print_err(&format!("evener: warning: {name}: {warning}"));
    }
}

/// Why a key file, which messages call `name`, cannot be used. If there is none, and any key will do, says how to make one.
fn no_key(error: Error, name: &str, purpose: Purpose) -> Failure {
    let is_missing = match &error {
        Error::KeyFile {
            name: shown,
            cause: KeyFileError::Read(reason),
        } => shown == name && reason.kind() == io::ErrorKind::NotFound,
        _ => false,
    };
    let failure = Failure::from(error);
    match is_missing && purpose == Purpose::Seal {
        true => failure.and(format!("make one with `evener keygen -o {name}`")),
        false => failure,
    }
}

/// Refuses to overwrite files with keys or passphrases, and to take one for data where that would not be noticed.
pub fn check_distinct<'a>(
    secrets: impl IntoIterator<Item = &'a PathBuf>,
    pairs: &[(OsString, OsString)],
    sides: &[Option<&OsString>],
) -> Result<(), Failure> {
    let outputs = || {
        pairs
            .iter()
            .map(|(_, output)| output)
            .chain(sides.iter().flatten().copied())
    };
    for secret in secrets {
        let id = file_id(named(secret).as_os_str());
        if let Some(name) = outputs().find(|name| id.is_some() && file_id(name) == id) {
            return Err(Failure::request(format!(
                "{}: is the key or passphrase as well; choose another output",
                match is_stdout(name) {
                    true => STDOUT.to_owned(),
                    false => one_line(&name.to_string_lossy()),
                }
            )));
        }
        let mut inputs = pairs.iter().map(|(input, _)| input);
        if pairs.len() > 1
            && let Some(name) = inputs.find(|name| is_secret(secret, name))
        {
            let name = one_line(&name.to_string_lossy());
            let secret = "secret";
            return Err(Error::OwnInput { name, secret }.into());
        }
    }
    Ok(())
}

fn ask(purpose: Purpose) -> Result<Secret, Failure> {
    let name = || "terminal".to_owned();
    let either = "--passphrase-file or --passphrase-fd";
    let (question, option) = match purpose {
        Purpose::Open => ("Passphrase: ", either),
        Purpose::Seal => ("Passphrase (empty to generate one): ", either),
        Purpose::Change => (
            "New passphrase (empty to generate one): ",
            "--new-passphrase-file",
        ),
    };
    let failed = |reason| {
        let error = Error::NoPassphrase {
            name: name(),
            reason,
        };
        Failure::from(error).and(format!("use {option}"))
    };
    // Without a terminal, /dev/tty is not there, or cannot be opened.
    let is_none = |reason: &io::Error| {
        reason.kind() == io::ErrorKind::NotFound
            || reason.raw_os_error() == Some(Errno::NXIO.raw_os_error())
    };
    let terminal = Terminal::open().map_err(|reason| match is_none(&reason) {
        true => Failure::running(format!(
            "no terminal to ask for the passphrase; give it by {option}"
        )),
        false => failed(reason),
    })?;
    let new = purpose != Purpose::Open;
    let passphrase = terminal.ask(question).map_err(failed)?;
    if new && passphrase.is_empty() {
        let made = generated_passphrase().map_err(Error::from)?;
        terminal
            .tell("Generated passphrase (not stored, write it down): ", &made)
            .map_err(failed)?;
        return Ok(Secret::Passphrase(made));
    }
    if new && *terminal.ask("Repeat the passphrase: ").map_err(failed)? != *passphrase {
        return Err(Failure::running("the passphrases differ; try again"));
    }
    let wrong = |cause| Error::Passphrase {
        name: name(),
        cause,
    };
    Ok(Secret::passphrase(passphrase).map_err(wrong)?)
}
