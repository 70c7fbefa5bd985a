//! Writes to other processes that may block for ever because the reader does not read.
//!
//! A thread in such a write cannot be woken. So these calls are counted, and the code that ends the process can check
//! whether one of them makes no progress.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of calls that began, and that ended.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Makes a call that may block until another process acts.
pub fn blocking_call<R>(call: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            ENDED.fetch_add(1, Ordering::SeqCst);
        }
    }
    BEGUN.fetch_add(1, Ordering::SeqCst);
    let _end = End;
    call()
}

/// Detects blocking calls that make no progress.
#[derive(Debug, Default)]
pub struct StallDetector {
    /// The calls that had ended at the last check.
    ended: usize,
    /// The checks in a row that saw no progress.
    checks: u32,
}

impl StallDetector {
    /// Checks once. Returns how many consecutive checks found a call in progress and none that ended since the
    /// previous check.
    pub fn check(&mut self) -> u32 {
        let ended = ENDED.load(Ordering::SeqCst);
        let under_way = BEGUN.load(Ordering::SeqCst) != ended;
        match under_way && ended == self.ended {
            true => self.checks += 1,
            false => self.checks = 0,
        }
        self.ended = ended;
        self.checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_without_progress_is_counted() {
        let mut detector = StallDetector::default();
        blocking_call(|| {
            detector.check();
            let checks: Vec<_> = (0..3).map(|_| detector.check()).collect();
            assert_eq!(checks[1..], [checks[0] + 1, checks[0] + 2]);
            blocking_call(|| ());
            assert_eq!(detector.check(), 0);
        });
        detector.check();
        assert_eq!(detector.check(), 0);
    }
}
