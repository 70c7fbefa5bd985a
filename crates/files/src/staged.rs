//! Files that appear under their name only when they are whole.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, one_line};

/// What an output path leads to.
pub enum Place {
    /// A pipe or a device: written to as it is.
    InPlace,
    /// A regular file, perhaps not there yet; `path` with links followed.
    File {
        /// Where it will be.
        path: PathBuf,
        /// The file that is there now.
        old: Option<Metadata>,
    },
}

impl Place {
    /// Where `path` leads, links followed.
    ///
    /// # Errors
    /// It is a directory, or exists and may not be written.
    pub fn of(path: &Path) -> io::Result<Place> {
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name is empty",
            ));
        }
        let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        match fs::metadata(path) {
            Ok(old) if old.is_dir() => Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory",
            )),
            Ok(old) if old.is_file() && !is_descriptor(path) => {
                // Replacing a file needs rights to its directory only: respect its own as well.
                File::options().write(true).open(path)?;
                Ok(Place::File {
                    path: fs::canonicalize(path)?,
                    old: Some(old),
                })
            }
            Ok(_) => Ok(Place::InPlace),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !slash => Ok(Place::File {
                path: follow(path)?,
                old: None,
            }),
            Err(e) => Err(e),
        }
    }
}

/// Names that stand for an open file, which has its readers already.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc") || path.starts_with("/dev/stderr")
}

/// The file that a symbolic link to nowhere would create.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => {
                path.pop();
                path.push(target);
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A temporary name beside the one a file will have. Removed when dropped before [`Staged::commit`].
pub struct Staged {
    path: PathBuf,
    temporary: PathBuf,
    committed: bool,
}

impl Staged {
    /// Creates an empty file under a temporary name with the same extension, and with the rights of the old file.
    pub fn create(path: &Path, old: Option<&Metadata>) -> Result<(Staged, File), Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let mut name = OsString::from(format!(".evener-{}-{count}.part", std::process::id()));
            if let Some(extension) = path.extension() {
                name.push(".");
                name.push(extension);
            }
            let temporary = directory.join(name);
            // In one step for whoever removes what is unfinished.
            let created: io::Result<File> = unfinished(|all| {
                let mut options = File::options();
                let file = options.write(true).create_new(true).open(&temporary)?;
                all.push(temporary.clone());
                Ok(file)
            });
            let file = match created {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(reason) => {
                    let (path, directory) = (path.to_string_lossy(), directory.to_string_lossy());
                    let name = one_line(&format!("{path} (in the directory {directory})"));
                    return Err(Error::Create { name, reason });
                }
            };
            let staged = Staged {
                path: path.to_owned(),
                temporary,
                committed: false,
            };
            if let Some(old) = old {
                file.set_permissions(old.permissions())
                    .map_err(|reason| Error::Create {
                        name: one_line(&path.to_string_lossy()),
                        reason,
                    })?;
            }
            return Ok((staged, file));
        }
    }

    /// Where the file is until [`Staged::commit`].
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name, over the old file of that name.
    pub fn commit(&mut self) -> io::Result<()> {
        if !self.committed {
            fs::rename(&self.temporary, &self.path)?;
            self.committed = true;
            unfinished(|all| all.retain(|one| *one != self.temporary));
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_file(&self.temporary);
            unfinished(|all| all.retain(|one| *one != self.temporary));
        }
    }
}

/// Temporary files of this process.
fn unfinished<R>(change: impl FnOnce(&mut Vec<PathBuf>) -> R) -> R {
    static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    change(&mut ALL.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes the files of all outputs that are not finished: for a process that ends without dropping them.
pub fn remove_unfinished() {
    unfinished(|all| {
        all.drain(..).for_each(|temporary| {
            let _ = fs::remove_file(temporary);
        });
    });
}
