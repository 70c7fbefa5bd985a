//! What algorithms that take losses for congestion have in common: all but how their windows grow and what a loss leaves.

use std::fmt::Debug;
use std::time::Duration;

use super::{Ack, Algorithm, Control, initial_window};
use crate::time::Time;

/// The smallest window after a loss, in segments (RFC 5681, 3.1).
const FLOOR: f64 = 2.0;

/// What differs between loss-based algorithms.
pub(super) trait Rule: Debug + Send {
    const ALGORITHM: Algorithm;

    /// Slow start adds what is delivered, divided by the result. It may end slow start: it sets the threshold to the
    /// window.
    fn slow_start(&mut self, _window: &mut Window, _ack: &Ack) -> u64 {
        1
    }

    /// Grows the window after slow start. It is called only if the window was in use.
    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack);

    /// Bytes that a loss leaves of the window.
    fn reduce(&mut self, window: &Window) -> f64;

    /// The last call of [`Rule::reduce`] was wrong. The window and the threshold are restored already.
    fn undo(&mut self) {}

    /// Nothing was sent for a while. The window is reduced already.
    fn idle(&mut self) {}
}

/// A window, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The size of a segment.
    pub mss: f64,
    pub bytes: f64,
    /// The window at which slow start ends; infinite until that has been found.
    pub threshold: f64,
}

impl Window {
    fn set(&mut self, bytes: f64) {
        self.bytes = bytes.max(self.mss);
    }

    fn initial(&self) -> f64 {
        initial_window(self.mss as u64) as f64
    }
}

/// The state of a loss-based algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossBased<R> {
    pub window: Window,
    /// Window and threshold before the last reduction.
    before: Option<(f64, f64)>,
    pub rule: R,
}

impl<R: Rule> LossBased<R> {
    pub fn new(mss: u64, rule: R) -> LossBased<R> {
        LossBased {
            window: Window {
                mss: mss as f64,
                bytes: initial_window(mss) as f64,
                threshold: f64::INFINITY,
            },
            before: None,
            rule,
        }
    }

    /// The window after a loss.
    pub fn reduce(&mut self) {
        let window = &mut self.window;
        self.before = Some((window.bytes, window.threshold));
        window.threshold = self.rule.reduce(window).max(FLOOR * window.mss);
        window.bytes = window.threshold;
    }

    fn slow_start(&mut self, ack: &Ack) {
        let part = self.rule.slow_start(&mut self.window, ack);
        let window = &mut self.window;
        // A window of which half was in use is valid (RFC 7661, 4.3).
        if ack.window_limited || window.bytes < 2.0 * ack.largest_flight as f64 {
            let grown = window.bytes + (ack.delivered / part) as f64;
            window.bytes = grown.min(window.threshold.max(window.bytes));
        }
    }
}

impl<R: Rule> Control for LossBased<R> {
    fn algorithm(&self) -> Algorithm {
        R::ALGORITHM
    }

    fn window(&self) -> u64 {
        self.window.bytes as u64
    }

    fn threshold(&self) -> Option<u64> {
        let threshold = self.window.threshold;
        threshold.is_finite().then_some(threshold as u64)
    }

    fn set_mss(&mut self, mss: u64) {
        let window = &mut self.window;
        if window.bytes == window.initial() {
            window.bytes = initial_window(mss) as f64;
        }
        window.mss = mss as f64;
        window.set(window.bytes);
    }

    fn acknowledged(&mut self, ack: &Ack) {
        // What is only sacked lets no more out than it took (RFC 3042, 2).
        if ack.in_recovery || ack.delivered == 0 || !ack.advanced {
            return;
        }
        if self.window.bytes < self.window.threshold {
            self.slow_start(ack);
        } else if ack.window_limited {
            self.rule.avoid_congestion(&mut self.window, ack);
        }
    }

    fn congestion(&mut self, _in_flight: u64) {
        self.reduce();
    }

    fn reduces_proportionally(&self) -> bool {
        true
    }

    fn set_window(&mut self, window: u64) {
        self.window.set(window as f64);
    }

    fn recovered(&mut self) {
        self.window.bytes = self.window.threshold;
    }

    fn timed_out(&mut self) {
        self.reduce();
        self.window.bytes = self.window.mss;
    }

    fn restart(&mut self) {
        self.window.bytes = self.window.mss;
    }

    fn undo(&mut self) {
        let Some((bytes, threshold)) = self.before.take() else {
            return;
        };
        self.window.bytes = self.window.bytes.max(bytes);
        self.window.threshold = threshold;
        self.rule.undo();
    }

    /// Halves the window for each timeout that passed, though not below the first one.
    fn idle(&mut self, _now: Time, idle: Duration, timeout: Duration) {
        let window = &mut self.window;
        let first = window.initial().min(window.bytes);
        let halvings = (idle.as_nanos() / timeout.as_nanos().max(1)).min(32) as i32;
        if halvings > 0 {
            window.threshold = window.threshold.max(0.75 * window.bytes);
            window.bytes = (window.bytes / 2f64.powi(halvings)).max(first);
        }
        self.rule.idle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Reno (RFC 5681): a segment more each round trip, and half the window after a loss.
    #[derive(Debug)]
    struct Reno;

    impl Rule for Reno {
        const ALGORITHM: Algorithm = Algorithm::Cubic;

        fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack) {
            window.bytes += window.mss * ack.delivered as f64 / window.bytes;
        }

        fn reduce(&mut self, window: &Window) -> f64 {
            window.bytes / 2.0
        }
    }

    fn state(reno: &LossBased<Reno>) -> (u64, Option<u64>) {
        (reno.window(), reno.threshold())
    }

    #[test]
    fn the_window_grows_outside_recoveries_if_it_is_in_use() {
        let mut reno = LossBased::new(MSS, Reno);
        reno.acknowledged(&Ack::of(10_000));
        assert_eq!(state(&reno), (20_000, None));
        for ignored in [
            Ack {
                in_recovery: true,
                ..Ack::of(1000)
            },
            Ack {
                advanced: false,
                ..Ack::of(1000)
            },
            Ack {
                window_limited: false,
                largest_flight: 10_000,
                ..Ack::of(1000)
            },
        ] {
            reno.acknowledged(&ignored);
            assert_eq!(state(&reno), (20_000, None), "{ignored:?}");
        }
        reno.congestion(20_000);
        assert_eq!(state(&reno), (10_000, Some(10_000)));
        reno.set_window(9000);
        reno.recovered();
        reno.acknowledged(&Ack::of(10_000));
        assert_eq!(state(&reno), (11_000, Some(10_000)));
    }

    #[test]
    fn a_timeout_that_was_none_is_undone_once() {
        let mut reno = LossBased::new(MSS, Reno);
        reno.timed_out();
        assert_eq!(state(&reno), (1000, Some(5000)));
        reno.restart();
        reno.undo();
        assert_eq!(state(&reno), (10_000, None));
        reno.window.bytes = 2500.0;
        reno.undo();
        assert_eq!(state(&reno), (2500, None));
        reno.congestion(2500);
        assert_eq!(state(&reno), (2000, Some(2000)), "two segments at least");
    }

    #[test]
    fn pauses_halve_the_window_down_to_the_first_one() {
        let mut reno = LossBased::new(MSS, Reno);
        reno.window.bytes = 80_000.0;
        let second = Duration::from_secs(1);
        reno.idle(Time::ZERO, 2 * second, second);
        assert_eq!(state(&reno).0, 20_000);
        reno.idle(Time::ZERO, 9 * second, second);
        assert_eq!(state(&reno).0, 10_000);
    }
}
