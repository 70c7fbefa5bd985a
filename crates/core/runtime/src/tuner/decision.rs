//! The log of decisions: each with its reason, in one readable line.

use std::fmt;

/// Entries kept of the beginning and of the end; of a longer log the middle is left out.
const KEPT: usize = 200;

/// A decision of the tuner, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The epoch after which it was made; 0 is before the first.
    pub epoch: u64,
    /// A sentence without its full stop.
    pub text: String,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.epoch {
            0 => write!(f, "start: {}", self.text),
            epoch => write!(f, "epoch {epoch}: {}", self.text),
        }
    }
}

/// The log itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    entries: Vec<Decision>,
    left_out: u64,
}

impl Log {
    pub(super) fn entries(&self) -> &[Decision] {
        &self.entries
    }

    pub(super) fn push(&mut self, epoch: u64, text: String) {
        if self.entries.len() > 2 * KEPT {
            // The entry in the middle stands for all that are gone.
            self.entries.remove(KEPT + 1);
            self.left_out += 1;
            let count = self.left_out + 1;
            self.entries[KEPT].text = format!("{count} decisions from here on are left out");
        }
        self.entries.push(Decision { epoch, text });
    }
}

/// Seconds in the unit a reader expects, three digits.
pub(super) struct Time(pub(super) f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            s if s >= 0.9995 => (s, "s"),
            s if s >= 0.9995e-3 => (s * 1e3, "ms"),
            s => (s * 1e6, "\u{b5}s"),
        };
        let digits = match value {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// How a cost differs from another, as a multiple of that.
pub(super) struct Change(pub(super) f64);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match 100.0 * (self.0 - 1.0) {
            p if p <= -0.5 => write!(f, "{:.0} % faster", -p),
            p if p < 0.5 => write!(f, "no different"),
            p => write!(f, "{p:.0} % slower"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (s, text) in [
            (15.04e-6, "15.0 \u{b5}s"),
            (999.9e-6, "1.00 ms"),
            (0.0123, "12.3 ms"),
            (0.1234, "123 ms"),
            (2.5, "2.50 s"),
        ] {
            assert_eq!(Time(s).to_string(), text);
        }
    }

    #[test]
    fn changes_are_in_percent() {
        let text = [0.931, 0.998, 1.25].map(|times| Change(times).to_string());
        assert_eq!(text, ["7 % faster", "no different", "25 % slower"]);
    }

    #[test]
    fn a_long_log_keeps_its_ends_and_counts_the_rest() {
        let mut log = Log::default();
        for epoch in 1..=5000 {
            log.push(epoch, "settled".into());
        }
        let entries = log.entries();
        assert_eq!(entries.len(), 2 * KEPT + 1);
        assert_eq!(
            (entries[0].epoch, entries[KEPT].epoch),
            (1, KEPT as u64 + 1)
        );
        assert_eq!(entries[KEPT + 1].epoch, 5001 - KEPT as u64);
        assert_eq!(entries.last().unwrap().epoch, 5000);
        let left_out = format!("{} decisions from here on are left out", 5000 - 2 * KEPT);
        assert_eq!(entries[KEPT].text, left_out);
    }
}
