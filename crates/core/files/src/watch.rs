//! Detection of changes to a file while it is read.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

/// A regular file that is being read, and its state when it was opened.
///
/// The state is the size and the modification time. A change that keeps the size, within the resolution of that time
/// (a few milliseconds), goes undetected.
#[derive(Debug)]
pub struct Watch {
    file: File,
    name: String,
    before: State,
    warned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    bytes: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

impl State {
    fn of(metadata: &Metadata) -> State {
        State {
            bytes: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// How a file changed while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file is shorter.
    Shrank {
        /// Its old size in bytes.
        from: u64,
        /// Its new size in bytes.
        to: u64,
    },
    /// The file is longer, or was written to.
    Written,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Shrank { from, to } => {
                write!(
                    f,
                    "shrank from {from} to {to} bytes while it was being read"
                )
            }
            Change::Written => f.write_str("changed while it was being read"),
        }
    }
}

impl Watch {
    /// Watches an open file, called `name` in messages, which had `metadata` when it was opened. `None` for anything
    /// but a regular file.
    ///
    /// # Errors
    /// The process has no free file descriptors.
    pub fn new(file: &File, name: &str, metadata: &Metadata) -> io::Result<Option<Watch>> {
        if !metadata.is_file() {
            return Ok(None);
        }
        Ok(Some(Watch {
            file: file.try_clone()?,
            name: name.to_owned(),
            before: State::of(metadata),
            warned: false,
        }))
    }

    /// The change of the file, if any.
    pub fn change(&self) -> Option<Change> {
        let now = State::of(&self.file.metadata().ok()?);
        let (from, to) = (self.before.bytes, now.bytes);
        if to < from {
            return Some(Change::Shrank { from, to });
        }
        (now != self.before).then_some(Change::Written)
    }

    /// Logs one warning if the file changed. Call it after reading.
    pub fn warn(&mut self) {
        if self.warned {
            return;
        }
        if let Some(change) = self.change() {
            self.warned = true;
            let name = &self.name;
            tracing::warn!(
                "{name}: {change}; the output may mix two states of it, so run again when nothing writes to it"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::time::{Duration, SystemTime};

    use evener_testing::Folder;

    use super::*;

    #[test]
    fn changes_of_a_file_are_noticed() {
        let folder = Folder::new();
        let path = folder.file("a", [0; 100]);
        let file = File::open(&path).unwrap();
        let metadata = file.metadata().unwrap();
        let watch = Watch::new(&file, "a", &metadata).unwrap().unwrap();
        assert_eq!(watch.change(), None);

        // A write in place is a change.
        let writer = File::options().write(true).open(&path).unwrap();
        writer
            .set_modified(SystemTime::now() + Duration::from_secs(5))
            .unwrap();
        assert_eq!(watch.change(), Some(Change::Written));

        writer.set_len(60).unwrap();
        let shrank = watch.change().unwrap();
        assert_eq!(shrank, Change::Shrank { from: 100, to: 60 });
        assert!(shrank.to_string().contains("from 100 to 60 bytes"));

        (&writer).write_all(&[0; 200]).unwrap();
        assert_eq!(watch.change(), Some(Change::Written));

        // Replacing a file does not change it for a process that has it open.
        let metadata = file.metadata().unwrap();
        let watch = Watch::new(&file, "a", &metadata).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(watch.change(), None);
    }

    #[test]
    fn what_is_no_regular_file_is_not_watched() {
        let null = File::open("/dev/null").unwrap();
        let watch = Watch::new(&null, "null", &null.metadata().unwrap()).unwrap();
        assert!(watch.is_none());
    }
}
