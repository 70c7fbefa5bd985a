//! Predicts the next requests of a sequential reader.

use std::ops::Range;

/// The first window.
const FIRST_WINDOW: u64 = 128 << 10;
/// Sequential requests before anything is read ahead.
const MIN_THRESHOLD: u32 = 2;
/// The largest threshold.
const MAX_THRESHOLD: u32 = 64;

/// Follows the requests of one reader.
///
/// A request that starts where the last one ended, or a little further for readers that skip holes, continues a
/// sequential run. Any other request starts a new run, so random readers cost nothing. If a run ends before most of
/// its read-ahead is requested, the next run must be twice as long before anything is read ahead. A run whose
/// read-ahead was requested resets that.
#[derive(Debug)]
pub struct ReadAheadTracker {
    /// The largest window.
    limit: u64,
    /// Where the last request ended.
    next: u64,
    /// Requests of the run after the first.
    run: u32,
    /// Where the run began.
    run_start: u64,
    /// What `run` has to be before anything is read ahead.
    threshold: u32,
    /// How far to read ahead of the reader.
    window: u64,
    /// Up to where it has been read ahead.
    done: u64,
}

impl ReadAheadTracker {
    /// Creates a tracker that reads at most `limit` bytes ahead; with 0 it reads nothing ahead.
    pub fn new(limit: u64) -> ReadAheadTracker {
        ReadAheadTracker {
            limit,
            next: 0,
            run: 0,
            run_start: 0,
            threshold: MIN_THRESHOLD,
            window: 0,
            done: 0,
        }
    }

    /// Records a request.
    pub fn record(&mut self, bytes: &Range<u64>) {
        let slack = 4 * (bytes.end - bytes.start);
        let sequential = bytes.start >= self.next && bytes.start - self.next <= slack;
        match sequential {
            true => {
                self.run = self.run.saturating_add(1);
                self.window = match self.window {
                    0 => FIRST_WINDOW,
                    window => window.saturating_mul(2),
                };
                self.window = self.window.min(self.limit);
            }
            false => {
                self.adapt_threshold();
                (self.run, self.window, self.done) = (0, 0, 0);
                self.run_start = bytes.start;
            }
        }
        self.next = bytes.end;
    }

    /// Judges the run that has ended.
    fn adapt_threshold(&mut self) {
        let unused = self.done.saturating_sub(self.next);
        let used = self.next - self.run_start;
        if unused > used {
            self.threshold = (2 * self.threshold).min(MAX_THRESHOLD);
        } else if self.run >= self.threshold {
            self.threshold = MIN_THRESHOLD;
        }
    }

    /// The next range to read ahead: at most `step` bytes, up to byte `end`.
    pub fn next_step(&self, step: u64, end: u64) -> Option<Range<u64>> {
        if self.run < self.threshold {
            return None;
        }
        let from = self.done.max(self.next);
        let to = (from + step).min(self.next + self.window).min(end);
        (from < to).then_some(from..to)
    }

    /// Records that a step was read.
    pub fn advance(&mut self, step: &Range<u64>) {
        self.done = step.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_sequential_readers_grows() {
        let mut tracker = ReadAheadTracker::new(1 << 20);
        let mut most = 0;
        for request in 0..20u64 {
            let bytes = request * 4096..(request + 1) * 4096;
            tracker.record(&bytes);
            while let Some(step) = tracker.next_step(65536, 1 << 30) {
                assert!(request >= 1 && step.start >= bytes.end);
                assert!(step.end - bytes.end <= 1 << 20);
                most = most.max(step.end - bytes.end);
                tracker.advance(&step);
            }
        }
        assert_eq!(most, 1 << 20);
        // The end of the image is the end.
        assert_eq!(tracker.next_step(65536, 20 * 4096), None);
    }

    #[test]
    fn nothing_is_read_ahead_of_random_readers() {
        let mut tracker = ReadAheadTracker::new(1 << 20);
        let mut state = 1u64;
        for _ in 0..1000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 34) * 4096;
            tracker.record(&(at..at + 4096));
            assert_eq!(tracker.next_step(65536, 1 << 50), None);
        }
    }

    #[test]
    fn short_runs_raise_the_threshold_and_a_long_one_resets_it() {
        let mut tracker = ReadAheadTracker::new(1 << 20);
        let mut runs = |runs: u64, requests: u64| {
            let mut read = 0;
            for run in 0..runs {
                let start = ((run * 7919) % 1000) << 22;
                for request in 0..requests {
                    let at = start + request * 4096;
                    tracker.record(&(at..at + 4096));
                    while let Some(step) = tracker.next_step(65536, 1 << 40) {
                        read += step.end - step.start;
                        tracker.advance(&step);
                    }
                }
            }
            read
        };
        assert!(runs(5, 3) > 0);
        assert_eq!(runs(100, 3), 0);
        assert!(runs(1, 1000) > 2 << 20);
        assert!(runs(1, 3) > 0);
    }

    #[test]
    fn a_limit_of_zero_turns_it_off() {
        let mut tracker = ReadAheadTracker::new(0);
        for request in 0..10 {
            tracker.record(&(request * 10..request * 10 + 10));
            assert_eq!(tracker.next_step(65536, 1 << 30), None);
        }
    }
}
