//! Helpers that the tests of several crates share.
#![forbid(unsafe_code)]

mod disk;
pub mod namespace;
pub mod pcapng;
mod skipped;
pub mod veth;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub use disk::Disk;
pub use skipped::skip;

/// A folder for one test. Dropping it removes it with all its files.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder where the system keeps temporary files.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Folder {
        Folder::within(&std::env::temp_dir())
    }

    /// An empty folder in memory where the system has such a file system: for tests that write thousands of files.
    pub fn in_memory() -> Folder {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Folder::within(memory),
            false => Folder::new(),
        }
    }

    fn within(parent: &Path) -> Folder {
        let folder = TempDir::with_prefix_in("evener-test-", parent);
        Folder(folder.unwrap())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in the folder, which need not exist.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The same, with the rights of `mode`.
    pub fn file_with_mode(&self, name: &str, bytes: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.file(name, bytes);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Makes a program of a script for `sh`, and returns its path. Folders in `name` need not exist.
    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Written by a child: were it open for writing here while another test forks, running it would fail as busy.
        let mut shell = Command::new("sh")
            .args(["-c", "cat > \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        write!(input, "#!/bin/sh\n{script}\n").unwrap();
        drop(input);
        assert!(shell.wait().unwrap().success());
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Where programs are looked for, for `PATH`: in this folder of the test first.
    pub fn search_path(&self, name: &str) -> OsString {
        let mut path = self.path(name).into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        path
    }

    /// The sorted names of all files in the folder, also of hidden ones.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
