//! Watches the incumbent's cost for a lasting change, up or down.
//!
//! The Page-Hinkley test (Page, Continuous Inspection Schemes, Biometrika 1954; Hinkley 1971) on the logarithm of the
//! cost of windows of units: sums of what exceeds the reference by more than a tolerance, one for each direction,
//! that never fall below zero. A window's part is clipped, so that no single spike can raise the alarm. What
//! windows differ by anyway is tolerated: where workers share a processor with another process, some dozen
//! milliseconds have a unit twice as fast as the next dozen, again and again, and no plan is better for knowing it.

use super::belief::median;

/// Largest part of one window.
const CLIP: f64 = 0.5;
/// Least tolerance: smaller changes are not worth a search.
const TOLERANCE: f64 = 0.06;
/// A sum above this is an alarm: at least four windows at the clip.
const ALARM: f64 = 1.6;
/// Windows that make the reference, and the same where they are usually further apart than that.
const REFERENCE: usize = 5;
const LONG_REFERENCE: usize = 32;
const FAR: f64 = 0.15;
/// Windows that the usual distance from the level is a mean of.
const DISTANCE: f64 = 16.0;

/// A change that lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// Logarithm of the cost before.
    pub(super) from: f64,
    /// Logarithm of the cost now.
    pub(super) to: f64,
}

/// The test's state.
#[derive(Clone, Debug)]
pub(super) struct Drift {
    reference: Option<f64>,
    latest: [f64; REFERENCE],
    len: usize,
    /// The mean of the latest windows, and how far windows are from it, on average.
    level: f64,
    distance: f64,
    up: f64,
    down: f64,
}

impl Drift {
    pub(super) fn new() -> Drift {
        Drift {
            reference: None,
            latest: [0.0; REFERENCE],
            len: 0,
            level: 0.0,
            distance: 0.0,
            up: 0.0,
            down: 0.0,
        }
    }

    /// Takes the median of a window of the incumbent's units; `noise` is the deviation of such medians.
    pub(super) fn push(&mut self, log_seconds: f64, noise: f64) -> Option<Change> {
        self.latest[self.len % REFERENCE] = log_seconds;
        self.len += 1;
        if self.len == 1 {
            self.level = log_seconds;
        }
        let distance = log_seconds - self.level;
        self.level += distance / self.len.min(LONG_REFERENCE) as f64;
        self.distance += (distance.abs() - self.distance) / DISTANCE;
        let Some(reference) = self.reference else {
            if self.len >= LONG_REFERENCE {
                self.reference = Some(self.level);
            } else if self.len >= REFERENCE && self.distance < FAR {
                self.reference = self.now();
            }
            return None;
        };
        let tolerance = TOLERANCE.max(noise).max(self.distance);
        let apart = log_seconds - reference;
        self.up = (self.up + (apart - tolerance).min(CLIP)).max(0.0);
        self.down = (self.down + (-apart - tolerance).min(CLIP)).max(0.0);
        if self.up > ALARM || self.down > ALARM {
            let change = Change {
                from: reference,
                to: self.now().unwrap_or(log_seconds),
            };
            *self = Drift {
                distance: self.distance,
                ..Drift::new()
            };
            return Some(change);
        }
        // A creeping change is followed: it hits all plans alike more often than not.
        self.reference = Some(reference + apart.clamp(-0.1, 0.1) / 64.0);
        None
    }

    /// The plan that is watched changes for one whose cost differs by `x` (log).
    pub(super) fn rebase(&mut self, x: f64) {
        *self = Drift {
            reference: self.reference.map(|reference| reference + x),
            level: self.level + x,
            len: self.len,
            latest: self.latest.map(|latest| latest + x),
            distance: self.distance,
            up: 0.0,
            down: 0.0,
        };
    }

    /// The sums are on their way to an alarm, so this is no moment to compare plans.
    pub(super) fn suspects(&self) -> bool {
        self.up.max(self.down) > 0.6 * ALARM
    }

    fn now(&self) -> Option<f64> {
        let mut latest = self.latest;
        median(&mut latest[..self.len.min(REFERENCE)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> Drift {
        let mut drift = Drift::new();
        for i in 0..50 {
            assert_eq!(
                drift.push(if i % 2 == 0 { 0.02 } else { -0.02 }, 0.03),
                None
            );
        }
        drift
    }

    #[test]
    fn a_lasting_change_is_seen_within_eight_windows_either_way() {
        for change in [0.4, -0.4] {
            let mut drift = settled();
            let seen = (1..=8).find_map(|i| drift.push(change, 0.03).map(|c| (i, c)));
            let (windows, found) = seen.expect("an alarm");
            assert!(windows >= 4, "{windows}");
            assert!(
                (found.to - change).abs() < 0.01 && found.from.abs() < 0.05,
                "{found:?}"
            );
        }
    }

    #[test]
    fn spikes_raise_no_alarm() {
        let mut drift = settled();
        for i in 0..5000 {
            let x = if i % 25 == 0 { 2.3 } else { 0.0 };
            assert_eq!(drift.push(x, 0.03), None, "window {i}");
        }
    }

    /// Windows between `a` and `b` (log) in turns of ten, as of a processor that is shared.
    fn turns(drift: &mut Drift, windows: usize, a: f64, b: f64) -> usize {
        let level = |i: usize| if (i / 10).is_multiple_of(2) { a } else { b };
        let alarms = (0..windows).filter(|&i| drift.push(level(i), 0.2).is_some());
        alarms.count()
    }

    #[test]
    fn what_goes_back_and_forth_is_soon_no_news() {
        let mut drift = settled();
        assert!((1..=2).contains(&turns(&mut drift, 60, 0.9, 0.1)));
        assert_eq!(turns(&mut drift, 2000, 0.9, 0.1), 0);
        // Until it ends, which is seen though it is no more than the turns were.
        let seen = (1..=60).find(|_| drift.push(0.0, 0.2).is_some());
        assert!(seen.is_some());
    }

    #[test]
    fn two_spikes_in_a_row_raise_no_alarm() {
        let mut drift = settled();
        for x in [2.3, 2.3, 0.0, 0.0, 0.0, 2.3, 0.0] {
            assert_eq!(drift.push(x, 0.03), None);
        }
    }

    #[test]
    fn a_creeping_change_is_followed() {
        let mut drift = settled();
        for i in 0..3000 {
            assert_eq!(drift.push(f64::from(i) * 1e-4, 0.03), None, "window {i}");
        }
    }
}
