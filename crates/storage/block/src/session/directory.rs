//! A directory as an image: another program makes a file system of it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use evener_files::{InputFile, error_text, is_full, one_line};
use evener_runtime::quantity::Size;

use super::SessionError;
use crate::error::Error;
use crate::file::ImageFile;
use crate::hash::Hash;

/// A file system for packing a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, which is writable, by `mke2fs -d`.
    #[default]
    Ext4,
    /// squashfs, without its own compression, by `mksquashfs`.
    Squashfs,
}

impl FileSystem {
    /// All file systems, in the order of listings.
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
    /// When one of them changed last, in seconds.
    newest: i64,
    /// A hash of their names, sizes and times.
    id: [u8; 16],
}

/// The minimum size of an ext4 in bytes.
pub const LEAST: u64 = 64 << 10;
/// Bytes of a block of ext4.
const BLOCK: u64 = 4096;
/// Bytes that an entry takes beside its content.
const ENTRY: u64 = 512;
/// Bytes for the journal and tables of a file system below a size. A larger one has a larger journal.
const TABLES: [(u64, u64); 3] = [
    (24 << 20, 4 << 20),
    (400 << 20, 12 << 20),
    (u64::MAX, 48 << 20),
];

impl Contents {
    fn of(folder: &Path) -> io::Result<Contents> {
        let mut all = Contents::default();
        all.add(Path::new(""), &fs::metadata(folder)?);
        let mut folders = vec![folder.to_owned()];
        while let Some(inner) = folders.pop() {
            for entry in fs::read_dir(inner)? {
                let entry = entry?;
                let found = entry.metadata()?;
                let path = entry.path();
                all.add(path.strip_prefix(folder).unwrap_or(&path), &found);
                all.entries += 1;
                let there = found.len().min(found.blocks() * 512).max(BLOCK);
                all.bytes += there.next_multiple_of(BLOCK);
                if found.is_dir() {
                    folders.push(path);
                }
            }
        }
        Ok(all)
    }

    /// Adds to the newest time and to the hash, in any order.
    fn add(&mut self, path: &Path, found: &Metadata) {
        self.newest = self.newest.max(found.mtime());
        let numbers = [found.size(), u64::from(found.mode())].map(u64::to_le_bytes);
        let time = found.mtime().to_le_bytes();
        let path = path.as_os_str().as_bytes();
        let hash = Hash::of(&[path, &[0], numbers.as_flattened(), &time].concat());
        for (all, one) in self.id.iter_mut().zip(hash.0) {
            *all ^= one;
        }
    }

    /// The hash as a UUID of version 8, which anyone may define.
    fn uuid(&self) -> String {
        let mut id = self.id;
        id[6] = id[6] & 0x0f | 0x80;
        id[8] = id[8] & 0x3f | 0x80;
        let hex = |from: usize, to: usize| -> String {
            id[from..to]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        [hex(0, 4), hex(4, 6), hex(6, 8), hex(8, 10), hex(10, 16)].join("-")
    }

    /// Bytes of a file system with room for it.
    fn size(&self) -> u64 {
        let size = self.bytes + self.bytes / 16 + self.entries * ENTRY;
        let tables = TABLES.iter().find(|(below, _)| size < *below);
        (size + tables.map_or(0, |(_, bytes)| *bytes)).next_multiple_of(1 << 20)
    }
}

/// Makes a file system of a directory, in a nameless file in `TMPDIR` or `/tmp`. `size` is for ext4; without it, the
/// file system has room for the directory and little more.
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
    let unread = |error: io::Error| failed(format!("cannot be read: {}", error_text(&error)));
    // A path that begins with a dash is no option.
    let folder = fs::canonicalize(folder).map_err(unread)?;
    let contents = Contents::of(&folder).map_err(unread)?;
    let first = size.unwrap_or_else(|| contents.size());
    let made = match file_system.make(&folder, &contents, first) {
        // Entries with many extents or attributes take more.
        Err(Failure::Small(_)) if size.is_none() => {
            file_system.make(&folder, &contents, first + first / 4 + MORE)
        }
        made => made,
    };
    let file = made.map_err(|failure| {
        failed(match failure {
            Failure::Small(said) => format!("{said}; if it is too small, give it more with --size"),
            Failure::Full => format!(
                "there is no room for its file system, {} or a little more, in {}; free some, or name another directory \
                 with TMPDIR",
                Size(contents.bytes),
                temporary()
            ),
            Failure::Other(said) => said,
        })
    })?;
    let input = InputFile::from_file(file, name).map_err(Error::from)?;
    Ok(ImageFile::of(input)?)
}

/// Why there is no file system.
enum Failure {
    /// It may be too small for the directory.
    Small(String),
    /// The disk of temporary files is full.
    Full,
    /// What the program says, or why it cannot run.
    Other(String),
}

impl Failure {
    fn of_file(error: &io::Error) -> Failure {
        match is_full(error) {
            true => Failure::Full,
            false => Failure::Other(format!(
                "no temporary file can be made in {}: {}; name another directory with TMPDIR",
                temporary(),
                error_text(error)
            )),
        }
    }
}

/// Where temporary files are, for a message.
fn temporary() -> String {
    one_line(&std::env::temp_dir().to_string_lossy())
}

impl FileSystem {
    /// Has it made of a directory, of `size` bytes if it is ext4.
    fn make(self, folder: &Path, contents: &Contents, size: u64) -> Result<File, Failure> {
        let file = tempfile::tempfile().map_err(|error| Failure::of_file(&error))?;
        let (program, package) = self.program();
        let mut command = Command::new(program);
        // The programs of the administrator may not be in the path of users.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: OsString = [&path, OsStr::new(":/usr/sbin:/sbin")]
            .into_iter()
            .collect();
        command.env("PATH", path).env("LC_ALL", "C");
        // The time at which it is made is in the file system.
        let time =
            std::env::var_os(TIME).unwrap_or_else(|| contents.newest.max(1).to_string().into());
        match self {
            FileSystem::Ext4 => {
                file.set_len(size)
                    .map_err(|error| Failure::of_file(&error))?;
                let inodes = (contents.entries + contents.entries / 8 + 64).to_string();
                let id = contents.uuid();
                let seed = format!("hash_seed={id}");
                command.env("E2FSPROGS_FAKE_TIME", time);
                command.args(["-q", "-F", "-t", "ext4", "-m", "0", "-N", &inodes]);
                command.args(["-U", &id, "-E", &seed, "-d"]);
                command.arg(folder).arg(TARGET);
            }
            FileSystem::Squashfs => {
                command.env(TIME, time);
                command.arg(folder).arg(TARGET);
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
        let target = file.try_clone();
        let target = target.map_err(|error| Failure::of_file(&error))?;
        let done = command
            .stdin(Stdio::from(target))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output();
        let done = match done {
            Ok(done) => done,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::Other(format!(
                    "{program} makes the file system and is not installed: it is in {package}"
                )));
            }
            Err(error) => {
                let said = format!("{program} cannot be run: {}", error_text(&error));
                return Err(Failure::Other(said));
            }
        };
        if done.status.success() {
            return Ok(file);
        }
        // Where the disk is full mksquashfs says so on its standard output.
        let all = [&done.stderr[..], &done.stdout].concat();
        if String::from_utf8_lossy(&all).contains("No space left on device") {
            return Err(Failure::Full);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let words: Vec<_> = said.split_whitespace().collect();
        let said: String = one_line(&words.join(" ")).chars().take(SAID).collect();
        let said = format!("{program} failed ({}): {said}", done.status);
        Err(match self {
            FileSystem::Ext4 => Failure::Small(said),
            FileSystem::Squashfs => Failure::Other(said),
        })
    }
}

/// Bytes that are added where the first size was too small.
const MORE: u64 = 64 << 20;
/// The most characters of what the program says.
const SAID: usize = 300;
/// The variable with the time that programs write into what they make, by <https://reproducible-builds.org>.
const TIME: &str = "SOURCE_DATE_EPOCH";
/// The file that the program has as its standard input.
const TARGET: &str = "/proc/self/fd/0";
