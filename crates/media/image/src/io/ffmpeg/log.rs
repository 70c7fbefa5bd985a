//! The messages of a program, for errors and warnings.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use super::log_line::LogLine;

/// The standard error of a child process, kept in an unnamed file. The child never blocks on it, and no thread has to read
/// it.
pub(crate) struct Log {
    file: File,
    /// Bytes at the front that were freed already.
    dropped: u64,
}

/// Bytes that are kept of a long log.
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

    /// Frees the front of a long log, which a child that complains about every frame would fill without end. It costs one
    /// `fstat` while the log is short.
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

    /// Its lines; those at the end of a long log.
    pub(super) fn lines(&self) -> Vec<LogLine> {
        let length = self.file.metadata().map_or(0, |m| m.len());
        let from = self.dropped.max(length.saturating_sub(LOG_KEPT));
        let mut bytes = vec![0; length.saturating_sub(from) as usize];
        // A failed read only shortens a message. `read_at` does not move the position, which the child shares.
        let got = self.file.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..got]);
        let whole = match text.split_once('\n') {
            // The first line is cut; it is kept only if there is no other.
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
