//! Unfinished outputs, files or folders, with a temporary name in the output's directory.
//!
//! A run locks its part file, and the system releases the lock when the run ends in any way. If a run finds the name
//! taken, the lock shows why. A locked file belongs to another run, and this run takes the next name. An unlocked
//! file was left behind, and this run removes it. So the remains of a killed run are gone after the next run that
//! writes the same output.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::OFlags;

use crate::lock;
use crate::lock::{is_at_path, try_lock};

/// The number of runs that can write one output at once.
const MAX_RUNS: u32 = 16;
/// How often a name is tried while other runs create and remove it.
const TRIES: u32 = 8;
/// The bytes of the output's name that a part file's name repeats at most, so that it is not too long for the file
/// system.
const MAX_KEPT: usize = 120;

/// A temporary name for the output `path`. Dropping it removes the file or folder, unless it is [kept](PartFile::keep).
pub(crate) struct PartFile {
    path: PathBuf,
    kept: bool,
}

impl PartFile {
    /// Creates a file with this mode, and locks it.
    pub(crate) fn create(path: &Path, mode: u32) -> io::Result<(PartFile, File)> {
        claim(path, |name| {
            let mut options = File::options();
            options.read(true).write(true).create_new(true).mode(mode);
            options.open(name)
        })
    }

    /// Creates a folder that nobody else can read, and locks it.
    pub(crate) fn folder(path: &Path) -> io::Result<(PartFile, File)> {
        claim(path, |name| {
            DirBuilder::new().mode(0o700).create(name)?;
            File::open(name)
        })
    }

    /// Gives a temporary name to a locked file without a name.
    #[cfg(target_os = "linux")]
    pub(crate) fn link(path: &Path, file: &File) -> io::Result<PartFile> {
        let linked = |name: &Path| {
            link(file, name)?;
            file.try_clone()
        };
        Ok(claim(path, linked)?.0)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file alone: it has its final name now, or belongs to another run.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.kept {
            let _ = remove(&self.path);
        }
        unfinished(|all| all.retain(|one| *one != self.path));
    }
}

/// Gives a file without a name this one. It fails if another file has it.
#[cfg(target_os = "linux")]
pub(crate) fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let followed = AtFlags::SYMLINK_FOLLOW;
    Ok(linkat(CWD, descriptor(file), CWD, name, followed)?)
}

/// A path to an open file, also to one without a name.
#[cfg(target_os = "linux")]
pub(crate) fn descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Creates a file with the first free part name, and locks it.
fn claim(path: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<(PartFile, File)> {
    for number in 1..=MAX_RUNS {
        let name = path.with_file_name(part_name(path, number));
        for _ in 0..TRIES {
            // The file is created and noted under one lock, so that `remove_unfinished` misses none.
            let made: io::Result<File> = unfinished(|all| {
                let made = make(&name)?;
                all.push(name.clone());
                Ok(made)
            });
            match made {
                Ok(file) => {
                    let part = PartFile {
                        path: name.clone(),
                        kept: false,
                    };
                    match try_lock(&file) {
                        // Before it was locked, another run may have removed it as a file that was left behind.
                        Ok(true) if !is_at_path(&file, &name) => part.keep(),
                        Ok(false) => part.keep(),
                        _ => return Ok((part, file)),
                    }
                }
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                Err(_) if !clear(&name) => break,
                Err(_) => {}
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// `.evener-part1-NAME`. NAME is the end of the output's name, which has the extension: programs infer the format from
/// it.
fn part_name(path: &Path, number: u32) -> OsString {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let kept = &name[name.len().saturating_sub(MAX_KEPT)..];
    let within = |byte: &&u8| **byte & 0xc0 == 0x80;
    let inside = match kept.len() < name.len() {
        true => kept.iter().take_while(within).count(),
        false => 0,
    };
    let mut part = OsString::from(format!(".evener-part{number}-"));
    part.push(OsStr::from_bytes(&kept[inside..]));
    part
}

/// Removes a file that a run left behind. `false` if it is in use, or cannot be removed.
fn clear(name: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    match File::options().read(true).custom_flags(flags).open(name) {
        Ok(file) if !matches!(try_lock(&file), Ok(true)) => false,
        // Only the run with the lock may remove the name.
        Ok(file) => !is_at_path(&file, name) || remove(name).is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Removes a file, or a folder with all that is in it.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Changes the list of this process's part files.
fn unfinished<R>(change: impl FnOnce(&mut Vec<PathBuf>) -> R) -> R {
    static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut all = lock(&ALL);
    change(&mut all)
}

/// Removes the part files of all unfinished outputs. For a process that ends without dropping them.
pub fn remove_unfinished() {
    unfinished(|all| {
        all.drain(..).for_each(|part| {
            let _ = remove(&part);
        });
    });
}

#[cfg(test)]
mod tests {
    use evener_testing::Folder;

    use super::*;

    #[test]
    fn what_was_left_behind_is_replaced_and_what_is_in_use_is_not() {
        let folder = Folder::new();
        let path = folder.path("out.mkv");
        let first = folder.path(".evener-part1-out.mkv");
        fs::write(&first, "left by a run that was killed").unwrap();
        let (one, mut file) = PartFile::create(&path, 0o600).unwrap();
        assert_eq!(one.path(), first);
        assert_eq!(fs::read(&first).unwrap(), b"");
        io::Write::write_all(&mut file, b"mine").unwrap();
        let (two, _file) = PartFile::create(&path, 0o600).unwrap();
        assert_eq!(two.path(), folder.path(".evener-part2-out.mkv"));
        assert_eq!(fs::read(&first).unwrap(), b"mine");
        drop((one, two));
        assert_eq!(folder.names(), [""; 0]);
    }

    #[test]
    fn a_link_under_the_name_is_not_followed() {
        let folder = Folder::new();
        let (path, other) = (folder.path("out"), folder.path("other"));
        fs::write(&other, "not ours").unwrap();
        std::os::unix::fs::symlink("other", folder.path(".evener-part1-out")).unwrap();
        let (part, _file) = PartFile::create(&path, 0o600).unwrap();
        assert_eq!(part.path(), folder.path(".evener-part2-out"));
        assert_eq!(fs::read(&other).unwrap(), b"not ours");
    }

    #[test]
    fn runs_that_begin_at_once_do_not_share_a_name() {
        let folder = Folder::new();
        let path = folder.path("out");
        // The first names are all taken by files that were left behind.
        for number in 1..=4 {
            fs::write(folder.path(&format!(".evener-part{number}-out")), "").unwrap();
        }
        let claims = || PartFile::create(&path, 0o600).unwrap();
        let taken = std::thread::scope(|threads| {
            let runs: Vec<_> = (0..8).map(|_| threads.spawn(claims)).collect();
            let runs = runs.into_iter().map(|run| run.join().unwrap());
            runs.collect::<Vec<_>>()
        });
        let mut names: Vec<_> = taken.iter().map(|(part, _)| part.path()).collect();
        assert!(
            taken
                .iter()
                .all(|(part, file)| is_at_path(file, part.path()))
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
    }

    #[test]
    fn long_names_keep_their_end() {
        let long = format!("{}.mkv", "\u{e9}".repeat(125));
        let name = part_name(Path::new(&long), 1).into_string().unwrap();
        assert!(name.len() < 140 && name.ends_with("\u{e9}.mkv"), "{name}");
    }
}
