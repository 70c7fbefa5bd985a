//! Times of units in bounded memory, whatever the length of the stream.

use serde::Serialize;

/// Statistics of the times of units, in seconds. All 0 without units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// The shortest.
    pub min_s: f64,
    /// The median.
    pub median_s: f64,
    /// The average.
    pub mean_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
}

/// A sample of a sequence of times. Up to a limit it has all of them, beyond it one chosen at random from each run of
/// 2, then 4, … units. So it stays evenly spread over the stream, and a period in the stream does not bias it.
pub(super) struct Samples {
    kept: Vec<f32>,
    limit: usize,
    /// Times that one kept time stands for.
    stride: u64,
    /// Position in the present run, and which one of it is kept.
    at: u64,
    keep: u64,
    random: u64,
    count: u64,
    sum: f64,
    min: f64,
}

impl Samples {
    /// Keeps at most `limit` times, an even number.
    pub(super) fn new(limit: usize) -> Self {
        Samples {
            kept: Vec::with_capacity(limit.max(2).next_multiple_of(2)),
            limit: limit.max(2).next_multiple_of(2),
            stride: 1,
            at: 0,
            keep: 0,
            random: 0x9E37_79B9_7F4A_7C15,
            count: 0,
            sum: 0.0,
            min: f64::INFINITY,
        }
    }

    /// How many times were added.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the time of the next unit, in seconds.
    pub(super) fn add(&mut self, time: f64) {
        self.count += 1;
        self.sum += time;
        self.min = self.min.min(time);
        if self.at == self.keep {
            if self.kept.len() == self.limit {
                self.thin();
            }
            self.kept.push(time as f32);
        }
        self.at += 1;
        if self.at == self.stride {
            self.at = 0;
            self.keep = self.below(self.stride);
        }
    }

    /// Keeps one of each pair, and half as many times from here on.
    fn thin(&mut self) {
        for i in 0..self.kept.len() / 2 {
            let one = self.below(2) as usize;
            self.kept[i] = self.kept[2 * i + one];
        }
        self.kept.truncate(self.kept.len() / 2);
        self.stride *= 2;
    }

    /// A number below `n`, a power of two, by Marsaglia's xorshift64 (J. Stat. Softw. 8(14), 2003).
    fn below(&mut self, n: u64) -> u64 {
        if n == 1 {
            return 0;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) & (n - 1)
    }

    /// Statistics of all times that were added.
    pub(super) fn times(&self) -> Times {
        if self.count == 0 {
            return Times::default();
        }
        Times {
            min_s: self.min,
            mean_s: self.sum / self.count as f64,
            ..times(&self.kept)
        }
    }

    /// Statistics of the last quarter of the times, from those kept.
    pub(super) fn last_quarter(&self) -> Times {
        times(&self.kept[self.kept.len() - self.kept.len().div_ceil(4)..])
    }
}

fn times(kept: &[f32]) -> Times {
    if kept.is_empty() {
        return Times::default();
    }
    let mut sorted = kept.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| f64::from(sorted[((sorted.len() - 1) as f64 * share).round() as usize]);
    let sum: f64 = sorted.iter().map(|&t| f64::from(t)).sum();
    Times {
        min_s: at(0.0),
        median_s: at(0.5),
        mean_s: sum / sorted.len() as f64,
        p99_s: at(0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: usize, micros: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::new(limit);
        micros
            .into_iter()
            .for_each(|t| samples.add(t as f64 * 1e-6));
        samples
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b
    }

    #[test]
    fn few_times_are_exact() {
        let samples = of(1000, (1..=400).rev());
        let all = samples.times();
        assert!(
            near(all.min_s, 1e-6, 1e-6) && near(all.mean_s, 200.5e-6, 1e-6),
            "{all:?}"
        );
        assert!(
            near(all.median_s, 201e-6, 0.006) && near(all.p99_s, 396e-6, 0.006),
            "{all:?}"
        );
        let last = samples.last_quarter();
        assert!(
            near(last.median_s, 50.5e-6, 0.02) && near(last.p99_s, 99e-6, 0.02),
            "{last:?}"
        );
        assert_eq!(samples.count(), 400);
    }

    #[test]
    fn many_times_stay_within_the_limit_and_spread_over_the_stream() {
        let samples = of(1024, 1..=1_000_000);
        assert!(
            (512..=1024).contains(&samples.kept.len()),
            "{}",
            samples.kept.len()
        );
        assert!(
            near(samples.times().median_s, 0.5, 0.02),
            "{:?}",
            samples.times()
        );
        assert!(near(samples.last_quarter().median_s, 0.875, 0.02));
        assert!(samples.kept.is_sorted());
    }

    #[test]
    fn a_period_of_two_is_not_hidden() {
        let samples = of(256, (0..100_000).map(|i| if i % 2 == 0 { 1 } else { 3 }));
        let threes = samples.kept.iter().filter(|t| **t > 2e-6).count() as f64;
        assert!(
            near(threes, samples.kept.len() as f64 / 2.0, 0.3),
            "{threes}"
        );
    }

    #[test]
    fn none_is_all_zero() {
        assert_eq!(Samples::new(8).times(), Times::default());
        assert_eq!(Samples::new(8).last_quarter(), Times::default());
    }
}
