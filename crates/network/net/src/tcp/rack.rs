//! RACK-TLP: loss by time (RFC 8985).

use std::time::Duration;

use super::Connection;
use super::scoreboard::Range;
use crate::time::Time;

/// So many segments sacked beyond one that is not end the wait for reordering (RFC 5681).
pub(super) const DUPLICATES: u64 = 3;
/// Recoveries after which a longer wait for reordering is forgotten.
const PERSISTENCE: u8 = 16;

/// Section 5.2 has these variables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// Of what was sent last of all that is delivered: when, its end, how long that took.
    sent_at: Time,
    end: u64,
    /// Nanoseconds.
    rtt: u64,
    reordering: bool,
    /// Quarters of the shortest round trip that reordering may take.
    quarters: u8,
    persistence: u8,
    /// A round ends here; one growth a round.
    grown_until: u64,
}

impl Rack {
    /// A range is delivered. `highest` is the greatest position delivered before.
    pub fn deliver(&mut self, now: Time, range: &Range, minimum: Option<Duration>, highest: u64) {
        if !range.retransmitted && range.end < highest {
            self.reordering = true;
        }
        let rtt = now.since(range.sent_at);
        if range.retransmitted && minimum.is_some_and(|minimum| rtt < minimum) {
            return;
        }
        if (range.sent_at, range.end) > (self.sent_at, self.end) {
            self.sent_at = range.sent_at;
            self.end = range.end;
            self.rtt = rtt.as_nanos() as u64;
        }
    }

    /// The peer got something twice: reordering takes longer than was waited for.
    pub fn duplicate(&mut self, una: u64, nxt: u64) {
        if una >= self.grown_until {
            self.grown_until = nxt;
            self.quarters = self.quarters.max(1).saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// A recovery ended.
    pub fn recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    fn window(
        &self,
        waits: bool,
        minimum: Option<Duration>,
        smoothed: Option<Duration>,
    ) -> Duration {
        if !self.reordering && !waits {
            return Duration::ZERO;
        }
        let quarter = minimum.unwrap_or_default() / 4;
        (quarter * u32::from(self.quarters.max(1))).min(smoothed.unwrap_or_default())
    }
}

impl Connection {
    /// Takes for lost what was sent so long before something that is delivered that it should be, too. Returns how many
    /// bytes that is, and sets the time to look again.
    pub(super) fn detect_loss(&mut self, now: Time) -> u64 {
        if self.rack.end == 0 {
            return 0;
        }
        let patience = self.patience();
        let last = (self.rack.sent_at, self.rack.end);
        let mut again = Time::NEVER;
        let lost = self.scoreboard.lose_of_earlier(last, |range| {
            let due = range.sent_at + patience;
            if due <= now {
                return true;
            }
            again = again.min(due);
            false
        });
        self.deadlines.reordering = again;
        lost
    }

    /// How long after it was sent something is expected to be delivered (6.2, step 4).
    fn patience(&self) -> Duration {
        let many = self.scoreboard.sacked() >= DUPLICATES * self.mss();
        let waits = !many && !self.phase.has_lost();
        let (minimum, smoothed) = (self.rtt.minimum(), self.rtt.smoothed());
        Duration::from_nanos(self.rack.rtt) + self.rack.window(waits, minimum, smoothed)
    }

    /// The timeout ran out: what was sent first is lost, and what is overdue (6.3). What was sent lately may still come.
    pub(super) fn lose_by_timeout(&mut self, now: Time) {
        let patience = self.patience();
        let una = self.una;
        let known = self.rack.end > 0;
        let lost = (self.scoreboard)
            .lose(|range| range.start == una || !known || range.sent_at + patience <= now);
        self.counts.lost += lost;
    }
}
