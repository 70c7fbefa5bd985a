//! The file with the process id of a server.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use evener_files::Staged;

use super::SessionError;
use crate::error::Error;

/// A file with the id of this process and a line feed. It is removed when this is dropped, if it is still the same.
pub(super) struct PidFile(PathBuf);

impl PidFile {
    /// Writes it under another name and renames it, so readers see the old file or the whole new one.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(path: &Path) -> Result<PidFile, SessionError> {
        let (mut staged, mut file) = Staged::create(path, 0o666, None).map_err(Error::from)?;
        let done = file
            .write_all(text().as_bytes())
            .and_then(|()| staged.commit());
        match done {
            Ok(()) => Ok(PidFile(path.to_owned())),
            Err(reason) => Err(failed(path, reason)),
        }
    }
}

fn text() -> String {
    format!("{}\n", std::process::id())
}

fn failed(path: &Path, reason: io::Error) -> SessionError {
    let name = evener_files::one_line(&path.to_string_lossy());
    SessionError::PidFile { name, reason }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.0).is_ok_and(|found| found == text()) {
            let _ = fs::remove_file(&self.0);
        }
    }
}
