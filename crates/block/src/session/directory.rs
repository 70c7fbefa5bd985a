//! A directory as an image: a file system that its own program makes.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use evener_files::{InputFile, one_line};

use super::SessionError;
use crate::error::Error;
use crate::file::ImageFile;

/// A file system that a directory is packed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, which can be written, by `mke2fs -d`.
    #[default]
    Ext4,
    /// squashfs, without its own compression, by `mksquashfs`.
    Squashfs,
}

impl FileSystem {
    /// All, in the order in which they are shown.
    pub const ALL: [FileSystem; 2] = [FileSystem::Ext4, FileSystem::Squashfs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Squashfs => "squashfs",
        }
    }

    /// The program, and the Debian package that has it.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            FileSystem::Ext4 => ("mke2fs", "e2fsprogs"),
            FileSystem::Squashfs => ("mksquashfs", "squashfs-tools"),
        }
    }
}

impl FromStr for FileSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<FileSystem, String> {
        let found = FileSystem::ALL.into_iter().find(|fs| fs.name() == text);
        found.ok_or_else(|| "ext4 or squashfs".to_owned())
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a directory has, as far as the size of a file system depends on it.
#[derive(Default)]
struct Contents {
    /// Bytes of files and directories, in whole blocks.
    bytes: u64,
    /// Files, directories and whatever else.
    entries: u64,
}

/// Bytes of a block of ext4.
const BLOCK: u64 = 4096;
/// Bytes that an entry takes beside its content.
const ENTRY: u64 = 512;
/// Bytes for the journal and tables.
const TABLES: u64 = 48 << 20;

impl Contents {
    fn of(folder: &Path) -> io::Result<Contents> {
        let mut all = Contents::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let found = entry.metadata()?;
                all.entries += 1;
                let there = found.len().min(found.blocks() * 512).max(BLOCK);
                all.bytes += there.next_multiple_of(BLOCK);
                if found.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        Ok(all)
    }

    /// Bytes of a file system with room for it.
    fn size(&self) -> u64 {
        let size = self.bytes + self.bytes / 16 + self.entries * ENTRY + TABLES;
        size.next_multiple_of(1 << 20)
    }
}

/// Has a file system made of a directory, in a file without a name in `TMPDIR` or `/tmp`. `size` is for ext4; without it
/// there is room for the directory and little more.
///
/// # Errors
/// The program is not installed or fails, or the directory cannot be read.
pub fn image(
    folder: &OsStr,
    file_system: FileSystem,
    size: Option<u64>,
) -> Result<ImageFile, SessionError> {
    let name = one_line(&folder.to_string_lossy());
    let failed = |what: String| SessionError::Directory {
        name: name.clone(),
        what,
    };
    let unread = |error: io::Error| failed(format!("cannot be read: {error}"));
    let file = tempfile::tempfile()
        .map_err(|error| failed(format!("no temporary file can be made: {error}")))?;
    let (program, package) = file_system.program();
    let mut command = Command::new(program);
    // The programs of the administrator may not be in the path of users.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: OsString = [&path, OsStr::new(":/usr/sbin:/sbin")]
        .into_iter()
        .collect();
    command.env("PATH", path);
    // A path that begins with a dash is no option.
    let folder = fs::canonicalize(folder).map_err(unread)?;
    match file_system {
        FileSystem::Ext4 => {
            let contents = Contents::of(&folder).map_err(unread)?;
            let size = size.unwrap_or_else(|| contents.size());
            let set = file.set_len(size);
            set.map_err(|error| failed(format!("no room for a file system: {error}")))?;
            let inodes = (contents.entries + contents.entries / 8 + 64).to_string();
            command.args(["-q", "-F", "-t", "ext4", "-m", "0", "-N", &inodes, "-d"]);
            command.arg(&folder).arg(TARGET);
        }
        FileSystem::Squashfs => {
            command.arg(&folder).arg(TARGET);
            command.args([
                "-noappend",
                "-no-progress",
                "-quiet",
                "-noI",
                "-noD",
                "-noF",
                "-noX",
            ]);
        }
    }
    let target = file.try_clone().map_err(unread)?;
    let done = command
        .stdin(Stdio::from(target))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    let done = match done {
        Ok(done) => done,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let what =
                format!("{program} makes the file system and is not installed: it is in {package}");
            return Err(failed(what));
        }
        Err(error) => return Err(failed(format!("{program} cannot be run: {error}"))),
    };
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let words: Vec<_> = said.split_whitespace().collect();
        let said: String = one_line(&words.join(" ")).chars().take(SAID).collect();
        let hint = match file_system {
            FileSystem::Ext4 => "; if it is too small, give it more with --size",
            FileSystem::Squashfs => "",
        };
        let what = format!("{program} failed ({}): {said}{hint}", done.status);
        return Err(failed(what));
    }
    let input = InputFile::from_file(file, name).map_err(Error::from)?;
    Ok(ImageFile::of(input)?)
}

/// The most characters of what the program says.
const SAID: usize = 300;
/// The file that the program has as its standard input.
const TARGET: &str = "/proc/self/fd/0";
