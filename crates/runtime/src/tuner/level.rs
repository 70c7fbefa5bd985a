//! The incumbent's cost of the moment, which candidates are compared with.

/// Units kept; more would follow a drifting machine too slowly.
const KEPT: usize = 32;

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

    /// Takes one unit. `window` is how many of the latest count for the level.
    pub(super) fn push(&mut self, log_seconds: f64, window: usize) {
        if let Some(level) = self.log(window)
            && self.len >= 3
        {
            let distance = (log_seconds - level).abs().min(3.0 * self.distance + 0.02);
            self.distance += (distance - self.distance) / 24.0;
        }
        self.put(log_seconds);
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
        // Of an even number the lower one in the middle: what disturbs a unit makes it slower.
        let sorted = &mut latest[..count];
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.get(count.saturating_sub(1) / 2).copied()
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
        for _ in 0..40 {
            level.push(0.0, 5);
        }
        for _ in 0..3 {
            level.push(1.0, 5);
        }
        assert_eq!(level.log(5), Some(1.0));
        assert_eq!(level.log(32), Some(0.0));
    }

    #[test]
    fn spikes_hardly_raise_the_noise() {
        let mut level = Level::new();
        for i in 0..400 {
            let spike = if i % 50 == 0 { 2.0 } else { 0.0 };
            level.push(if i % 2 == 0 { 0.02 } else { -0.02 } + spike, 5);
        }
        assert!(level.noise() < 0.06, "{}", level.noise());
    }
}
