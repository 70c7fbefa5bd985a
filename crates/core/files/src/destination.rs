//! Destinations of output paths.
#![forbid(unsafe_code)]

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The destination of an output path.
pub enum Destination {
    /// A pipe or a device, which is written in place.
    InPlace,
    /// A regular file, which may not exist yet. Links in `path` are resolved.
    File {
        /// The path of the finished file.
        path: PathBuf,
        /// The existing file.
        old: Option<Metadata>,
    },
}

impl Destination {
    /// Finds the destination of `path`, and follows links.
    ///
    /// # Errors
    /// The path is a directory, or an existing file that may not be written.
    pub fn of(path: &Path) -> io::Result<Destination> {
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
                // Replacing a file needs rights to its directory only. The file's own rights are respected too.
                File::options().write(true).open(path)?;
                Ok(Destination::File {
                    path: fs::canonicalize(path)?,
                    old: Some(old),
                })
            }
            Ok(_) => Ok(Destination::InPlace),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !slash => Ok(Destination::File {
                path: follow(path)?,
                old: None,
            }),
            Err(e) => Err(e),
        }
    }
}

/// Names of open files: these are written to in place, since they have their readers already.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc") || path.starts_with("/dev/stderr")
}

/// The file that a write through a dangling symbolic link would create.
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
