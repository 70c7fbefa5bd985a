//! Writes that may never end, since those who should read do not.
//!
//! A thread inside such a write cannot be woken. So they are counted, and what wants to end the process sees
//! whether one of them goes on and on.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls that were begun, and that came to their end.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Makes a call that may wait for another process.
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

/// Sees whether calls that wait for other processes come to an end.
#[derive(Debug, Default)]
pub struct StallDetector {
    /// Ended calls at the last look, and looks since they were fewer or no call was under way.
    ended: usize,
    looks: u32,
}

impl StallDetector {
    /// How often in a row, up to now, a look has found a call under way and none that ended since the look before.
    pub fn check(&mut self) -> u32 {
        let ended = ENDED.load(Ordering::SeqCst);
        let under_way = BEGUN.load(Ordering::SeqCst) != ended;
        match under_way && ended == self.ended {
            true => self.looks += 1,
            false => self.looks = 0,
        }
        self.ended = ended;
        self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_that_goes_on_is_waited_for() {
        let mut detector = StallDetector::default();
        blocking_call(|| {
            detector.check();
            let looks: Vec<_> = (0..3).map(|_| detector.check()).collect();
            assert_eq!(looks[1..], [looks[0] + 1, looks[0] + 2]);
            blocking_call(|| ());
            assert_eq!(detector.check(), 0);
        });
        detector.check();
        assert_eq!(detector.check(), 0);
    }
}
