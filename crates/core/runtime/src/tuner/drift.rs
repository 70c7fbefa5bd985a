//! Watches the incumbent's cost for a lasting change, up or down.
//!
//! The Page-Hinkley test (Page, Continuous Inspection Schemes, Biometrika 1954; Hinkley 1971) on the logarithm of the
//! cost of windows of units: sums of what exceeds the reference by more than a tolerance, one for each direction,
//! that never fall below zero. A window's part is clipped, so that no single spike can raise the alarm.

use super::belief::median;

/// Largest part of one window.
const CLIP: f64 = 0.5;
/// Least tolerance: smaller changes are not worth a search.
const TOLERANCE: f64 = 0.06;
/// A sum above this is an alarm: at least five windows at the clip.
const ALARM: f64 = 2.0;
/// Windows that make the reference.
const REFERENCE: usize = 5;
/// A change that lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drifted {
    /// Logarithm of the cost before.
    pub(super) from: f64,
    /// Logarithm of the cost now.
    pub(super) to: f64,
}

/// The test's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Drift {
    reference: Option<f64>,
    latest: [f64; REFERENCE],
    len: usize,
    up: f64,
    down: f64,
}

impl Drift {
    /// Takes the median of a window of the incumbent's units; `noise` is the deviation of such medians.
    pub(super) fn push(&mut self, log_seconds: f64, noise: f64) -> Option<Drifted> {
        self.latest[self.len % REFERENCE] = log_seconds;
        self.len += 1;
        let mut latest = self.latest;
        let now = median(&mut latest[..self.len.min(REFERENCE)])?;
        let Some(reference) = self.reference else {
            self.reference = (self.len >= REFERENCE).then_some(now);
            return None;
        };
        let tolerance = TOLERANCE.max(noise);
        let apart = log_seconds - reference;
        self.up = (self.up + (apart - tolerance).min(CLIP)).max(0.0);
        self.down = (self.down + (-apart - tolerance).min(CLIP)).max(0.0);
        if self.up.max(self.down) <= ALARM {
            return None;
        }
        *self = Drift::default();
        Some(Drifted {
            from: reference,
            to: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> Drift {
        let mut drift = Drift::default();
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

    #[test]
    fn two_spikes_in_a_row_raise_no_alarm() {
        let mut drift = settled();
        for x in [2.3, 2.3, 0.0, 0.0, 0.0, 2.3, 0.0] {
            assert_eq!(drift.push(x, 0.03), None);
        }
    }
}
