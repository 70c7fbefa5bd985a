//! The incumbent's current cost, with which candidates are compared.

use super::belief::median;

/// Units kept; more would follow a drifting machine too slowly.
const KEPT: usize = 32;

/// The latest units of the incumbent, as logarithms of seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    ring: [f64; KEPT],
    len: usize,
    at: usize,
}

impl Level {
    /// Starts again, with a guess if there is one, which counts as one unit.
    pub(super) fn restart(&mut self, guess: Option<f64>) {
        self.len = 0;
        guess.into_iter().for_each(|guess| self.put(guess));
    }

    /// Takes the seconds of units, in order.
    pub(super) fn take(&mut self, seconds: &[f64]) {
        seconds.iter().for_each(|seconds| self.put(seconds.ln()));
    }

    fn put(&mut self, log_seconds: f64) {
        self.ring[self.at] = log_seconds;
        self.at = (self.at + 1) % KEPT;
        self.len = (self.len + 1).min(KEPT);
    }

    /// Units known, at most the number kept.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The median of the latest `window` units.
    pub(super) fn log(&self, window: usize) -> Option<f64> {
        let count = window.clamp(1, KEPT).min(self.len);
        let mut latest = [0.0; KEPT];
        for (back, slot) in latest[..count].iter_mut().enumerate() {
            *slot = self.ring[(self.at + KEPT - 1 - back) % KEPT];
        }
        median(&mut latest[..count])
    }

    /// Deviation of the logarithm of a single unit's time, spikes left out: 1.5 times the median distance from the
    /// median.
    pub(super) fn noise(&self) -> f64 {
        let level = self.log(KEPT).unwrap_or_default();
        let mut apart = self.ring.map(|log| (log - level).abs());
        let apart = median(&mut apart[..self.len]).unwrap_or_default();
        (1.5 * apart).clamp(0.005, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_the_latest_units() {
        let mut level = Level::default();
        level.take(&[1.0; 40]);
        level.take(&[1_f64.exp(); 3]);
        assert_eq!(level.log(5), Some(1.0));
        assert_eq!(level.log(32), Some(0.0));
    }

    #[test]
    fn spikes_hardly_raise_the_noise() {
        let mut level = Level::default();
        let unit = |i: usize| {
            let spike = if i.is_multiple_of(50) { 2.0 } else { 0.0 };
            let noise = if i.is_multiple_of(2) { 0.02 } else { -0.02 };
            f64::exp(noise + spike)
        };
        level.take(&(0..400).map(unit).collect::<Vec<f64>>());
        assert!(level.noise() < 0.06, "{}", level.noise());
    }
}
