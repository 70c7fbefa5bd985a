//! Files that one run at a time has.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Locks a file for as long as it is open, which ends with the process, however that ends; `false` if another run has it
/// locked.
///
/// # Errors
/// The file system knows no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    flock_now(file, FlockOperation::NonBlockingLockExclusive)
}

/// The same, shared with others that only read it.
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

/// Whether an open file is the one of that name: another may have been given it since the file was opened.
pub fn is_at_path(file: &File, name: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), fs::symlink_metadata(name)) {
        (Ok(open), Ok(named)) => same(open, named),
        _ => false,
    }
}
