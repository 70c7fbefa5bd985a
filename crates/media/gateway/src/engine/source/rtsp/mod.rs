//! Streams of RTSP servers: looked for, connected to, set up, played, and followed where they go.

mod connection;
mod content;
mod ports;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::engine::handle::Message;
use crate::engine::http::request::Refused;
use crate::engine::http::status::SourceStatus;
use crate::engine::source::output::{Format, Outputs};
use crate::engine::source::resolve::Resolved;
use crate::engine::source::{Input, Over, Turn, random};
use crate::engine::wait::{Ready, Token};
use crate::payload;
use crate::rtp::rtcp;
use crate::rtsp::auth::Credentials;
use crate::rtsp::client::{Client, Event, Options, Playing};
use crate::rtsp::{Failure, Transport, Url};
use connection::{Came, Connection};
use content::Content;
use ports::Ports;

/// How long an origin may take until it is connected to.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long it may take from there until it plays.
const SETTING_UP: Duration = Duration::from_secs(20);
/// How long the stream goes on without clients: one that comes again finds it.
const GRACE: Duration = Duration::from_secs(3);
/// How often the origin is told what came (RFC 3550, section 6.2).
const REPORTS: Duration = Duration::from_secs(5);
/// What was on its way when the origin said that it sends no more has come after this.
const REST: Duration = Duration::from_millis(200);
/// Redirects that are followed.
const REDIRECTS: u8 = 5;
/// Packets that are kept while the answer to PLAY is not there.
const EARLY: usize = 256;
/// The name in reports.
const NAME: &str = "evener";

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

struct Session {
    connection: Connection,
    client: Client,
    /// When it must play.
    until: Option<Instant>,
    /// There may be more to read.
    has_more: bool,
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

    /// The connection may be there.
    fn connecting(&mut self, turn: &mut Turn<'_>) -> Result<(), Over> {
        let Step::Connecting {
            connection, others, ..
        } = &mut self.step
        else {
            return Ok(());
        };
        match connection.is_connected() {
            Ok(false) => return Ok(()),
            Ok(true) => self.begin(turn),
            Err(error) if others.is_empty() => {
                return Err(failed(&self.url, format!("cannot connect: {error}")).into());
            }
            Err(_) => self.step = connect(&self.url, std::mem::take(others), turn)?,
        }
        self.talk(turn)
    }

    /// Begins to talk, now that there is a connection.
    fn begin(&mut self, turn: &mut Turn<'_>) {
        let options = Options {
            credentials: self.credentials.clone(),
            datagrams: true,
            carries: payload::Format::is_known,
            start: self.start,
            seed: random(),
        };
        let client = Client::new(self.url.clone(), options, turn.now);
        let over = Step::Resolving {
            ticket: 0,
            until: turn.now,
        };
        let Step::Connecting { connection, .. } = std::mem::replace(&mut self.step, over) else {
            return;
        };
        let mut session = Box::new(Session {
            connection,
            client,
            until: Some(turn.now + SETTING_UP),
            has_more: false,
        });
        // What came together with the connection is not told of again.
        session.read(turn);
        self.step = Step::Session(session);
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

    fn open_ports(&mut self, track: usize, turn: &mut Turn<'_>) {
        let Step::Session(session) = &mut self.step else {
            return;
        };
        self.ports
            .resize_with(self.ports.len().max(track + 1), || None);
        let first = 1 + 2 * track as u8;
        let opened = match session.connection.local() {
            Some(local) => Ports::open(local, turn.number, first, turn.waiter),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        match opened.and_then(|ports| Ok((ports.numbers()?, ports))) {
            Ok(((rtp, rtcp), ports)) => {
                self.ports[track] = Some(ports);
                session.client.ports(turn.now, rtp, rtcp);
            }
            Err(_) => session.client.no_ports(turn.now),
        }
    }

    fn plays(&mut self, tracks: Vec<Playing>, turn: &mut Turn<'_>) -> Result<(), Over> {
        let content = Content::new(&tracks, self.epoch, turn.now)?;
        self.content = Some(content);
        turn.outputs.join(turn.now);
        self.ports.resize_with(tracks.len(), || None);
        for (track, ports) in tracks.iter().zip(&mut self.ports) {
            if !matches!(track.transport, Transport::Udp { .. }) {
                *ports = None;
            }
        }
        self.tracks = tracks;
        if let Step::Session(session) = &mut self.step {
            session.until = None;
        }
        // The first is empty, and opens the way through the translators of addresses between.
        self.report(turn);
        for (track, is_rtcp, payload) in std::mem::take(&mut self.early) {
            self.packet(track, is_rtcp, payload, turn);
        }
        Ok(())
    }

    fn packet(&mut self, track: usize, is_rtcp: bool, payload: Bytes, turn: &mut Turn<'_>) {
        let Some(content) = &mut self.content else {
            return;
        };
        if !is_rtcp {
            return content.rtp(track, payload, turn.now, turn.outputs);
        }
        content.rtcp(track, &payload, turn.now);
        self.look_for_end(turn.now);
    }

    /// Takes the datagrams of a track.
    fn datagrams(&mut self, track: usize, is_rtcp: bool, turn: &mut Turn<'_>) {
        let Rtsp {
            step: Step::Session(session),
            ports,
            tracks,
            content,
            early,
            ..
        } = self
        else {
            return;
        };
        let Some(Some(ports)) = ports.get(track) else {
            return;
        };
        let socket = if is_rtcp { &ports.rtcp } else { &ports.rtp };
        let peer = session.connection.peer().ip();
        let from = tracks.get(track).and_then(|track| source(&track.transport));
        let Turn {
            now,
            batch,
            outputs,
            received,
            ..
        } = turn;
        let before = received.packets;
        // An error of the socket is that of an earlier report.
        let _ = socket.receive(batch, |sender, datagram| {
            let sender = sender.ip().to_canonical();
            if sender != peer && Some(sender) != from {
                return;
            }
            received.packets += 1;
            received.bytes += datagram.len() as u64;
            match content {
                Some(content) if is_rtcp => content.rtcp(track, &datagram, *now),
                Some(content) => content.rtp(track, datagram, *now, outputs),
                None if early.len() < EARLY => early.push((track, is_rtcp, datagram)),
                None => {}
            }
        });
        if received.packets > before {
            session.client.datagram_came(*now);
        }
        if is_rtcp {
            self.look_for_end(turn.now);
        }
    }

    /// What the senders have said may have been the end.
    fn look_for_end(&mut self, now: Instant) {
        if self.content.as_ref().is_some_and(Content::has_ended) {
            self.ends_at.get_or_insert(now + REST);
        }
    }

    /// Tells the origin what came of each track.
    fn report(&mut self, turn: &mut Turn<'_>) {
        self.report_at = Some(turn.now + REPORTS);
        let (Step::Session(session), Some(content)) = (&mut self.step, &mut self.content) else {
            return;
        };
        for (number, track) in self.tracks.iter().enumerate() {
            let block = content.report(number, turn.now);
            let Ok(report) = rtcp::report(self.ssrc, NAME, block.as_slice()) else {
                continue;
            };
            match (&track.transport, self.ports.get(number)) {
                (
                    Transport::Udp {
                        server: Some((_, rtcp)),
                        ..
                    },
                    Some(Some(ports)),
                ) => {
                    let from = source(&track.transport).filter(|from| {
                        let permitted = turn.services.access.connect(self.url.host(), [*from]);
                        permitted.is_ok()
                    });
                    let to = from.unwrap_or(session.connection.peer().ip());
                    ports.rtcp.send(SocketAddr::new(to, *rtcp), &report);
                }
                (Transport::Udp { .. }, _) => {}
                // If too much waits to be sent, the next report says the same.
                (Transport::Interleaved { .. }, _) => {
                    let _ = session.client.send_rtcp(number, &report);
                }
            }
        }
    }

    fn redirect(&mut self, url: Url, turn: &mut Turn<'_>) -> Result<(), Over> {
        self.redirects += 1;
        if self.redirects > REDIRECTS {
            let text = format!("more than {REDIRECTS} redirects");
            return Err(failed(&self.url, text).into());
        }
        self.say_goodbye(turn.now);
        let same_host = (url.host(), url.port()) == (self.url.host(), self.url.port());
        self.credentials = match url.credentials() {
            Some(credentials) => Some(credentials.clone()),
            None => self.credentials.take().filter(|_| same_host),
        };
        // Where an origin leads to is not what the operator has named, unless it is another origin.
        self.trusted &= same_host || turn.services.pools.has_origin(&url);
        if !self.trusted {
            (turn.services.access.ask(url.host()))
                .map_err(|denied| Refused::redirected(&self.url, &denied))?;
        }
        self.step = look_for(&url, turn)?;
        self.url = url;
        self.ports.clear();
        self.early.clear();
        self.report_at = None;
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

impl Session {
    fn read(&mut self, turn: &mut Turn<'_>) {
        let Session {
            connection,
            client,
            has_more,
            ..
        } = self;
        let came = connection.read(turn.scratch, |bytes| client.receive(turn.now, bytes));
        *has_more = came == Came::More;
        if came == Came::End {
            client.closed();
        }
    }

    /// `past` is a time that is over.
    fn deadline(&self, past: Instant) -> Option<Instant> {
        let more = self.has_more.then_some(past);
        let all = [more, self.until, self.client.next_deadline()];
        all.into_iter().flatten().min()
    }
}

/// Connects to a host that is an address, and asks for the addresses of any other.
fn look_for(url: &Url, turn: &mut Turn<'_>) -> Result<Step, Refused> {
    if let Ok(address) = url.host().parse() {
        return connect(url, vec![address], turn);
    }
    let ticket = turn.services.next_ticket();
    let (source, to) = (turn.number, turn.services.handle.clone());
    let answer = move |addresses| {
        to.send(Message::Resolved(Resolved {
            source,
            ticket,
            addresses,
        }));
    };
    match (turn.services.resolver).ask(url.host().to_owned(), answer) {
        true => Ok(Step::Resolving {
            ticket,
            until: turn.now + CONNECTING,
        }),
        false => {
            let text = "too many names wait for their addresses";
            Err(Refused::busy(text))
        }
    }
}

/// Begins to connect to the first of a host's addresses that can be tried.
fn connect(url: &Url, addresses: Vec<IpAddr>, turn: &Turn<'_>) -> Result<Step, Refused> {
    let mut addresses = addresses.into_iter();
    let mut failure = late(
        url,
        format!("not connected within {} s", CONNECTING.as_secs()),
    );
    while let Some(address) = addresses.next() {
        let address = SocketAddr::new(address, url.port());
        match Connection::begin(address, Token::Source(turn.number, 0), turn.waiter) {
            Ok(connection) => {
                let share = CONNECTING / (addresses.len() as u32 + 1);
                return Ok(Step::Connecting {
                    connection,
                    others: addresses.collect(),
                    until: turn.now + share,
                });
            }
            Err(error) => failure = failed(url, format!("cannot connect: {error}")),
        }
    }
    Err(failure)
}

fn failed(url: &Url, text: impl fmt::Display) -> Refused {
    Refused::bad_gateway(format!("{url}: {text}"))
}

fn late(url: &Url, text: impl fmt::Display) -> Refused {
    Refused::late(format!("{url}: {text}"))
}

fn refused(url: &Url, failure: &Failure) -> Refused {
    match failure {
        Failure::Refused { status: 457, .. } => Refused::no_such_range(format!("{url}: {failure}")),
        Failure::Refused { status: 404, .. } => Refused::not_found(format!("{url}: {failure}")),
        Failure::NoAnswer { .. } | Failure::NoPacket(_) => late(url, failure),
        _ => failed(url, failure),
    }
}

/// Where a server says that its packets come from.
fn source(transport: &Transport) -> Option<IpAddr> {
    match transport {
        Transport::Udp { source, .. } => *source,
        Transport::Interleaved { .. } => None,
    }
}
