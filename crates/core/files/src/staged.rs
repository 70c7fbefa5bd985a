//! Files that appear under their name only when they are complete.
#![forbid(unsafe_code)]

use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::{Error, error_text, one_line};
use crate::lock::try_lock;
use crate::part_file::PartFile;

/// The rights of a replacing file until it gets those of the replaced one.
const PRIVATE: u32 = 0o600;

/// A file that does not have its name yet. Dropping it before [`Staged::commit`] removes it.
///
/// If the system allows it, the file has no name until then, so it disappears when the process ends in any way.
/// Otherwise it has a temporary name in the same directory, and the next run that writes the same output removes it.
/// It is locked until it is closed.
pub struct Staged {
    path: PathBuf,
    file: File,
    part: Option<PartFile>,
    /// The owner, group and rights of the replaced file.
    like: Option<(u32, u32, u32)>,
    /// When the file was changed last, if that is not when it was written.
    modified: Option<SystemTime>,
    durable: bool,
    committed: bool,
}

impl Staged {
    /// Creates an empty file for reading and writing, with the permissions of `old`, or otherwise with `mode` less
    /// the umask.
    ///
    /// # Errors
    /// The directory does not allow it.
    pub fn create(path: &Path, mode: u32, old: Option<&Metadata>) -> Result<(Staged, File), Error> {
        let staged = match unnamed(directory(path), old.map_or(mode, |_| PRIVATE)) {
            Some(file) => Staged::of(path, file, None, old),
            None => Staged::named(path, mode, old)?,
        };
        match staged.file.try_clone() {
            Ok(file) => Ok((staged, file)),
            Err(reason) => Err(cannot_create(path, reason)),
        }
    }

    /// As [`Staged::create`], with a [temporary](Staged::temporary) name of the same extension, for other programs
    /// that write the file.
    ///
    /// # Errors
    /// As [`Staged::create`].
    pub fn named(path: &Path, mode: u32, old: Option<&Metadata>) -> Result<Staged, Error> {
        let made = PartFile::create(path, old.map_or(mode, |_| PRIVATE));
        let (part, file) = made.map_err(|reason| cannot_create(path, reason))?;
        Ok(Staged::of(path, file, Some(part), old))
    }

    fn of(path: &Path, file: File, part: Option<PartFile>, old: Option<&Metadata>) -> Staged {
        Staged {
            path: path.to_owned(),
            file,
            part,
            like: old.map(|old| (old.uid(), old.gid(), old.mode())),
            modified: None,
            durable: false,
            committed: false,
        }
    }

    /// Makes [`Staged::commit`] wait until the file and its name are on the disk. For a file whose source may be
    /// deleted afterwards.
    #[must_use]
    pub fn durable(mut self) -> Staged {
        self.durable = true;
        self
    }

    /// Sets the modification time in [`Staged::commit`], if the file system supports it.
    #[must_use]
    pub fn modified(mut self, time: Option<SystemTime>) -> Staged {
        self.modified = time;
        self
    }

    /// The path of a [named](Staged::named) file until [`Staged::commit`].
    pub fn temporary(&self) -> Option<&Path> {
        self.part.as_ref().map(PartFile::path)
    }

    /// A path under which other programs can open the file while this process has it open.
    pub fn path_for_others(&self) -> PathBuf {
        match self.temporary() {
            Some(path) => path.to_owned(),
            None => format!("/proc/{}/fd/{}", process::id(), self.file.as_raw_fd()).into(),
        }
    }

    /// Gives the file its name, and replaces an older file of that name. A second call does nothing.
    ///
    /// # Errors
    /// The system cannot rename the file, or cannot write it to the disk.
    pub fn commit(&mut self) -> io::Result<()> {
        self.place(true)
    }

    /// As [`Staged::commit`], but only if no file of that name exists.
    ///
    /// # Errors
    /// The name exists ([`ErrorKind::AlreadyExists`]), or as for [`Staged::commit`].
    pub fn commit_new(&mut self) -> io::Result<()> {
        self.place(false)
    }

    fn place(&mut self, replace: bool) -> io::Result<()> {
        if self.committed {
            return Ok(());
        }
        if let Some((owner, group, mode)) = self.like {
            // Only root can give a file away.
            let _ = fchown(&self.file, Some(owner), Some(group));
            let mode = fs::Permissions::from_mode(mode & 0o7777);
            self.file.set_permissions(mode)?;
        }
        if let Some(time) = self.modified {
            let _ = self.file.set_times(FileTimes::new().set_modified(time));
        }
        if self.durable {
            sync(&self.file)?;
        }
        match self.part.take() {
            None => self.link(replace)?,
            Some(part) => self.rename(part, replace)?,
        }
        self.committed = true;
        if self.durable {
            // Some file systems cannot sync a directory; nothing else helps there.
            let _ = File::open(directory(&self.path)).and_then(|directory| sync(&directory));
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn link(&mut self, replace: bool) -> io::Result<()> {
        match crate::part_file::link(&self.file, &self.path) {
            // A link cannot replace a file, a rename can. So the file gets a temporary name first.
            Err(error) if replace && error.kind() == ErrorKind::AlreadyExists => {
                let part = PartFile::link(&self.path, &self.file)?;
                self.rename(part, replace)
            }
            linked => linked,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn link(&mut self, _: bool) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn rename(&mut self, part: PartFile, replace: bool) -> io::Result<()> {
        let (from, to) = (part.path(), &*self.path);
        match replace {
            true => fs::rename(from, to)?,
            false => match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
                // Dropping `part` removes the temporary name.
                Err(Errno::INVAL | Errno::NOSYS) => return fs::hard_link(from, to),
                renamed => renamed?,
            },
        }
        part.keep();
        Ok(())
    }
}

/// A locked file without a name; `None` where the system has none.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, Mode::from_raw_mode(mode)).ok()?);
    // The link in `commit` needs this path.
    fs::symlink_metadata(crate::part_file::descriptor(&file)).ok()?;
    let _ = try_lock(&file);
    Some(file)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path, _: u32) -> Option<File> {
    None
}

/// Waits until a file is on the disk. File systems that do not know pass as well.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn cannot_create(path: &Path, reason: io::Error) -> Error {
    // Where the directory is there, as /proc is, making it is no advice.
    let reason = match reason.kind() == ErrorKind::NotFound && directory(path).is_dir() {
        true => io::Error::other(error_text(&reason)),
        false => reason,
    };
    let (path, directory) = (path.to_string_lossy(), directory(path).to_string_lossy());
    let name = one_line(&format!("{path} (in the directory {directory})"));
    Error::Create { name, reason }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use evener_testing::Folder;

    use super::*;

    /// Both kinds; some systems have only the named one.
    fn both(path: &Path, old: Option<&Metadata>) -> [(Staged, File); 2] {
        let named = Staged::named(path, 0o640, old).unwrap();
        let file = named.file.try_clone().unwrap();
        [Staged::create(path, 0o640, old).unwrap(), (named, file)]
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn rights_are_the_final_ones_or_stricter_from_the_first_byte() {
        let folder = Folder::new();
        let path = folder.path("out");
        for (staged, file) in both(&path, None) {
            let now = file.metadata().unwrap().mode() & 0o777;
            assert_eq!(now & !0o640, 0, "{now:o}");
            drop(staged);
        }
        assert_eq!(folder.names(), [""; 0]);
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        let old = fs::metadata(&path).unwrap();
        for (mut staged, mut file) in both(&path, Some(&old)) {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, PRIVATE);
            file.write_all(b"new").unwrap();
            staged.commit().unwrap();
            assert_eq!(
                (mode(&path), fs::read(&path).unwrap()),
                (0o604, b"new".into())
            );
        }
        assert_eq!(folder.names(), ["out"]);
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_if_that_is_asked_for() {
        let folder = Folder::new();
        let path = folder.path("out");
        for durable in [false, true] {
            for (staged, mut file) in both(&path, None) {
                let mut staged = match durable {
                    true => staged.durable(),
                    false => staged,
                };
                file.write_all(b"first").unwrap();
                staged.commit_new().unwrap();
                for (mut other, _file) in both(&path, None) {
                    let error = other.commit_new().unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                }
                assert_eq!(fs::read(&path).unwrap(), b"first");
                fs::remove_file(&path).unwrap();
            }
            assert_eq!(folder.names(), [""; 0]);
        }
    }

    #[test]
    fn other_programs_can_read_what_has_no_name_yet() {
        let folder = Folder::new();
        for (staged, mut file) in both(&folder.path("out"), None) {
            file.write_all(b"so far").unwrap();
            let path = staged.path_for_others();
            let read = process::Command::new("cat").arg(path).output().unwrap();
            assert_eq!(read.stdout, b"so far");
        }
    }

    #[test]
    fn a_directory_in_its_place_leaves_nothing_behind() {
        let folder = Folder::new();
        let path = folder.path("out");
        for (mut staged, _file) in both(&path, None) {
            fs::create_dir_all(&path).unwrap();
            assert!(staged.commit().is_err());
        }
        assert_eq!(folder.names(), ["out"]);
    }
}
