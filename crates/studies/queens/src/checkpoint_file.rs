//! The file of a checkpoint.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use evener_files::{
    Destination, Error as FileError, SourceFile, Staged, is_at_path, one_line, try_lock,
};

use crate::checkpoint::{Checkpoint, ParseError};
use crate::session_error::SessionError;
use crate::starts::Starts;

/// The most bytes of a checkpoint.
const LARGEST: u64 = 1 << 20;
/// How often to try when another run replaces the file.
const TRIES: u32 = 8;

/// A regular file, which need not exist yet. It is replaced as a whole, and locked as long as this lives.
pub(crate) struct CheckpointFile {
    path: PathBuf,
    name: String,
    /// The current file, locked. A new file is locked before it gets the name, so that the name always has a locked
    /// file.
    locked: Option<File>,
}

impl CheckpointFile {
    /// Reads the file, if there is one.
    pub(crate) fn open(
        path: &Path,
        starts: &Starts,
    ) -> Result<(CheckpointFile, Checkpoint), SessionError> {
        let name = one_line(&path.to_string_lossy());
        let create = |reason| FileError::Create {
            name: name.clone(),
            reason,
        };
        let path = match Destination::of(path).map_err(create)? {
            Destination::File { path, .. } => path,
            Destination::InPlace => {
                let reason =
                    "is not a regular file, and a checkpoint is replaced as a whole; name another";
                return Err(FileError::Unfit { name, reason }.into());
            }
        };
        let locked = open_locked(&path, &name)?;
        let checkpoint = match &locked {
            Some(file) => read(file, &name, starts)?,
            None => Checkpoint::new(starts),
        };
        Ok((CheckpointFile { path, name, locked }, checkpoint))
    }

    /// Replaces the file. The new one is on the disk before it gets the name, so that there is always a complete
    /// checkpoint.
    ///
    /// # Errors
    /// It cannot be written, or another run has created the first one meanwhile.
    pub(crate) fn write(&mut self, checkpoint: &Checkpoint) -> Result<(), FileError> {
        if self
            .locked
            .as_ref()
            .is_some_and(|locked| !is_at_path(locked, &self.path))
        {
            self.locked = open_locked(&self.path, &self.name)?;
        }
        let old = std::fs::metadata(&self.path).ok();
        let (staged, mut file) =
            Staged::create(&self.path, SourceFile::default().mode(), old.as_ref())?;
        let mut staged = staged.durable();
        let text = checkpoint.to_string();
        file.write_all(text.as_bytes())
            .map_err(|reason| FileError::of_write(&self.name, 0, reason))?;
        let placed = match self.locked {
            Some(_) => staged.commit(),
            None => staged.commit_new(),
        };
        placed.map_err(|reason| match reason.kind() {
            ErrorKind::AlreadyExists => busy(&self.name),
            _ => FileError::Commit {
                name: self.name.clone(),
                reason,
            },
        })?;
        self.locked = Some(file);
        Ok(())
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn busy(name: &str) -> FileError {
    FileError::Unfit {
        name: name.to_owned(),
        reason: "another run keeps its checkpoint there; end that one, or name another file",
    }
}

/// Opens and locks the file of that name; there may be none.
fn open_locked(path: &Path, name: &str) -> Result<Option<File>, FileError> {
    for _ in 0..TRIES {
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(reason) => {
                let name = name.to_owned();
                return Err(FileError::Open { name, reason });
            }
        };
        // Where files cannot be locked, the user has to avoid a second run.
        if matches!(try_lock(&file), Ok(false)) {
            return Err(busy(name));
        }
        // Otherwise another run has replaced the file since it was opened.
        if is_at_path(&file, path) {
            return Ok(Some(file));
        }
    }
    Err(busy(name))
}

fn read(file: &File, name: &str, starts: &Starts) -> Result<Checkpoint, SessionError> {
    let mut bytes = Vec::new();
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(|reason| FileError::Open {
            name: name.to_owned(),
            reason,
        })?;
    // A file that is not text is no checkpoint, or damaged; parsing says which by its first bytes.
    let text = String::from_utf8_lossy(&bytes);
    let parsed = Checkpoint::parse(&text, starts);
    parsed.map_err(|cause: ParseError| SessionError::Checkpoint {
        name: name.to_owned(),
        cause,
    })
}
