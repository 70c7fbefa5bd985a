//! Files with secrets that other users can read.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A file with a key or a passphrase that other users can read or change. This is a reason for a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The permission bits, as `chmod` takes them.
    pub mode: u32,
}

impl Exposed {
    /// Checks the permissions of a regular file.
    pub fn of(metadata: &fs::Metadata) -> Option<Exposed> {
        let mode = metadata.mode() & 0o777;
        (metadata.is_file() && mode & 0o077 != 0).then_some(Exposed { mode })
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode;
        write!(
            f,
            "others than its owner may read or change it (mode {mode:03o}); chmod 600 closes it to them"
        )
    }
}
