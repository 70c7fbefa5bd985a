//! A token bucket.

use std::time::{Duration, Instant};

/// Bytes that may be sent. It fills with a rate up to a depth; what is sent beyond what it holds is owed.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: f64,
    /// The depth in time: what comes at the rate meanwhile.
    depth: Duration,
    level: f64,
    filled: Instant,
}

impl Bucket {
    /// Full, for `rate` bytes a second.
    pub fn new(rate: f64, depth: Duration, now: Instant) -> Bucket {
        Bucket {
            rate,
            depth,
            level: rate * depth.as_secs_f64(),
            filled: now,
        }
    }

    /// From now on it fills with `rate` bytes a second. What it holds stays as much of its depth.
    pub fn set_rate(&mut self, rate: f64, now: Instant) {
        self.fill(now);
        self.level *= rate / self.rate;
        self.rate = rate;
    }

    /// Sends bytes, whether it holds them or not.
    pub fn take(&mut self, bytes: usize, now: Instant) {
        self.fill(now);
        self.level -= bytes as f64;
    }

    /// What it holds of its depth: 1 if it is full, 0 if it is empty, less if bytes are owed.
    pub fn level(&mut self, now: Instant) -> f64 {
        self.fill(now);
        self.level / (self.rate * self.depth.as_secs_f64())
    }

    fn fill(&mut self, now: Instant) {
        let time = now.saturating_duration_since(self.filled);
        let full = self.rate * self.depth.as_secs_f64();
        self.level = (self.level + self.rate * time.as_secs_f64()).min(full);
        self.filled = self.filled.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_out_is_the_depth_and_then_the_rate() {
        let begun = Instant::now();
        let mut bucket = Bucket::new(1e6, Duration::from_millis(500), begun);
        let mut sent = 0;
        for step in 0..10_000u32 {
            let now = begun + Duration::from_millis(step.into());
            while bucket.level(now) >= 0.0 {
                bucket.take(1000, now);
                sent += 1000;
            }
        }
        assert!((10_500_000..10_503_000).contains(&sent), "{sent}");
    }

    #[test]
    fn a_change_of_rate_keeps_the_part_that_is_full() {
        let begun = Instant::now();
        let mut bucket = Bucket::new(1e6, Duration::from_secs(1), begun);
        bucket.take(1_500_000, begun);
        assert_eq!(bucket.level(begun), -0.5);
        bucket.set_rate(2e6, begun);
        assert_eq!(bucket.level(begun), -0.5);
        let later = begun + Duration::from_millis(750);
        assert!((bucket.level(later) - 0.25).abs() < 1e-9);
        assert_eq!(bucket.level(begun + Duration::from_secs(9)), 1.0);
    }
}
