//! A disk of this machine for a test: a loop device.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Folder;

/// A disk. Dropping it gives it back.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    _file: Folder,
}

impl Disk {
    /// A disk of `bytes` bytes, which are zero. `None`, and the test is skipped, where there can be none: it takes root and
    /// loop devices.
    pub fn new(bytes: u64) -> Option<Disk> {
        let folder = Folder::in_memory();
        let file = folder.path("disk");
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&file)
            .stdin(Stdio::null())
            .output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            crate::skip("no loop device can be had");
            return None;
        };
        let path = String::from_utf8(made.stdout).unwrap().trim_end().into();
        Some(Disk {
            path,
            _file: folder,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.path)
            .status();
    }
}
