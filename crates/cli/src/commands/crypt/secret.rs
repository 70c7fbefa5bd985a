//! Keys and passphrases from where a user keeps them.

use std::path::PathBuf;

use evener_crypt::session::{Error, Secret, key_file, passphrase_file};
use zeroize::Zeroizing;

use super::Files;
use crate::failure::Failure;
use crate::output::{file_id, tell};
use crate::stream::StreamArgs;

/// Where the key or the passphrase comes from; never from the command line itself, which others can see.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// The key: a file with one line of 64 hexadecimal digits, as `evener keygen` makes it
    #[arg(short, long, value_name = "KEYFILE")]
    key: Option<PathBuf>,

    /// Ask for a passphrase on the terminal
    #[arg(short, long)]
    passphrase: bool,

    /// The passphrase: the first line of a file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl SecretArgs {
    /// Refuses to write over the key or the passphrase, which may be the only one.
    pub fn check_apart(&self, files: &Files, stream: &StreamArgs) -> Result<(), Failure> {
        let path = self.key.as_ref().or(self.passphrase_file.as_ref());
        let Some(id) = path.and_then(|path| file_id(path.as_os_str())) else {
            return Ok(());
        };
        let outputs = [
            Some(&files.output),
            stream.json.as_ref(),
            stream.trace.as_ref(),
        ];
        let mut named = outputs.into_iter().flatten().filter(|name| *name != "-");
        match named.find(|name| file_id(name) == Some(id)) {
            Some(name) => Err(Failure::request(format!(
                "{}: is the key or passphrase as well; choose another output",
                name.display()
            ))),
            None => Ok(()),
        }
    }

    /// Reads the key or the passphrase; a new passphrase is asked for twice.
    pub fn read(&self, new: bool) -> Result<Secret, Failure> {
        if let Some(path) = &self.key {
            let (secret, exposed) = key_file(path)?;
            if let Some(exposed) = exposed {
                tell(&format!("evener: warning: {}: {exposed}", path.display()));
            }
            return Ok(secret);
        }
        if let Some(path) = &self.passphrase_file {
            return Ok(passphrase_file(path)?);
        }
        let passphrase = ask("Passphrase: ")?;
        if new && *ask("The same again: ")? != *passphrase {
            return Err(Failure::running("the passphrases differ; try again"));
        }
        Ok(Secret::Passphrase(Zeroizing::new(
            passphrase.as_bytes().to_vec(),
        )))
    }
}

fn ask(prompt: &str) -> Result<Zeroizing<String>, Failure> {
    let asked = rpassword::prompt_password(prompt);
    asked.map(Zeroizing::new).map_err(|reason| {
        let name = "terminal".to_owned();
        Failure::from(Error::NoPassphrase { name, reason })
            .and("use --passphrase-file or a key file")
    })
}
