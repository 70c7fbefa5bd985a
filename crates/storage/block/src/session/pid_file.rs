//! The file with the process id of a server.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use evener_files::{Staged, is_at_path, one_line, try_lock};

use super::SessionError;
use crate::error::Error;

/// How often to try when other servers begin and end.
const TRIES: u32 = 8;

/// A file with the id of this process and a line feed. It is locked as long as this is there, and removed when this is
/// dropped, if it is still the same.
pub(super) struct PidFile {
    path: PathBuf,
    file: File,
}

impl PidFile {
    /// Writes it under another name and renames it, so readers see the old file or the whole new one. The file of a
    /// server that has ended is replaced.
    ///
    /// # Errors
    /// The server that wrote it still runs, it is no file, or it cannot be written.
    pub(super) fn write(path: &Path) -> Result<PidFile, SessionError> {
        for _ in 0..TRIES {
            let old = old(path)?;
            let (mut staged, mut file) = Staged::create(path, 0o666, None).map_err(Error::from)?;
            // Without locks nothing is known of other servers.
            let _ = try_lock(&file);
            let done = file.write_all(text().as_bytes()).and_then(|()| match &old {
                Some(_) => staged.commit(),
                None => staged.commit_new(),
            });
            let path = path.to_owned();
            match done {
                Ok(()) => return Ok(PidFile { path, file }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(reason) => return Err(failed(&path, reason)),
            }
        }
        let reason = "other servers begin and end with the same file";
        Err(failed(path, io::Error::other(reason)))
    }
}

/// The file that is there, locked, so that no other server replaces it meanwhile.
fn old(path: &Path) -> Result<Option<File>, SessionError> {
    for _ in 0..TRIES {
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Ok(found) if !found.is_file() => {
                return Err(failed(path, io::Error::other("is not a file")));
            }
            _ => {}
        }
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(reason) => return Err(failed(path, reason)),
        };
        if let Ok(false) = try_lock(&file) {
            let mut id = String::new();
            let _ = (&mut file).take(32).read_to_string(&mut id);
            return Err(SessionError::Runs {
                name: one_line(&path.to_string_lossy()),
                id: one_line(id.trim()),
            });
        }
        if is_at_path(&file, path) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn text() -> String {
    format!("{}\n", std::process::id())
}

fn failed(path: &Path, reason: io::Error) -> SessionError {
    let name = one_line(&path.to_string_lossy());
    SessionError::PidFile { name, reason }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if is_at_path(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
