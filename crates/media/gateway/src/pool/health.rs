//! Whether an origin can be asked, by sessions that fail and by probes.
//!
//! - A failure of a session or of a probe puts an origin that is up under suspicion, and the next probe is due at once.
//! - A probe that fails under suspicion takes the origin down; one that is answered ends the suspicion.
//! - An origin that is down is up again after [`GOOD_ANSWERS`] probes in succession were answered. Its weight then grows
//!   to the whole within [`RETURN`].

use std::time::{Duration, Instant};

use serde::Serialize;

/// From the result of a probe to the next.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// A probe without answer has failed after this.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(1);
/// Probes in succession that are answered before an origin is up again.
pub const GOOD_ANSWERS: u32 = 2;
/// How long the weight of an origin grows after it was down.
pub const RETURN: Duration = Duration::from_secs(30);

/// With what part of its weight an origin returns.
const FIRST_SHARE: f64 = 0.05;

/// Whether an origin can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It can.
    Up,
    /// Something failed, and the next probe decides.
    Suspect,
    /// It cannot.
    Down,
}

#[derive(Debug)]
pub struct Health {
    state: State,
    /// Probes in succession that were answered while it is down.
    good: u32,
    /// When the next probe is due; `None` while one is on its way.
    probe: Option<Instant>,
    /// When it was up again after it was down.
    returned: Option<Instant>,
    last_failure: Option<(Instant, String)>,
}

impl Health {
    /// Of an origin that is taken to be up, and is probed at once.
    pub fn new(now: Instant) -> Health {
        Health {
            state: State::Up,
            good: 0,
            probe: Some(now),
            returned: None,
            last_failure: None,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// What part of its weight it has.
    pub fn share(&self, now: Instant) -> f64 {
        self.returned.map_or(1.0, |returned| {
            let since = now.saturating_duration_since(returned);
            (since.as_secs_f64() / RETURN.as_secs_f64()).clamp(FIRST_SHARE, 1.0)
        })
    }

    pub fn last_failure(&self) -> Option<(Instant, &str)> {
        let (at, reason) = self.last_failure.as_ref()?;
        Some((*at, reason))
    }

    /// When a probe is due; `None` while one is on its way.
    pub fn next_probe(&self) -> Option<Instant> {
        self.probe
    }

    /// Whether a probe is due. If so, it is taken to be on its way.
    pub fn take_probe(&mut self, now: Instant) -> bool {
        self.probe.take_if(|due| *due <= now).is_some()
    }

    pub fn session_failed(&mut self, reason: &str, now: Instant) {
        self.last_failure = Some((now, reason.to_string()));
        if self.state == State::Up {
            self.state = State::Suspect;
            self.probe = self.probe.map(|due| due.min(now));
        }
    }

    pub fn probed(&mut self, result: Result<(), &str>, now: Instant) {
        self.probe = Some(now + PROBE_INTERVAL);
        match result {
            Ok(()) => self.answered(now),
            Err(reason) => {
                self.last_failure = Some((now, reason.to_string()));
                self.good = 0;
                match self.state {
                    State::Up => {
                        self.state = State::Suspect;
                        self.probe = Some(now);
                    }
                    State::Suspect | State::Down => self.state = State::Down,
                }
            }
        }
    }

    fn answered(&mut self, now: Instant) {
        match self.state {
            State::Up => {}
            State::Suspect => self.state = State::Up,
            State::Down => {
                self.good += 1;
                if self.good >= GOOD_ANSWERS {
                    self.state = State::Up;
                    self.good = 0;
                    self.returned = Some(now);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(begun: Instant, millis: u64) -> Instant {
        begun + Duration::from_millis(millis)
    }

    #[test]
    fn a_failed_session_and_a_failed_probe_take_an_origin_down() {
        let begun = Instant::now();
        let mut health = Health::new(begun);
        assert!(health.take_probe(begun) && !health.take_probe(begun));
        health.probed(Ok(()), begun);
        assert_eq!(health.next_probe(), Some(begun + PROBE_INTERVAL));
        // Sessions alone do not, however many fail.
        for _ in 0..5 {
            health.session_failed("no packets", after(begun, 500));
        }
        assert_eq!(health.state(), State::Suspect);
        assert!(health.take_probe(after(begun, 500)));
        health.probed(Err("connection refused"), after(begun, 501));
        assert_eq!(health.state(), State::Down);
        assert_eq!(health.last_failure().unwrap().1, "connection refused");
    }

    #[test]
    fn an_answered_probe_ends_a_suspicion() {
        let begun = Instant::now();
        let mut health = Health::new(begun);
        health.session_failed("closed", begun);
        health.probed(Ok(()), begun);
        assert_eq!((health.state(), health.share(begun)), (State::Up, 1.0));
        // The failures of before do not count.
        health.probed(Err("no answer"), begun);
        assert_eq!(health.state(), State::Suspect);
        assert_eq!(health.next_probe(), Some(begun));
    }

    #[test]
    fn it_returns_after_good_answers_in_succession_and_its_weight_grows() {
        let begun = Instant::now();
        let mut health = Health::new(begun);
        for _ in 0..2 {
            health.probed(Err("no answer"), begun);
        }
        assert_eq!(health.state(), State::Down);
        for result in [Ok(()), Err("no answer"), Ok(())] {
            health.probed(result, begun);
            assert_eq!(health.state(), State::Down);
        }
        health.probed(Ok(()), begun);
        assert_eq!(health.state(), State::Up);
        assert_eq!(health.share(begun), FIRST_SHARE);
        assert_eq!(health.share(begun + RETURN / 2), 0.5);
        assert_eq!(health.share(begun + RETURN * 2), 1.0);
        // A suspicion that ends is no return.
        health.session_failed("closed", begun + RETURN * 2);
        health.probed(Ok(()), begun + RETURN * 2);
        assert_eq!(health.share(begun + RETURN * 2), 1.0);
    }
}
