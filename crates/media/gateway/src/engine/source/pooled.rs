//! A stream of a pool: a session at one of its origins, and at the next when that one fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::{debug, info};

use crate::engine::http::answer::shown;
use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::output::{Format, Outputs};
use crate::engine::source::pools::{NoOrigin, Pools};
use crate::engine::source::resolve::Resolved;
use crate::engine::source::rtsp::Rtsp;
use crate::engine::source::{Input, Over, Turn};
use crate::engine::wait::Ready;
use crate::pool::{OriginId, SILENCE, silence};

/// How long an origin may take until it plays.
const STARTING: Duration = Duration::from_secs(3);
/// How long a stream that ran waits before all origins are tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a stream that ran goes on without an origin.
const WITHOUT: Duration = Duration::from_secs(10);
/// Over this time, or up to twice of it, is the longest silence of a stream known.
const WINDOW: Duration = Duration::from_secs(5);

/// A stream of a pool.
pub struct Pooled {
    pools: Arc<Pools>,
    pool: String,
    /// What the stream is called at each origin: a path, with its query.
    path: String,
    /// Time 0 of what clients get.
    epoch: Instant,
    session: Option<Session>,
    /// Origins that failed since one had played for a while.
    tried: Vec<OriginId>,
    /// When all are tried again.
    again_at: Option<Instant>,
    /// When packets came last, of whichever origin.
    heard: Option<Instant>,
    failovers: u64,
}

struct Session {
    origin: OriginId,
    /// The address of the origin.
    base: String,
    rtsp: Rtsp,
    /// When it must play.
    until: Instant,
    pace: Option<Pace>,
}

/// How the packets of a session come.
#[derive(Debug)]
struct Pace {
    since: Instant,
    last: Instant,
    /// The longest time without packets in the last window, and in this one.
    longest: [Duration; 2],
    window: Instant,
}

impl Pooled {
    /// Begins with the first origin that can be asked.
    ///
    /// # Errors
    /// There is none.
    pub fn open(pool: String, path: String, turn: &mut Turn<'_>) -> Result<Pooled, Refused> {
        let mut pooled = Pooled {
            pools: turn.services.pools.clone(),
            pool,
            path,
            epoch: turn.now,
            session: None,
            tried: Vec::new(),
            again_at: None,
            heard: None,
            failovers: 0,
        };
        match pooled.begin(turn) {
            Ok(()) => Ok(pooled),
            Err(Over::Failed(refused)) => Err(refused),
            Err(Over::Ended) => Err(Refused::bad_gateway("the stream has ended")),
        }
    }

    /// Begins a session at the next origin. A stream that ran waits if there is none.
    fn begin(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        let now = turn.now;
        loop {
            let placed = self.pools.place(&self.pool, &self.path, &self.tried, now);
            let (origin, url) = match placed {
                Ok(placed) => placed,
                Err(none) => return self.wait(none, now),
            };
            let base = url.to_string();
            let url = url.below(&self.path);
            let opened = url
                .map_err(|error| Refused::bad_gateway(error.to_string()))
                .and_then(|url| Rtsp::at_origin(url, self.epoch, turn));
            match opened {
                Ok(rtsp) => {
                    self.session = Some(Session {
                        origin,
                        base,
                        rtsp,
                        until: now + STARTING,
                        pace: None,
                    });
                    return Ok(());
                }
                Err(refused) => {
                    self.pools.release(&self.pool, origin);
                    self.suspect(origin, refused.text(), now);
                }
            }
        }
    }

    fn wait(&mut self, none: NoOrigin, now: Instant) -> Result<(), Over> {
        match self.heard {
            Some(heard) if now.saturating_duration_since(heard) < WITHOUT => {
                debug!("{none}");
                self.tried.clear();
                self.again_at = Some(now + AGAIN);
                Ok(())
            }
            _ => Err(Refused::from(none).into()),
        }
    }

    fn suspect(&mut self, origin: OriginId, reason: &str, now: Instant) {
        debug!("pool '{}': {reason}", self.pool);
        self.tried.push(origin);
        self.pools.session_failed(&self.pool, origin, reason, now);
    }

    /// Lets the session do something, and goes to the next origin if it fails.
    fn with(
        &mut self,
        turn: &mut Turn<'_>,
        act: impl FnOnce(&mut Rtsp, &mut Turn<'_>) -> Result<(), Over>,
    ) -> Result<(), Over> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let before = turn.received.packets;
        let result = act(&mut session.rtsp, turn);
        if turn.received.packets > before {
            let pace = session.pace.get_or_insert_with(|| Pace::new(turn.now));
            pace.came(turn.now);
            self.heard = Some(turn.now);
            if pace.is_known() {
                self.tried.clear();
            }
        }
        match result {
            Ok(()) => Ok(()),
            Err(Over::Failed(refused)) => self.failed(refused, turn),
            // The origin says that the stream is over, which it is everywhere.
            Err(Over::Ended) => Err(Over::Ended),
        }
    }

    /// The session has failed: the next begins elsewhere.
    fn failed(&mut self, refused: Refused, turn: &mut Turn<'_>) -> Result<(), Over> {
        let Some(origin) = self.leave_origin() else {
            return Ok(());
        };
        match refused.status() {
            // An answer that says nothing against the origin.
            404 if self.heard.is_none() => return Err(refused.into()),
            404 => self.tried.push(origin),
            _ => self.suspect(origin, refused.text(), turn.now),
        }
        self.failovers += 1;
        self.begin(turn)?;
        if let Some(session) = &self.session {
            info!(
                "pool '{}': '{}' goes on from {}",
                self.pool,
                shown(&self.path),
                session.base
            );
        }
        Ok(())
    }

    /// Drops the session.
    fn leave_origin(&mut self) -> Option<OriginId> {
        let session = self.session.take()?;
        self.pools.release(&self.pool, session.origin);
        Some(session.origin)
    }
}

impl From<NoOrigin> for Refused {
    fn from(none: NoOrigin) -> Refused {
        let text = none.to_string();
        match none {
            NoOrigin::Unknown(_) => Refused::not_found(text),
            NoOrigin::Unavailable(..) => Refused::busy(text),
        }
    }
}

impl Session {
    /// When it is taken to have failed, unless something comes before.
    fn deadline(&self) -> Option<Instant> {
        match &self.pace {
            Some(pace) => Some(pace.deadline()),
            None if self.rtsp.is_playing() => None,
            None => Some(self.until),
        }
    }
}

impl Input for Pooled {
    fn ready(&mut self, socket: u8, ready: Ready, turn: &mut Turn<'_>) -> Result<(), Over> {
        self.with(turn, |rtsp, turn| rtsp.ready(socket, ready, turn))
    }

    fn advance(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        if self.again_at.take_if(|at| *at <= turn.now).is_some() {
            return self.begin(turn);
        }
        self.with(turn, |rtsp, turn| rtsp.advance(turn))?;
        let session = self.session.as_ref();
        if session
            .and_then(Session::deadline)
            .is_some_and(|at| at <= turn.now)
        {
            let text = match session.and_then(|session| session.pace.as_ref()) {
                Some(pace) => format!("no packets for {} ms", pace.bound().as_millis()),
                None => format!("it does not play within {} s", STARTING.as_secs()),
            };
            return self.failed(Refused::late(text), turn);
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        let session = self.session.as_ref();
        let all = [
            session.and_then(|session| session.rtsp.deadline()),
            session.and_then(Session::deadline),
            self.again_at,
        ];
        all.into_iter().flatten().min()
    }

    fn resolved(&mut self, resolved: Resolved, turn: &mut Turn<'_>) -> Result<(), Over> {
        self.with(turn, |rtsp, turn| rtsp.resolved(resolved, turn))
    }

    fn begins(&self, format: Format, outputs: &Outputs) -> Result<bool, Refused> {
        match &self.session {
            Some(session) => session.rtsp.begins(format, outputs),
            None => Ok(false),
        }
    }

    fn may_have_keys(&self) -> bool {
        let session = self.session.as_ref();
        session.is_none_or(|session| session.rtsp.may_have_keys())
    }

    fn tables(&self) -> Bytes {
        let session = self.session.as_ref();
        session
            .map(|session| session.rtsp.tables())
            .unwrap_or_default()
    }

    fn grace(&self) -> Duration {
        let session = self.session.as_ref();
        session
            .map(|session| session.rtsp.grace())
            .unwrap_or_default()
    }

    fn leave(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        match &mut self.session {
            Some(session) => session.rtsp.leave(turn),
            None => Err(Over::Ended),
        }
    }

    fn status(&self, status: &mut SourceStatus) {
        if let Some(session) = &self.session {
            session.rtsp.status(status);
            status.origin = Some(session.base.clone());
        }
        status.failovers = self.failovers;
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.leave_origin();
    }
}

impl Pace {
    /// The first packets came.
    fn new(now: Instant) -> Pace {
        Pace {
            since: now,
            last: now,
            longest: [Duration::ZERO; 2],
            window: now,
        }
    }

    fn came(&mut self, now: Instant) {
        let gap = now.saturating_duration_since(self.last);
        self.last = now;
        if now.saturating_duration_since(self.window) > WINDOW {
            self.window = now;
            self.longest = [self.longest[1], Duration::ZERO];
        }
        self.longest[1] = self.longest[1].max(gap);
    }

    /// Whether packets have come for long enough to say more of them.
    fn is_known(&self) -> bool {
        self.last.saturating_duration_since(self.since) >= WINDOW / 2
    }

    /// How long nothing may come.
    fn bound(&self) -> Duration {
        match self.is_known() {
            true => silence(self.longest[0].max(self.longest[1])),
            false => SILENCE.1,
        }
    }

    fn deadline(&self) -> Instant {
        self.last + self.bound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_silence_follows_the_last_seconds() {
        let begun = Instant::now();
        let millis = |millis| begun + Duration::from_millis(millis);
        let mut pace = Pace::new(begun);
        assert_eq!(pace.bound(), SILENCE.1);
        (0..3000).step_by(10).for_each(|at| pace.came(millis(at)));
        assert_eq!(pace.bound(), SILENCE.0);
        assert_eq!(pace.deadline(), millis(2990) + SILENCE.0);
        // One pause of 180 ms is remembered, and forgotten after two windows.
        pace.came(millis(3170));
        assert_eq!(pace.bound(), Duration::from_millis(720));
        (3180..9000)
            .step_by(10)
            .for_each(|at| pace.came(millis(at)));
        assert_eq!(pace.bound(), Duration::from_millis(720));
        (9000..20_000)
            .step_by(10)
            .for_each(|at| pace.came(millis(at)));
        assert_eq!(pace.bound(), SILENCE.0);
    }
}
