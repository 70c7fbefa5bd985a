//! CUBIC (RFC 9438) with HyStart++ (RFC 9406). Windows are in bytes; times in seconds.

use super::loss_based::{LossBased, Rule, Window};
use super::{Ack, Algorithm};
use crate::time::Time;

/// How steep the cubic function is, in segments a second cubed (RFC 9438, 5).
const C: f64 = 0.4;
/// What a loss leaves of the window (RFC 9438, 4.6).
const BETA: f64 = 0.7;
/// Round trips that show a delay are compared over at least so many samples (RFC 9406, 4.3).
const SAMPLES: u8 = 8;
/// Slow start grows by this part of what is acknowledged once delay has grown.
const CONSERVATIVE: u64 = 4;
/// Rounds of that, until slow start ends.
const CONSERVATIVE_ROUNDS: u8 = 5;
/// What counts as growth of a delay, in nanoseconds: an eighth of it, within these bounds.
const MINIMUM_DELAY: u64 = 4_000_000;
const MAXIMUM_DELAY: u64 = 16_000_000;

/// How the window grows and shrinks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    /// The window before the last loss, and what is aimed at: less if others need room.
    prior: f64,
    maximum: f64,
    /// What was aimed at before the last loss.
    maximum_before: f64,
    /// Seconds from the beginning of the epoch to when the window is `maximum` again.
    k: f64,
    /// When the epoch began; [`Time::NEVER`] until something is acknowledged in it.
    epoch: Time,
    /// What Reno would have.
    estimate: f64,
    start: SlowStart,
}

/// HyStart++.
#[derive(Clone, Copy, Debug, Default)]
struct SlowStart {
    round_ends: u64,
    /// The smallest round trips of the last round and of this one, in nanoseconds.
    last: u64,
    current: u64,
    samples: u8,
    /// Rounds since delay was first seen to grow, and the smallest round trip then.
    conservative: Option<u8>,
    base: u64,
}

impl Cubic {
    /// The state of a new connection.
    pub fn control(mss: u64) -> LossBased<Cubic> {
        let rule = Cubic {
            prior: 0.0,
            maximum: 0.0,
            maximum_before: 0.0,
            k: 0.0,
            epoch: Time::NEVER,
            estimate: 0.0,
            start: SlowStart::default(),
        };
        LossBased::new(mss, rule)
    }
}

impl Rule for Cubic {
    const ALGORITHM: Algorithm = Algorithm::Cubic;

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        // Later slow starts end at a window that is known (RFC 9406, 4.3).
        if window.threshold.is_finite() {
            return 1;
        }
        if self.start.round(ack) {
            // Delay has grown for long enough.
            window.threshold = window.bytes;
            return 1;
        }
        match self.start.conservative {
            Some(_) => CONSERVATIVE,
            None => 1,
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack) {
        let (bytes, mss) = (window.bytes, window.mss);
        if self.epoch == Time::NEVER {
            self.epoch = ack.now;
            self.estimate = bytes;
            if bytes < self.maximum {
                self.k = ((self.maximum - bytes) / mss / C).cbrt();
            } else {
                self.k = 0.0;
                self.maximum = bytes;
            }
        }
        let rtt = ack.smoothed_rtt.unwrap_or_default().as_secs_f64();
        let elapsed = ack.now.since(self.epoch).as_secs_f64();
        let cubic = |time: f64| C * (time - self.k).powi(3) * mss + self.maximum;
        let target = cubic(elapsed + rtt).clamp(bytes, 1.5 * bytes);
        let delivered = ack.delivered as f64;
        let alpha = if self.estimate >= self.prior {
            1.0
        } else {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        };
        self.estimate += alpha * mss * delivered / bytes;
        if cubic(elapsed) < self.estimate {
            window.bytes = bytes.max(self.estimate);
        } else {
            window.bytes += (target - bytes) * delivered / bytes;
        }
    }

    fn reduce(&mut self, window: &Window) -> f64 {
        self.maximum_before = self.maximum;
        self.prior = window.bytes;
        // Another flow may need room: let go of some more (RFC 9438, 4.7).
        self.maximum = if window.bytes < self.maximum {
            window.bytes * (1.0 + BETA) / 2.0
        } else {
            window.bytes
        };
        self.epoch = Time::NEVER;
        window.bytes * BETA
    }

    fn undo(&mut self) {
        self.maximum = self.maximum_before;
        self.epoch = Time::NEVER;
    }

    /// The epoch does not count the pause.
    fn idle(&mut self) {
        self.epoch = Time::NEVER;
    }
}

impl SlowStart {
    /// Whether slow start ends.
    fn round(&mut self, ack: &Ack) -> bool {
        if ack.una >= self.round_ends {
            if self.samples > 0 {
                self.last = self.current;
            }
            self.round_ends = ack.nxt;
            self.current = u64::MAX;
            self.samples = 0;
            if let Some(rounds) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CONSERVATIVE_ROUNDS {
                    return true;
                }
            }
        }
        let Some(rtt) = ack.rtt else { return false };
        self.current = self.current.min(rtt.as_nanos() as u64);
        self.samples = self.samples.saturating_add(1);
        if self.samples < SAMPLES || self.last == 0 {
            return false;
        }
        let delay = (self.last / 8).clamp(MINIMUM_DELAY, MAXIMUM_DELAY);
        match self.conservative {
            None if self.current >= self.last + delay => {
                self.conservative = Some(0);
                self.base = self.current;
            }
            // It was a burst of delay, and is over.
            Some(_) if self.current < self.base => self.conservative = None,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Control;
    use super::*;

    const MSS: u64 = 1000;

    /// A window of `cubic` is acknowledged, as the peer does every round trip.
    fn round(cubic: &mut LossBased<Cubic>, at: Duration, rtt: Duration, position: &mut u64) {
        let mut left = cubic.window();
        while left > 0 {
            let delivered = left.min(2 * MSS);
            left -= delivered;
            *position += delivered;
            cubic.acknowledged(&Ack {
                now: Time::ZERO + at,
                rtt: Some(rtt),
                smoothed_rtt: Some(rtt),
                una: *position,
                nxt: *position + cubic.window(),
                ..Ack::of(delivered)
            });
        }
    }

    fn grown(rtt: Duration, start: f64, until: Duration) -> Vec<(f64, f64)> {
        let mut cubic = Cubic::control(MSS);
        cubic.window.bytes = start * MSS as f64;
        cubic.reduce();
        let (mut at, mut position, mut windows) = (Duration::ZERO, 0, Vec::new());
        while at < until {
            round(&mut cubic, at, rtt, &mut position);
            at += rtt;
            windows.push((at.as_secs_f64(), cubic.window.bytes / MSS as f64));
        }
        windows
    }

    /// RFC 9438, 4.2: concave up to the window before the loss after K seconds, and convex from there on.
    #[test]
    fn the_window_follows_the_cubic_function() {
        let (start, rtt) = (1000.0, Duration::from_millis(100));
        let k = (start * (1.0 - BETA) / C).cbrt();
        for (at, window) in grown(rtt, start, Duration::from_secs(20)) {
            let exact = C * (at - k).powi(3) + start;
            assert!(
                (window - exact).abs() < 0.03 * exact,
                "{at}: {window}, not {exact}"
            );
        }
    }

    /// RFC 9438, 4.3: where the cubic function is slower than Reno, the window grows as Reno's would.
    #[test]
    fn short_paths_are_friendly_to_reno() {
        let (start, rtt) = (20.0, Duration::from_millis(10));
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        for (round, (_, window)) in grown(rtt, start, Duration::from_millis(100))
            .iter()
            .enumerate()
        {
            let exact = start * BETA + alpha * (round + 1) as f64;
            assert!(
                (window - exact).abs() < 0.5,
                "{round}: {window}, not {exact}"
            );
        }
    }

    /// RFC 9438, 4.7: a loss below the window of the last one leaves room for others.
    #[test]
    fn fast_convergence() {
        let mut cubic = Cubic::control(MSS);
        cubic.window.bytes = 100_000.0;
        cubic.reduce();
        assert_eq!(
            (cubic.window.bytes, cubic.rule.maximum),
            (70_000.0, 100_000.0)
        );
        cubic.window.bytes = 80_000.0;
        cubic.reduce();
        assert_eq!(
            (cubic.window.bytes, cubic.rule.maximum),
            (56_000.0, 68_000.0)
        );
    }

    /// RFC 9406, 4.3: slow start goes on at a quarter of its pace when the round trip has grown by an eighth, and ends after
    /// five rounds of that; it goes on as before if the delay was passing.
    #[test]
    fn slow_start_ends_when_delay_grows() {
        let mut cubic = Cubic::control(MSS);
        let (short, long) = (Duration::from_millis(80), Duration::from_millis(95));
        let mut position = 0;
        for rtt in [short, short, long, short] {
            let before = cubic.window.bytes;
            round(&mut cubic, Duration::ZERO, rtt, &mut position);
            assert!(cubic.window.bytes > 1.2 * before);
        }
        assert!(cubic.rule.start.conservative.is_none(), "it was passing");
        round(&mut cubic, Duration::ZERO, short, &mut position);
        let mut rounds = 0;
        while cubic.threshold().is_none() {
            rounds += 1;
            round(&mut cubic, Duration::ZERO, long, &mut position);
            assert!(rounds < 10);
        }
        assert!((5..=7).contains(&rounds), "{rounds}");
    }
}
