//! What a program said, for the message when it fails.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use super::log_line::LogLine;

/// What a child process says on its standard error, kept in an unnamed file: the child never waits for somebody to
/// read it, and no thread is needed.
pub(crate) struct Log {
    file: File,
    /// Bytes at the front that are given back to the system already.
    dropped: u64,
}

/// What is kept of a log that grows and grows.
const LOG_KEPT: u64 = 1 << 20;

impl Log {
    pub(crate) fn new() -> io::Result<Log> {
        Ok(Log {
            file: unnamed_file()?,
            dropped: 0,
        })
    }

    /// The writing end for a child process.
    pub(crate) fn stdio(&self) -> io::Result<Stdio> {
        Ok(self.file.try_clone()?.into())
    }

    /// Gives the front of a long log back, so that a child that complains about every frame of a long stream fills
    /// nothing. Cheap: one `fstat` while the log is short.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::unused_self))]
    pub(crate) fn trim(&mut self) {
        let length = self.file.metadata().map_or(0, |m| m.len());
        if length - self.dropped.min(length) > 2 * LOG_KEPT {
            self.dropped = length - LOG_KEPT;
            #[cfg(target_os = "linux")]
            let _ = rustix::fs::fallocate(
                &self.file,
                rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE,
                0,
                self.dropped,
            );
        }
    }

    /// Its lines, of a long one those at the end.
    pub(super) fn lines(&self) -> Vec<LogLine> {
        let length = self.file.metadata().map_or(0, |m| m.len());
        let from = self.dropped.max(length.saturating_sub(LOG_KEPT));
        let mut bytes = vec![0; length.saturating_sub(from) as usize];
        // What cannot be read shortens a message; the child, which shares the position, is not disturbed.
        let got = self.file.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..got]);
        let whole = match text.split_once('\n') {
            // The window began inside a line; keep that only if there is nothing else.
            Some((_, rest)) if from > 0 && !rest.trim().is_empty() => rest,
            _ => &text,
        };
        whole.lines().filter_map(LogLine::read).collect()
    }
}

#[cfg(target_os = "linux")]
fn unnamed_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(File::from(rustix::fs::memfd_create("evener-log", flags)?))
}

#[cfg(not(target_os = "linux"))]
fn unnamed_file() -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("evener-log-{}-{count}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    fn shown(log: &Log) -> Vec<String> {
        log.lines().iter().map(LogLine::shown).collect()
    }

    #[test]
    fn lines_are_what_was_said_without_empty_ones() {
        let mut log = Log::new().unwrap();
        assert!(log.lines().is_empty());
        log.file.write_all(b"one\n\ntwo\n four\x1b \n").unwrap();
        assert_eq!(shown(&log), ["one", "two", "four\\u{1b}"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_long_log_takes_no_more_room_than_what_is_kept() {
        let mut log = Log::new().unwrap();
        for _ in 0..64 {
            log.file.write_all(&[b'x'; 1 << 18]).unwrap();
            log.trim();
        }
        log.file.write_all(b"\nthe end\n").unwrap();
        let held = log.file.metadata().unwrap().blocks() * 512;
        assert!(held <= 3 * LOG_KEPT, "{held} bytes held");
        assert_eq!(shown(&log), ["the end"]);
    }
}
