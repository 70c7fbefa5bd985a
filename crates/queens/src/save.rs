//! The file of a checkpoint.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use evener_files::{Error as FileError, Place, Staged, one_line};

use crate::checkpoint::{Checkpoint, ParseError};
use crate::session::SessionError;
use crate::starts::Starts;

/// No checkpoint has more bytes.
const LARGEST: u64 = 1 << 20;

/// A regular file, perhaps not there yet, that is replaced as a whole.
pub(crate) struct CheckpointFile {
    path: PathBuf,
    name: String,
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
        let (path, there) = match Place::of(path).map_err(create)? {
            Place::File { path, old } => (path, old.is_some()),
            Place::InPlace => {
                let reason =
                    "is no regular file, and a checkpoint is replaced as a whole; name another";
                return Err(FileError::Unfit { name, reason }.into());
            }
        };
        let file = CheckpointFile { path, name };
        let checkpoint = match there {
            true => file.read(starts)?,
            false => Checkpoint::new(starts),
        };
        Ok((file, checkpoint))
    }

    fn read(&self, starts: &Starts) -> Result<Checkpoint, SessionError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            File::open(&self.path)?
                .take(LARGEST)
                .read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|reason| FileError::Open {
            name: self.name.clone(),
            reason,
        })?;
        // What is no text is not one of ours, or damaged; either way it says which in its first bytes.
        let text = String::from_utf8_lossy(&bytes);
        let parsed = Checkpoint::parse(&text, starts);
        parsed.map_err(|cause: ParseError| SessionError::Checkpoint {
            name: self.name.clone(),
            cause,
        })
    }

    /// Replaces the file. It is on the disk before it has its name, so whatever happens meanwhile there is an old
    /// checkpoint or a new one.
    pub(crate) fn write(&self, checkpoint: &Checkpoint) -> Result<(), FileError> {
        let old = std::fs::metadata(&self.path).ok();
        let (mut staged, mut file) = Staged::create(&self.path, old.as_ref())?;
        let text = checkpoint.to_string();
        let written = file.write_all(text.as_bytes());
        written
            .and_then(|()| file.sync_all())
            .map_err(|reason| FileError::of_write(&self.name, 0, reason))?;
        staged.commit().map_err(|reason| FileError::Commit {
            name: self.name.clone(),
            reason,
        })
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
