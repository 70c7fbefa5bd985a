//! The time that workers waited for input or output.

use std::time::{Duration, Instant};

use crate::dispatch::WorkerId;

/// The time that workers were idle because no unit was there to begin, or no buffer for its result.
pub(super) struct Starved {
    /// Since when each worker is.
    since: Vec<Option<Instant>>,
    sum: Duration,
}

impl Starved {
    pub(super) fn new(workers: usize) -> Starved {
        Starved {
            since: vec![None; workers],
            sum: Duration::ZERO,
        }
    }

    /// A worker is idle from now on.
    pub(super) fn begin(&mut self, worker: WorkerId, now: Instant) {
        self.since[worker.0] = Some(now);
    }

    /// It is no longer.
    pub(super) fn end(&mut self, worker: WorkerId, now: Instant) {
        if let Some(since) = self.since[worker.0].take() {
            self.sum += now.saturating_duration_since(since);
        }
    }

    /// How long workers were idle since the last call, in sum, with those that still are.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        for since in self.since.iter_mut().flatten() {
            self.sum += now.saturating_duration_since(*since);
            *since = now;
        }
        std::mem::take(&mut self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_still_idle_counts_until_now() {
        let (mut starved, begin) = (Starved::new(2), Instant::now());
        let at = |ms| begin + Duration::from_millis(ms);
        starved.begin(WorkerId(0), at(0));
        starved.begin(WorkerId(1), at(5));
        starved.end(WorkerId(0), at(10));
        assert_eq!(starved.take(at(20)), Duration::from_millis(25));
        starved.end(WorkerId(1), at(21));
        starved.end(WorkerId(0), at(30));
        assert_eq!(starved.take(at(40)), Duration::from_millis(1));
    }
}
