//! Keys and passphrases from files and from the terminal.

use std::ffi::OsStr;
use std::path::PathBuf;

use evener_crypt::session::{Error, Secret, key_file, passphrase_file};
use evener_files::{STDOUT, one_line};

use super::files::Files;
use crate::failure::Failure;
use crate::output::{file_id, is_stdout};
use crate::run::StreamArgs;
use crate::stderr::print_err;
use crate::terminal::Terminal;

/// The source of the key or the passphrase: never the command line itself, which others can see.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// The key: a file with one line of 64 hexadecimal digits, as `evener keygen` makes it. From the pipe that IN comes
    /// from, as /dev/stdin, it takes the first line, and the rest is the data
    #[arg(short, long, value_name = "KEYFILE")]
    key: Option<PathBuf>,

    /// Ask for a passphrase on the terminal
    #[arg(short, long)]
    passphrase: bool,

    /// The passphrase: the first line of a file, blanks and all. From the pipe that IN comes from, as /dev/stdin, it takes
    /// that line, and the rest is the data
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Refuses to overwrite the key or the passphrase.
    pub fn check_distinct(&self, files: &Files, stream: &StreamArgs) -> Result<(), Failure> {
        let path = self.key.as_ref().or(self.passphrase_file.as_ref());
        let Some(id) = path.and_then(|path| file_id(path.as_os_str())) else {
            return Ok(());
        };
        let outputs = [
            Some(&files.output),
            stream.json.as_ref(),
            stream.trace.as_ref(),
        ];
        let mut outputs = outputs.into_iter().flatten();
        match outputs.find(|name| file_id(name) == Some(id)) {
            Some(name) => Err(Failure::request(format!(
                "{}: is the key or passphrase as well; choose another output",
                match is_stdout(name) {
                    true => STDOUT.to_owned(),
                    false => one_line(&name.to_string_lossy()),
                }
            ))),
            None => Ok(()),
        }
    }

    /// Reads the key or the passphrase; a new passphrase is asked for twice. `input` is the name of the data.
    pub fn read(&self, new: bool, input: &OsStr) -> Result<Secret, Failure> {
        let (path, (secret, warnings)) = match (&self.key, &self.passphrase_file) {
            (Some(path), _) => (path, key_file(path, input)?),
            (None, Some(path)) => (path, passphrase_file(path, input)?),
            (None, None) => return ask(new),
        };
        let name = one_line(&path.to_string_lossy());
        for warning in warnings {
            print_err(&format!("evener: warning: {name}: {warning}"));
        }
        Ok(secret)
    }
}

fn ask(new: bool) -> Result<Secret, Failure> {
    let name = || "terminal".to_owned();
    let failed = |reason| {
        let error = Error::NoPassphrase {
            name: name(),
            reason,
        };
        Failure::from(error).and("use --passphrase-file or a key file")
    };
    let terminal = Terminal::open().map_err(failed)?;
    let passphrase = terminal.ask("Passphrase: ").map_err(failed)?;
    if new && *terminal.ask("The same again: ").map_err(failed)? != *passphrase {
        return Err(Failure::running("the passphrases differ; try again"));
    }
    let wrong = |cause| Error::Passphrase {
        name: name(),
        cause,
    };
    Ok(Secret::passphrase(passphrase).map_err(wrong)?)
}
