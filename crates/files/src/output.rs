//! Output files and pipes.

use std::fs::File;
use std::io::{self, IoSlice, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

use crate::STDOUT;
use crate::error::{Error, one_line};
use crate::staged::{Place, Staged};
use crate::system::{self, FileId};

/// Where a stream is written to.
pub trait Target: Write {
    /// Ends the output after `bytes` good bytes; whatever was written beyond them is a part of a unit.
    ///
    /// # Errors
    /// The output cannot be given its place.
    fn commit(&mut self, bytes: u64) -> io::Result<()>;
}

impl Target for Vec<u8> {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        self.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// A file being written.
///
/// A regular file is written under a temporary name in the same directory, which [`Target::commit`] changes; dropped
/// before that, it is removed. Pipes, devices and the standard output are written to as they are.
pub struct OutputFile {
    file: File,
    staged: Option<Staged>,
    name: String,
}

impl OutputFile {
    /// Creates `path`, or opens it if it is a pipe or a device. A symbolic link stays and what it points to is replaced.
    ///
    /// # Errors
    /// The directory is missing or not writable, or the file exists and is not writable.
    pub fn create(path: &Path) -> Result<OutputFile, Error> {
        let name = one_line(&path.to_string_lossy());
        let create = |reason| Error::Create {
            name: name.clone(),
            reason,
        };
        match Place::of(path).map_err(create)? {
            Place::InPlace => {
                let options = File::options().write(true).truncate(true).open(path);
                let file = options.map_err(create)?;
                system::widen_pipe(&file);
                Ok(OutputFile {
                    file,
                    staged: None,
                    name,
                })
            }
            Place::File { path, old } => {
                let (staged, file) = Staged::create(&path, old.as_ref())?;
                Ok(OutputFile {
                    file,
                    staged: Some(staged),
                    name,
                })
            }
        }
    }

    /// The standard output.
    ///
    /// # Errors
    /// It is a terminal, or closed.
    pub fn stdout() -> Result<OutputFile, Error> {
        let name = STDOUT.to_owned();
        let stdout = io::stdout();
        if stdout.is_terminal() {
            let reason = "is a terminal; send the output to a file or a program";
            return Err(Error::Unfit { name, reason });
        }
        match stdout.as_fd().try_clone_to_owned() {
            Ok(fd) => {
                let file = File::from(fd);
                system::widen_pipe(&file);
                Ok(OutputFile {
                    file,
                    staged: None,
                    name,
                })
            }
            Err(reason) => Err(Error::Create { name, reason }),
        }
    }

    /// What messages call the output.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identity of the file being written, which is not that of an older file it will replace.
    pub fn id(&self) -> Option<FileId> {
        self.file.metadata().ok().as_ref().and_then(FileId::of)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Target for OutputFile {
    fn commit(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(staged) = &mut self.staged {
            if self.file.metadata()?.len() > bytes {
                self.file.set_len(bytes)?;
            }
            staged.commit()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_lies_behind_the_good_bytes_is_cut_off() {
        let directory = std::env::temp_dir().join(format!("evener-staged-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("out");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"whole framespart of one").unwrap();
        file.commit(12).unwrap();
        file.commit(12).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole frames");
        fs::remove_dir_all(&directory).unwrap();
    }
}
