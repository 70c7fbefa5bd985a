//! Streams of RTSP servers: looked for, connected to, set up, played, and followed where they go.

mod connection;
mod content;
mod errors;
mod packets;
mod ports;
mod session;
mod setup;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::output::{Format, Outputs};
use crate::engine::source::resolve::Resolved;
use crate::engine::source::{Input, Over, Turn, random};
use crate::engine::wait::Ready;
use crate::rtsp::Url;
use crate::rtsp::auth::Credentials;
use crate::rtsp::client::{Event, Playing};
use connection::Connection;
use content::Content;
use errors::{failed, late, refused};
use ports::Ports;
use session::Session;
use setup::{CONNECTING, SETTING_UP, connect, look_for};

/// How long the stream goes on without clients: one that comes again finds it.
const GRACE: Duration = Duration::from_secs(3);
/// Packets that are kept while the answer to PLAY is not there.
const EARLY: usize = 256;

/// A session at an origin.
pub struct Rtsp {
    url: Url,
    /// Who asks, for the host that the client has named and no other.
    credentials: Option<Credentials>,
    /// The operator has named the host, and no client.
    trusted: bool,
    /// Where to begin.
    start: Option<Duration>,
    step: Step,
    redirects: u8,
    /// Time 0 of what clients get.
    epoch: Instant,
    tracks: Vec<Playing>,
    ports: Vec<Option<Ports>>,
    /// Once the origin plays.
    content: Option<Content>,
    early: Vec<(usize, bool, Bytes)>,
    /// The synchronisation source of reports.
    ssrc: u32,
    report_at: Option<Instant>,
    /// When the stream ends that the origin has said is over.
    ends_at: Option<Instant>,
}

enum Step {
    /// Waits for the addresses of its host.
    Resolving {
        ticket: u64,
        until: Instant,
    },
    Connecting {
        connection: Connection,
        /// Addresses that are tried after it.
        others: Vec<IpAddr>,
        until: Instant,
    },
    Session(Box<Session>),
}

impl Rtsp {
    /// Begins to look for an origin. `start` is where to begin a recording.
    ///
    /// # Errors
    /// It may not be connected to, or cannot.
    pub fn open(url: Url, start: Option<Duration>, turn: &mut Turn<'_>) -> Result<Rtsp, Refused> {
        turn.services.access.ask(url.host())?;
        Rtsp::begin_at(url, start, false, turn.now, turn)
    }

    /// Begins to look for an origin that the operator has named. `epoch` is time 0 of what clients get.
    ///
    /// # Errors
    /// It cannot be connected to.
    pub fn at_origin(url: Url, epoch: Instant, turn: &mut Turn<'_>) -> Result<Rtsp, Refused> {
        Rtsp::begin_at(url, None, true, epoch, turn)
    }

    fn begin_at(
        url: Url,
        start: Option<Duration>,
        trusted: bool,
        epoch: Instant,
        turn: &mut Turn<'_>,
    ) -> Result<Rtsp, Refused> {
        Ok(Rtsp {
            step: look_for(&url, turn)?,
            trusted,
            credentials: url.credentials().cloned(),
            url,
            start,
            redirects: 0,
            epoch,
            tracks: Vec::new(),
            ports: Vec::new(),
            content: None,
            early: Vec::new(),
            ssrc: random() as u32,
            report_at: None,
            ends_at: None,
        })
    }

    /// Whether the origin has said that it plays.
    pub fn is_playing(&self) -> bool {
        self.content.is_some()
    }

    /// Does what the client wants, and sends what it says.
    fn talk(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        loop {
            let Step::Session(session) = &mut self.step else {
                return Ok(());
            };
            session.connection.write(&session.client.take_output());
            match session.client.next_event() {
                Some(event) => self.event(event, turn)?,
                None => return Ok(()),
            }
        }
    }

    fn event(&mut self, event: Event, turn: &mut Turn<'_>) -> Result<(), Over> {
        match event {
            Event::NeedPorts { track } => self.open_ports(track, turn),
            Event::Playing { tracks } => return self.plays(tracks, turn),
            Event::Packet {
                track,
                is_rtcp,
                payload,
            } => {
                turn.received.packets += 1;
                turn.received.bytes += payload.len() as u64;
                match &mut self.content {
                    Some(_) => self.packet(track, is_rtcp, payload, turn),
                    None if self.early.len() < EARLY => self.early.push((track, is_rtcp, payload)),
                    None => {}
                }
            }
            Event::Redirect { url } => return self.redirect(url, turn),
            Event::Failed(failure) => {
                self.finish(turn);
                return Err(refused(&self.url, &failure).into());
            }
            Event::Ended => {
                self.finish(turn);
                return Err(Over::Ended);
            }
        }
        Ok(())
    }

    /// TEARDOWN, whose answer is not waited for.
    fn say_goodbye(&mut self, now: Instant) {
        if let Step::Session(session) = &mut self.step {
            session.client.teardown(now);
            session.connection.write(&session.client.take_output());
        }
    }

    /// Nothing more comes.
    fn finish(&mut self, turn: &mut Turn<'_>) {
        if let Some(content) = &mut self.content {
            content.finish(turn.now, turn.outputs);
        }
    }
}

impl Input for Rtsp {
    fn ready(&mut self, socket: u8, ready: Ready, turn: &mut Turn<'_>) -> Result<(), Over> {
        if let Some(number) = socket.checked_sub(1) {
            self.datagrams(usize::from(number / 2), number % 2 == 1, turn);
            return self.talk(turn);
        }
        match &mut self.step {
            Step::Resolving { .. } => Ok(()),
            Step::Connecting { .. } => self.connecting(turn),
            Step::Session(session) => {
                if ready.readable {
                    session.read(turn);
                }
                self.talk(turn)
            }
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        let now = turn.now;
        match &mut self.step {
            Step::Resolving { until, .. } if *until <= now => {
                let text = format!(
                    "its name was not resolved within {} s",
                    CONNECTING.as_secs()
                );
                return Err(late(&self.url, text).into());
            }
            Step::Connecting { others, until, .. } if *until <= now => {
                self.step = connect(&self.url, std::mem::take(others), turn)?;
            }
            Step::Resolving { .. } | Step::Connecting { .. } => {}
            Step::Session(session) => {
                if session.until.is_some_and(|until| until <= now) {
                    let text = format!("it does not play within {} s", SETTING_UP.as_secs());
                    return Err(late(&self.url, text).into());
                }
                if session.has_more {
                    session.read(turn);
                }
                session.client.advance(now);
            }
        }
        if let Some(content) = &mut self.content {
            content.expire(now, turn.outputs);
        }
        if self.report_at.is_some_and(|at| at <= now) {
            self.report(turn);
        }
        self.talk(turn)?;
        if self.ends_at.is_some_and(|at| at <= now) {
            self.finish(turn);
            self.say_goodbye(now);
            return Err(Over::Ended);
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        let step = match &self.step {
            Step::Resolving { until, .. } | Step::Connecting { until, .. } => Some(*until),
            Step::Session(session) => session.deadline(self.epoch),
        };
        let content = self.content.as_ref().and_then(Content::deadline);
        let all = [step, content, self.report_at, self.ends_at];
        all.into_iter().flatten().min()
    }

    fn resolved(&mut self, resolved: Resolved, turn: &mut Turn<'_>) -> Result<(), Over> {
        match self.step {
            Step::Resolving { ticket, .. } if ticket == resolved.ticket => {}
            _ => return Ok(()),
        }
        let addresses = match resolved.addresses {
            Ok(addresses) => addresses,
            Err(error) => return Err(failed(&self.url, error).into()),
        };
        let permitted = match self.trusted {
            true => addresses,
            false => {
                let permitted = turn.services.access.connect(self.url.host(), addresses);
                permitted.map_err(Refused::from)?
            }
        };
        self.step = connect(&self.url, permitted, turn)?;
        Ok(())
    }

    fn begins(&self, format: Format, outputs: &Outputs) -> Result<bool, Refused> {
        let Some(content) = &self.content else {
            return Ok(false);
        };
        content.check(format)?;
        Ok(match format {
            Format::Ts => true,
            Format::Mp4 => outputs
                .get(format)
                .is_some_and(|output| output.beginning().is_some()),
        })
    }

    fn may_have_keys(&self) -> bool {
        self.content.as_ref().is_none_or(Content::may_have_keys)
    }

    fn tables(&self) -> Bytes {
        self.content
            .as_ref()
            .map(Content::tables)
            .unwrap_or_default()
    }

    fn grace(&self) -> Duration {
        match self.start {
            // No other client comes.
            Some(_) => Duration::ZERO,
            None => GRACE,
        }
    }

    fn leave(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        match &mut self.step {
            Step::Session(session) => {
                session.client.teardown(turn.now);
                self.talk(turn)
            }
            Step::Resolving { .. } | Step::Connecting { .. } => Err(Over::Ended),
        }
    }

    fn status(&self, status: &mut SourceStatus) {
        if let Some(content) = &self.content {
            content.status(status);
        }
    }
}

impl Drop for Rtsp {
    /// The origin need not wait until it forgets the session.
    fn drop(&mut self) {
        self.say_goodbye(Instant::now());
    }
}
