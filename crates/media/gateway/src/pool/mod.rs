//! Pools of origins that have the same streams: which origin a stream is taken from, and which origins can be asked.
//!
//! Each stream has an order of all origins, by weighted rendezvous hashing, and is taken from the first that is up and has
//! room: consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, arXiv 1608.01350). So a change of one
//! origin moves only streams from it or to it, and no origin gets much more than its share. A stream stays where it is
//! until its origin fails; a pool never moves one that runs.
//!
//! No input or output is done here: the caller opens sessions, sends probes and says what came of them.

mod health;
mod rendezvous;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::rtsp::Url;
use health::Health;

pub use health::{GOOD_ANSWERS, PROBE_DEADLINE, PROBE_INTERVAL, RETURN, State};

/// An origin has at most this many times its share of the sessions, rounded up.
pub const LOAD: f64 = 1.25;

/// What is configured of an origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What the operator calls it.
    pub name: String,
    /// Where the paths of its streams begin. It says who the origin is: two members of a pool have two addresses.
    pub url: Url,
    /// Its share of the sessions, against those of the others; above 0 and finite.
    pub weight: f64,
    /// It takes no new sessions; those that it has go on.
    pub drains: bool,
}

/// An origin of a pool, also while others come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginId(u64);

/// No origin can be asked for a stream. `Display` gives one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no origin can be asked: {0}")]
pub struct Unavailable(String);

/// What is known of an origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OriginStatus {
    /// What the operator calls it.
    pub name: String,
    /// Its address, without user and password.
    pub url: String,
    /// Whether it can be asked.
    pub state: State,
    /// It takes no new sessions.
    pub drains: bool,
    /// Sessions that it has.
    pub sessions: usize,
    /// Its weight now: after an outage it grows to what is configured.
    pub weight: f64,
    /// Why a session or a probe failed last.
    pub last_failure: Option<String>,
    /// How many seconds ago that was.
    pub last_failure_s: Option<f64>,
}

#[derive(Debug)]
struct Origin {
    id: OriginId,
    member: Member,
    /// The address, by which it is hashed.
    name: String,
    sessions: usize,
    health: Health,
    /// It is configured no more, and goes with its last session.
    removed: bool,
}

/// Origins and their sessions.
#[derive(Debug)]
pub struct Pool {
    origins: Vec<Origin>,
    next_id: u64,
}

impl Pool {
    /// With these origins, all of which are taken to be up.
    pub fn new(members: Vec<Member>, now: Instant) -> Pool {
        let mut pool = Pool {
            origins: Vec::new(),
            next_id: 0,
        };
        pool.configure(members, now);
        pool
    }

    /// Has these origins from now on. Those that were there before keep their sessions and their health. Those that are
    /// not among them take no new sessions, and go with their last.
    pub fn configure(&mut self, members: Vec<Member>, now: Instant) {
        for origin in &mut self.origins {
            origin.removed = true;
        }
        for member in members {
            let name = member.url.target();
            match self.origins.iter_mut().find(|origin| origin.name == name) {
                Some(origin) => {
                    origin.member = member;
                    origin.removed = false;
                }
                None => {
                    self.origins.push(Origin {
                        id: OriginId(self.next_id),
                        member,
                        name,
                        sessions: 0,
                        health: Health::new(now),
                        removed: false,
                    });
                    self.next_id += 1;
                }
            }
        }
        self.forget_removed();
    }

    /// Takes an origin for a session of the stream `key`, but none of `tried`, and says where its streams begin. The session
    /// counts until [`Pool::release`].
    ///
    /// An origin under suspicion is taken only where no other is left.
    ///
    /// # Errors
    /// All origins are down, drain, or were tried.
    pub fn place(
        &mut self,
        key: &str,
        tried: &[OriginId],
        now: Instant,
    ) -> Result<(OriginId, Url), Unavailable> {
        let chosen = [State::Up, State::Suspect]
            .into_iter()
            .find_map(|state| self.choose(key, tried, state, now));
        let Some(origin) = chosen.and_then(|id| self.find(id)) else {
            return Err(self.unavailable(tried));
        };
        origin.sessions += 1;
        Ok((origin.id, origin.member.url.clone()))
    }

    /// Whether it has no origins any more, not even such as are configured no more.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Whether an address is at the host and port of one of its origins.
    pub fn has_origin(&self, url: &Url) -> bool {
        let place = |url: &Url| (url.host().to_owned(), url.port());
        (self.origins.iter()).any(|origin| place(&origin.member.url) == place(url))
    }

    /// A session is over, whatever ended it.
    pub fn release(&mut self, id: OriginId) {
        if let Some(origin) = self.find(id) {
            origin.sessions = origin.sessions.saturating_sub(1);
        }
        self.forget_removed();
    }

    /// A session of this origin failed, or could not be had, in a way that puts the origin under suspicion: no connection,
    /// no answer, no packets. A refusal is an answer and says nothing against the origin. A probe is due at once.
    pub fn session_failed(&mut self, id: OriginId, reason: &str, now: Instant) {
        if let Some(origin) = self.find(id) {
            origin.health.session_failed(reason, now);
        }
    }

    /// The origins to which a probe is to be sent now. Each probe has [`PROBE_DEADLINE`], and its result is to be told by
    /// [`Pool::probed`].
    pub fn probes(&mut self, now: Instant) -> Vec<(OriginId, Url)> {
        let due = |origin: &mut Origin| {
            (!origin.removed && origin.health.take_probe(now))
                .then(|| (origin.id, origin.member.url.clone()))
        };
        self.origins.iter_mut().filter_map(due).collect()
    }

    /// When [`Pool::probes`] is to be called next, if no session fails before.
    pub fn next_probe(&self) -> Option<Instant> {
        let origins = self.origins.iter().filter(|origin| !origin.removed);
        origins
            .filter_map(|origin| origin.health.next_probe())
            .min()
    }

    /// A probe was answered, or was not for a reason. If the origin is down now, or is so no longer, returns its address and
    /// its state.
    pub fn probed(
        &mut self,
        id: OriginId,
        result: Result<(), &str>,
        now: Instant,
    ) -> Option<(String, State)> {
        let origin = self.find(id)?;
        let before = origin.health.state();
        origin.health.probed(result, now);
        let state = origin.health.state();
        let is_down = |state: State| state == State::Down;
        (is_down(before) != is_down(state)).then(|| (origin.member.url.to_string(), state))
    }

    /// What is known of all origins, in the order in which they were configured.
    pub fn status(&self, now: Instant) -> Vec<OriginStatus> {
        let status = |origin: &Origin| {
            let failure = origin.health.last_failure();
            OriginStatus {
                name: origin.member.name.clone(),
                url: origin.member.url.to_string(),
                state: origin.health.state(),
                drains: !origin.takes_sessions(),
                sessions: origin.sessions,
                weight: origin.weight(now),
                last_failure: failure.map(|(_, reason)| reason.to_string()),
                last_failure_s: failure
                    .map(|(at, _)| now.saturating_duration_since(at).as_secs_f64()),
            }
        };
        self.origins.iter().map(status).collect()
    }

    /// Of the origins in a state, those that have room for one more session, and of them the first for `key`.
    fn choose(
        &self,
        key: &str,
        tried: &[OriginId],
        state: State,
        now: Instant,
    ) -> Option<OriginId> {
        let candidates = || {
            (self.origins.iter()).filter(|origin| {
                origin.takes_sessions()
                    && origin.health.state() == state
                    && !tried.contains(&origin.id)
            })
        };
        let weights: f64 = candidates().map(|origin| origin.weight(now)).sum();
        let sessions = candidates().map(|origin| origin.sessions).sum::<usize>() + 1;
        // The bounds of all add up to more than all sessions, so one of the candidates has room.
        candidates()
            .filter(|origin| {
                let share = sessions as f64 * origin.weight(now) / weights;
                (origin.sessions as f64) < (LOAD * share).ceil()
            })
            .map(|origin| {
                let cost = rendezvous::cost(key, &origin.name, origin.weight(now));
                (cost, origin.id)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, id)| id)
    }

    fn unavailable(&self, tried: &[OriginId]) -> Unavailable {
        let why = |origin: &Origin| {
            let failure = origin.health.last_failure().map(|(_, reason)| reason);
            let reason = match origin.takes_sessions() {
                false => "drains",
                true if tried.contains(&origin.id) => failure.unwrap_or("was tried"),
                true => failure.unwrap_or("is down"),
            };
            format!("{}: {reason}", origin.member.url)
        };
        let all: Vec<_> = self.origins.iter().map(why).collect();
        match all.is_empty() {
            true => Unavailable("there is none".into()),
            false => Unavailable(all.join("; ")),
        }
    }

    fn find(&mut self, id: OriginId) -> Option<&mut Origin> {
        self.origins.iter_mut().find(|origin| origin.id == id)
    }

    fn forget_removed(&mut self) {
        self.origins
            .retain(|origin| !origin.removed || origin.sessions > 0);
    }
}

impl Origin {
    fn takes_sessions(&self) -> bool {
        !self.removed && !self.member.drains
    }

    fn weight(&self, now: Instant) -> f64 {
        self.member.weight * self.health.share(now)
    }
}

/// How long a stream may be silent before its origin is taken to have failed, where packets were `longest` apart at most
/// in the last seconds: four times that, within [`SILENCE`], but never less than twice.
pub fn silence(longest: Duration) -> Duration {
    (longest * 4).clamp(SILENCE.0, SILENCE.1).max(longest * 2)
}

/// The bounds of [`silence`] for a stream whose own pauses are short. The upper one is that of a stream which has just begun.
pub const SILENCE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1));
