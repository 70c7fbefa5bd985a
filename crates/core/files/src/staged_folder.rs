//! Several files that appear under their names together, when all are complete.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, one_line};
use crate::part_file::PartFile;

/// A folder for files that do not have their names yet, written by another program. Dropping it before
/// [`StagedFolder::commit`] removes it with its contents.
///
/// It is inside the destination folder, and no other user can read it. It is locked, so that the next run that writes
/// the same output removes the remains of a killed run.
pub struct StagedFolder {
    part: PartFile,
    /// Locked.
    _folder: File,
    /// Where the files will be.
    target: PathBuf,
    mode: u32,
}

impl StagedFolder {
    /// Creates a folder beside `path`, the name of the output. Its files will have at most the permissions `mode`.
    ///
    /// # Errors
    /// The folder of `path` is missing or not writable.
    pub fn create(path: &Path, mode: u32) -> Result<StagedFolder, Error> {
        let target = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let (part, folder) = PartFile::folder(path).map_err(|reason| {
            let (path, target) = (path.to_string_lossy(), target.to_string_lossy());
            let name = one_line(&format!("{path} (in the directory {target})"));
            Error::Create { name, reason }
        })?;
        Ok(StagedFolder {
            part,
            _folder: folder,
            target: target.to_owned(),
            mode,
        })
    }

    /// The folder to write the files into.
    pub fn path(&self) -> &Path {
        self.part.path()
    }

    /// Gives all files their names, in order, and replaces older files of these names, whose permissions are kept.
    /// Returns the number of files.
    ///
    /// # Errors
    /// A name is that of a folder, and no file has been renamed; or the system cannot rename a file, which the
    /// message names.
    pub fn commit(&mut self) -> Result<u64, Error> {
        let failed = |path: &Path, reason| {
            let name = one_line(&path.to_string_lossy());
            Error::Commit { name, reason }
        };
        let read = || -> io::Result<Vec<PathBuf>> {
            let entries = fs::read_dir(self.path())?;
            entries.map(|entry| Ok(entry?.path())).collect()
        };
        let mut files = read().map_err(|reason| failed(self.path(), reason))?;
        files.sort();
        let target = |file: &PathBuf| self.target.join(file.file_name().unwrap_or_default());
        if let Some(folder) = files.iter().map(target).find(|target| target.is_dir()) {
            let reason = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
            return Err(failed(&folder, reason));
        }
        for file in &files {
            let target = target(file);
            self.place(file, &target)
                .map_err(|reason| failed(&target, reason))?;
        }
        Ok(files.len() as u64)
    }

    fn place(&self, file: &Path, target: &Path) -> io::Result<()> {
        let mode = match fs::metadata(target) {
            Ok(old) => old.permissions().mode() & 0o7777,
            Err(_) => fs::metadata(file)?.permissions().mode() & self.mode,
        };
        fs::set_permissions(file, fs::Permissions::from_mode(mode))?;
        fs::rename(file, target)
    }
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;

    fn staged(folder: &Folder) -> StagedFolder {
        let staged = StagedFolder::create(&folder.path("p-%d"), 0o640).unwrap();
        for name in ["p-1", "p-2"] {
            fs::write(staged.path().join(name), name).unwrap();
        }
        staged
    }

    #[test]
    fn files_appear_together_or_not_at_all() {
        let folder = Folder::new();
        drop(staged(&folder));
        assert_eq!(folder.names(), [""; 0]);
        // What a killed run has left.
        fs::create_dir(folder.path(".evener-part1-p-%d")).unwrap();
        fs::write(folder.path(".evener-part1-p-%d/p-9"), "left").unwrap();
        folder.file("p-2", "old");
        fs::set_permissions(folder.path("p-2"), fs::Permissions::from_mode(0o604)).unwrap();
        let mut both = staged(&folder);
        assert_eq!(folder.names(), [".evener-part1-p-%d", "p-2"]);
        assert_eq!(both.commit().unwrap(), 2);
        assert_eq!(both.commit().unwrap(), 0);
        drop(both);
        assert_eq!(folder.names(), ["p-1", "p-2"]);
        let mode = |name: &str| {
            let file = fs::metadata(folder.path(name)).unwrap();
            file.permissions().mode() & 0o777
        };
        assert_eq!(fs::read(folder.path("p-2")).unwrap(), b"p-2");
        assert_eq!((mode("p-1") & !0o640, mode("p-2")), (0, 0o604));
    }

    #[test]
    fn a_folder_in_the_way_leaves_everything_as_it_was() {
        let folder = Folder::new();
        fs::create_dir(folder.path("p-2")).unwrap();
        folder.file("p-1", "old");
        let error = staged(&folder).commit().unwrap_err().to_string();
        assert!(
            error.contains("p-2") && error.contains("directory"),
            "{error}"
        );
        assert_eq!(folder.names(), ["p-1", "p-2"]);
        assert_eq!(fs::read(folder.path("p-1")).unwrap(), b"old");
        let missing = StagedFolder::create(&folder.path("none/p-%d"), 0o600);
        let error = missing.err().unwrap().to_string();
        assert!(error.contains("none"), "{error}");
    }
}
