//! File descriptors of this library's own. Programs that close all that they do not know leave them open.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// File descriptors beyond are closed as any other.
const WORDS: usize = 1 << 10;

static OWN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn place(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok()?;
    Some((OWN.get(fd / 64)?, 1 << (fd % 64)))
}

/// A file descriptor is this library's.
pub fn add(fd: c_int) {
    if let Some((word, bit)) = place(fd) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// It is about to be closed.
pub fn remove(fd: c_int) {
    if let Some((word, bit)) = place(fd) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Whether it is this library's.
pub fn has(fd: c_int) -> bool {
    place(fd).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

/// The parts of a range that have none of this library's, each with its first and last.
pub fn between(first: u32, last: u32) -> Vec<(u32, u32)> {
    let mut parts = Vec::new();
    let mut start = first;
    for fd in first..=last.min(64 * WORDS as u32 - 1) {
        if has(fd as c_int) {
            if start < fd {
                parts.push((start, fd - 1));
            }
            start = fd + 1;
        }
    }
    if start <= last {
        parts.push((start, last));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_out_what_is_own() {
        assert_eq!(between(3, u32::MAX), [(3, u32::MAX)]);
        [60_000, 60_001, 60_005].into_iter().for_each(add);
        assert_eq!(
            between(59_999, 60_010),
            [(59_999, 59_999), (60_002, 60_004), (60_006, 60_010)]
        );
        assert_eq!(between(60_000, 60_001), []);
        assert!(has(60_005) && !has(60_004) && !has(-1) && !has(1 << 20));
        [60_000, 60_001, 60_005].into_iter().for_each(remove);
        assert_eq!(between(60_000, 60_005), [(60_000, 60_005)]);
        // There is no place for it.
        add(1 << 20);
        assert!(!has(1 << 20));
    }
}
