//! File locks that limit a task to one run at a time.
#![forbid(unsafe_code)]

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks a file until it is closed, at the latest until the process ends in any way. Returns `false` if another run
/// holds the lock.
///
/// # Errors
/// The file system does not support locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    is_locked(file.try_lock())
}

/// As [`try_lock`], with a lock that several readers can hold at once.
///
/// # Errors
/// As for [`try_lock`].
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    is_locked(file.try_lock_shared())
}

fn is_locked(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether `name` still refers to the open file. Another file may have taken the name since it was opened.
pub fn is_at_path(file: &File, name: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), fs::symlink_metadata(name)) {
        (Ok(open), Ok(named)) => same(open, named),
        _ => false,
    }
}
