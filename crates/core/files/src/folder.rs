//! Folders for output files.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, one_line};

/// A folder for output files. It is created if it does not exist. Dropping this removes a created folder that is
/// still empty.
#[derive(Debug)]
pub struct OutputFolder {
    made: Option<PathBuf>,
}

impl OutputFolder {
    /// Opens or creates the folder `path`. Its parent must exist.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(path: &Path) -> Result<OutputFolder, Error> {
        match fs::create_dir(path) {
            Ok(()) => Ok(OutputFolder {
                made: Some(path.to_owned()),
            }),
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
                Ok(OutputFolder { made: None })
            }
            Err(reason) => {
                let name = one_line(&path.to_string_lossy());
                Err(Error::Folder { name, reason })
            }
        }
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // Fails if there is something in it.
            let _ = fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;

    #[test]
    fn a_folder_stays_if_it_was_there_or_has_files() {
        let folder = Folder::new();
        let path = folder.path("out");
        let made = OutputFolder::create(&path).unwrap();
        assert!(path.is_dir());
        drop(made);
        assert!(!path.exists());
        let made = OutputFolder::create(&path).unwrap();
        fs::write(path.join("file"), "text").unwrap();
        drop(made);
        fs::remove_file(path.join("file")).unwrap();
        drop(OutputFolder::create(&path).unwrap());
        assert!(path.is_dir());
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        let folder = Folder::new();
        let file = folder.file("file", "");
        for (path, says) in [
            (folder.path("none/out"), "; make the directory above it"),
            (file, "File exists"),
        ] {
            let error = OutputFolder::create(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
