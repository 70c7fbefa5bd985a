//! The incumbent's cost of the moment, which candidates are compared with.

use super::belief::median;

/// Units kept; more would follow a drifting machine too slowly.
const KEPT: usize = 32;

/// Units that are compared with one level: to find it for each would take longer than the shortest units do.
const AT_ONCE: usize = 8;

/// The latest units of the incumbent, as logarithms of seconds.
#[derive(Clone, Debug)]
pub(super) struct Level {
    ring: [f64; KEPT],
    len: usize,
    at: usize,
    /// Mean distance of a unit from the level, spikes clipped.
    distance: f64,
}

impl Level {
    pub(super) fn new() -> Level {
        Level {
            ring: [0.0; KEPT],
            len: 0,
            at: 0,
            distance: 0.05,
        }
    }

    /// Starts again from a guess that counts as one unit; what is known of the noise stays.
    pub(super) fn restart(&mut self, guess: Option<f64>) {
        self.len = 0;
        self.at = 0;
        if let Some(guess) = guess {
            self.put(guess);
        }
    }

    /// Takes the seconds of units, in order. `window` is how many of the latest count for the level.
    pub(super) fn take(&mut self, seconds: &[f64], window: usize) {
        for some in seconds.chunks(AT_ONCE) {
            let known = self.len >= 3;
            let level = self.log(window).filter(|_| known);
            for seconds in some {
                let log = seconds.ln();
                if let Some(level) = level {
                    let distance = (log - level).abs().min(3.0 * self.distance + 0.02);
                    self.distance += (distance - self.distance) / 24.0;
                }
                self.put(log);
            }
        }
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
        for (i, slot) in latest[..count].iter_mut().enumerate() {
            *slot = self.ring[(self.at + KEPT - 1 - i) % KEPT];
        }
        median(&mut latest[..count])
    }

    /// Deviation of the logarithm of a single unit's time, spikes left out.
    pub(super) fn noise(&self) -> f64 {
        (1.25 * self.distance).clamp(0.005, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_the_latest_units() {
        let mut level = Level::new();
        level.take(&[1.0; 40], 5);
        level.take(&[1_f64.exp(); 3], 5);
        assert_eq!(level.log(5), Some(1.0));
        assert_eq!(level.log(32), Some(0.0));
    }

    #[test]
    fn spikes_hardly_raise_the_noise() {
        let mut level = Level::new();
        let unit = |i: usize| {
            let spike = if i.is_multiple_of(50) { 2.0 } else { 0.0 };
            let noise = if i.is_multiple_of(2) { 0.02 } else { -0.02 };
            f64::exp(noise + spike)
        };
        level.take(&(0..400).map(unit).collect::<Vec<f64>>(), 5);
        assert!(level.noise() < 0.06, "{}", level.noise());
    }
}
