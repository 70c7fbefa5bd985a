//! Identities and recipients of age.

use std::path::PathBuf;

use evener_crypt::age::{Identity, Recipient};
use evener_crypt::session::{Error, identity_file, recipient_file};
use evener_files::one_line;

use super::secret::warn;
use crate::failure::Failure;

/// The identities in these files; `-` is the standard input.
pub fn read_identities(paths: &[PathBuf]) -> Result<Vec<Identity>, Error> {
    let mut identities = Vec::new();
    for path in paths {
        let (found, warnings) = identity_file(path)?;
        warn(&one_line(&path.to_string_lossy()), &warnings);
        identities.extend(found);
    }
    Ok(identities)
}

/// The recipients `named` on the command line, and those in `files`; `-` is the standard input.
pub fn read_recipients(named: &[String], files: &[PathBuf]) -> Result<Vec<Recipient>, Failure> {
    let mut all = Vec::new();
    for text in named {
        let recipient = text.parse();
        all.push(recipient.map_err(|error| Failure::request(format!("-r: {error}")))?);
    }
    for path in files {
        all.extend(recipient_file(path)?);
    }
    Ok(all)
}
