//! What a program said, for the message when it fails.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use evener_files::one_line;

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

    /// All that was said and not given back.
    pub(crate) fn all(&self) -> io::Result<Vec<u8>> {
        let length = self.file.metadata()?.len();
        let mut bytes = vec![0; length.saturating_sub(self.dropped) as usize];
        self.file.read_exact_at(&mut bytes, self.dropped)?;
        Ok(bytes)
    }

    /// The last three lines as one, at most about 400 characters; empty if nothing was said.
    pub(crate) fn last_words(&self) -> String {
        let mut bytes = [0; 2048];
        let length = self.file.metadata().map_or(0, |m| m.len());
        // A short read shortens the message; the child, which shares the position, is not disturbed.
        let got = self
            .file
            .read_at(&mut bytes, length.saturating_sub(2048))
            .unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..got]);
        let text = match text.split_once('\n') {
            // The window began inside a line; keep that only if there is nothing else.
            Some((_, rest)) if length > 2048 && !rest.trim().is_empty() => rest,
            _ => &text,
        };
        let mut lines: Vec<String> = text
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .map(one_line)
            .collect();
        lines.dedup();
        let kept = lines.split_off(lines.len().saturating_sub(3));
        let said = kept.join("; ");
        let skipped = said.chars().count().saturating_sub(400);
        said.chars().skip(skipped).collect()
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

    #[test]
    fn last_words_are_the_last_three_lines_and_short() {
        let mut log = Log::new().unwrap();
        assert_eq!(log.last_words(), "");
        log.file
            .write_all(b"one\n\ntwo\nthree\nthree\n four\x1b \n")
            .unwrap();
        assert_eq!(log.last_words(), "two; three; four\\u{1b}");
        log.file
            .write_all("\u{e9}".repeat(5000).as_bytes())
            .unwrap();
        assert!(log.last_words().chars().count() <= 400);
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
        assert_eq!(log.last_words(), "the end");
    }
}
