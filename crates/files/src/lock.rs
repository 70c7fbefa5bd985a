//! Locks on files, for one run at a time.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Locks a file until it is closed, at the latest when the process ends, however it ends. `false` if another run has
/// locked it.
///
/// # Errors
/// The file system has no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    flock_now(file, FlockOperation::NonBlockingLockExclusive)
}

/// The same with a lock that several readers can hold at once.
///
/// # Errors
/// As for [`try_lock`].
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    flock_now(file, FlockOperation::NonBlockingLockShared)
}

fn flock_now(file: &File, how: FlockOperation) -> io::Result<bool> {
    match flock(file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

/// Whether `name` is still the name of an open file. Another file may have taken the name since it was opened.
pub fn is_at_path(file: &File, name: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), fs::symlink_metadata(name)) {
        (Ok(open), Ok(named)) => same(open, named),
        _ => false,
    }
}
