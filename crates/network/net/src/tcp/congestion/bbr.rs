//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): what goes out follows the greatest rate at which bytes
//! were delivered and the smallest round trip, not losses.

use std::time::Duration;

use super::filter::Maximum;
use super::{Ack, Algorithm, Control, initial_window};
use crate::time::Time;

/// 2 / ln 2: doubles the rate each round.
const HIGH_GAIN: f64 = 2.885;
const WINDOW_GAIN: f64 = 2.0;
/// One round trip faster, one slower by as much, six as they are.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds that the greatest rate is taken of.
const RATE_ROUNDS: u64 = 10;
/// How long the smallest round trip is believed.
const MINIMUM_RTT_AGE: Duration = Duration::from_secs(10);
/// How long little is on its way, to see the smallest round trip.
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Segments on their way meanwhile.
const PROBE_RTT_SEGMENTS: u64 = 4;
/// Startup ends when the rate has not grown by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Bytes go out this much slower than they are delivered, so that no queue is left.
const MARGIN: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeRate {
        phase: usize,
        since: Time,
    },
    ProbeRtt {
        until: Option<Time>,
        round_done: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Bbr {
    mss: u64,
    mode: Mode,
    window: u64,
    rate: Maximum,
    minimum_rtt: Option<Duration>,
    minimum_rtt_at: Time,
    pacing: u64,
    pacing_gain: f64,
    window_gain: f64,
    rounds: u64,
    /// A round ends when what is sent after this many bytes were delivered is delivered.
    round_ends: u64,
    full_rate: u64,
    full_rounds: u32,
    full: bool,
    saved_window: u64,
    recovery: Recovery,
    idle_restart: bool,
    /// The first round trip is known, and the rate that follows from it set.
    paced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// As much goes out as came back, for a round.
    Conservation {
        until: u64,
    },
    /// It may grow.
    Growth,
}

impl Bbr {
    pub fn new(mss: u64) -> Bbr {
        let window = initial_window(mss);
        Bbr {
            mss,
            mode: Mode::Startup,
            window,
            rate: Maximum::default(),
            minimum_rtt: None,
            minimum_rtt_at: Time::ZERO,
            // As if the round trip were a millisecond.
            pacing: (HIGH_GAIN * window as f64 * 1000.0) as u64,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rounds: 0,
            round_ends: 0,
            full_rate: 0,
            full_rounds: 0,
            full: false,
            saved_window: 0,
            recovery: Recovery::None,
            idle_restart: false,
            paced: false,
        }
    }

    /// Whether a round ended.
    fn update_rate(&mut self, ack: &Ack) -> bool {
        let Some(sample) = ack.rate else { return false };
        let round = sample.delivered_before >= self.round_ends;
        if round {
            self.rounds += 1;
            self.round_ends = sample.delivered;
            if let Recovery::Conservation { until } = self.recovery
                && sample.delivered_before >= until
            {
                self.recovery = Recovery::Growth;
            }
        }
        if !sample.application_limited || sample.rate >= self.rate.get() {
            self.rate.update(RATE_ROUNDS, self.rounds, sample.rate);
        }
        round
    }

    fn update_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeRate { phase, since } = self.mode else {
            return;
        };
        let elapsed = ack.now.since(since) > self.minimum_rtt.unwrap_or_default();
        let over = match self.pacing_gain {
            gain if gain > 1.0 => {
                elapsed && (ack.lost > 0 || ack.in_flight_before >= self.product(gain))
            }
            gain if gain < 1.0 => elapsed || ack.in_flight_before <= self.product(1.0),
            _ => elapsed,
        };
        if over {
            let phase = (phase + 1) % CYCLE.len();
            self.mode = Mode::ProbeRate {
                phase,
                since: ack.now,
            };
            self.pacing_gain = CYCLE[phase];
        }
    }

    fn check_full(&mut self, ack: &Ack) {
        if self.full || ack.rate.is_none_or(|sample| sample.application_limited) {
            return;
        }
        if self.rate.get() as f64 >= self.full_rate as f64 * FULL_GROWTH {
            self.full_rate = self.rate.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.window_gain = HIGH_GAIN;
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.product(1.0) {
            self.probe_rate(ack.now);
        }
    }

    /// Begins at a phase that depends on the bytes sent, so that flows differ; never at the slow one.
    fn probe_rate(&mut self, now: Time) {
        let phase = match self.round_ends % 7 {
            1.. => 1 + (self.round_ends % 7) as usize,
            0 => 0,
        };
        self.mode = Mode::ProbeRate { phase, since: now };
        self.pacing_gain = CYCLE[phase];
        self.window_gain = WINDOW_GAIN;
    }

    fn update_minimum_rtt(&mut self, ack: &Ack, round: bool) {
        let expired =
            self.minimum_rtt.is_some() && ack.now.since(self.minimum_rtt_at) > MINIMUM_RTT_AGE;
        if let Some(rtt) = ack.rtt
            && (expired || self.minimum_rtt.is_none_or(|minimum| rtt <= minimum))
        {
            self.minimum_rtt = Some(rtt);
            self.minimum_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.saved_window = self.window.max(self.saved_window);
            self.mode = Mode::ProbeRtt {
                until: None,
                round_done: false,
            };
            self.pacing_gain = 1.0;
            self.window_gain = 1.0;
        }
        let Mode::ProbeRtt { until, round_done } = self.mode else {
            return;
        };
        match until {
            None if ack.in_flight <= PROBE_RTT_SEGMENTS * self.mss => {
                let until = Some(ack.now + PROBE_RTT);
                self.round_ends = ack.rate.map_or(self.round_ends, |sample| sample.delivered);
                self.mode = Mode::ProbeRtt {
                    until,
                    round_done: false,
                };
            }
            None => {}
            Some(end) => {
                let round_done = round_done || round;
                self.mode = Mode::ProbeRtt { until, round_done };
                if round_done && ack.now >= end {
                    self.minimum_rtt_at = ack.now;
                    self.window = self.window.max(self.saved_window);
                    self.saved_window = 0;
                    if self.full {
                        self.probe_rate(ack.now);
                    } else {
                        self.mode = Mode::Startup;
                        self.pacing_gain = HIGH_GAIN;
                        self.window_gain = HIGH_GAIN;
                    }
                }
            }
        }
    }

    fn set_pacing(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.smoothed_rtt.filter(|_| !self.paced) {
            self.paced = true;
            self.pacing = (HIGH_GAIN * self.window as f64 / rtt.as_secs_f64()) as u64;
        }
        let rate = match (self.rate.get(), ack.smoothed_rtt) {
            (0, Some(rtt)) => self.window as f64 / rtt.as_secs_f64(),
            (rate, _) => rate as f64,
        };
        let pacing = (self.pacing_gain * rate * MARGIN) as u64;
        if pacing > 0 && (self.full || pacing > self.pacing) {
            self.pacing = pacing;
        }
    }

    /// Bytes on their way at the greatest rate and the smallest round trip, times `gain`.
    fn product(&self, gain: f64) -> u64 {
        match self.minimum_rtt {
            None => initial_window(self.mss),
            Some(rtt) => (gain * self.rate.get() as f64 * rtt.as_secs_f64()) as u64,
        }
    }

    fn update_window(&mut self, ack: &Ack) {
        if self.recovery != Recovery::None && ack.lost > 0 {
            self.window = self.window.saturating_sub(ack.lost).max(self.mss);
        }
        if let Recovery::Conservation { .. } = self.recovery {
            self.window = self.window.max(ack.in_flight + ack.delivered);
        } else {
            // Room for what is held back in super-segments and acknowledgements that are delayed.
            let target = self.product(self.window_gain) + 3 * self.quantum();
            if self.full {
                self.window = (self.window + ack.delivered).min(target);
            } else if self.window < target
                || ack
                    .rate
                    .is_none_or(|rate| rate.delivered < 2 * initial_window(self.mss))
            {
                self.window += ack.delivered;
            }
        }
        self.window = self.window.max(PROBE_RTT_SEGMENTS * self.mss);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window = self.window.min(PROBE_RTT_SEGMENTS * self.mss);
        }
    }

    fn quantum(&self) -> u64 {
        (self.pacing / 1000).clamp(2 * self.mss, 64 << 10)
    }
}

impl Control for Bbr {
    fn window(&self) -> u64 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing)
    }

    fn set_mss(&mut self, mss: u64) {
        if self.window == initial_window(self.mss) {
            self.window = initial_window(mss);
        }
        self.mss = mss;
    }

    fn acknowledged(&mut self, ack: &Ack) {
        let round = self.update_rate(ack);
        self.update_cycle(ack);
        if round {
            self.check_full(ack);
        }
        self.check_drain(ack);
        self.update_minimum_rtt(ack, round);
        self.set_pacing(ack);
        self.update_window(ack);
        self.idle_restart = false;
    }

    fn congestion(&mut self, in_flight: u64) {
        if self.recovery == Recovery::None {
            self.saved_window = self.window.max(self.saved_window);
            self.recovery = Recovery::Conservation {
                until: self.round_ends,
            };
            self.window = (in_flight + self.mss).min(self.window).max(self.mss);
        }
    }

    fn recovered(&mut self) {
        if self.recovery != Recovery::None {
            self.recovery = Recovery::None;
            self.window = self.window.max(self.saved_window);
            self.saved_window = 0;
        }
    }

    fn timed_out(&mut self) {
        self.saved_window = self.window.max(self.saved_window);
        self.recovery = Recovery::Growth;
        self.window = self.mss;
        self.full_rate = 0;
    }

    fn restart(&mut self) {
        if self.recovery != Recovery::None {
            self.recovery = Recovery::Growth;
        }
        self.window = self.mss;
    }

    fn is_probing_rtt(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn idle(&mut self, now: Time, _idle: Duration, _timeout: Duration) {
        self.idle_restart = true;
        if let Mode::ProbeRate { .. } = self.mode {
            self.pacing_gain = 1.0;
            self.mode = Mode::ProbeRate {
                phase: 2,
                since: now,
            };
            self.pacing = (self.rate.get() as f64 * MARGIN) as u64;
        }
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Bbr
    }

    fn recovered_from_timeout(&mut self) {
        self.recovered();
    }

    fn undo(&mut self) {
        self.recovered();
    }
}
