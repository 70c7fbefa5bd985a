//! A session at a server: set up, played, kept alive and ended. Bytes of the connection and the time come in; bytes, events
//! and the next deadline go out.

mod answers;
mod requests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::auth::{Challenge, Credentials};
use super::message::{self, Decoder, Message};
use super::transport::Transport;
use super::{Failure, Url};
use crate::payload::Format;
use crate::sdp::Media;

/// How long an answer is waited for.
pub const ANSWER: Duration = Duration::from_secs(10);
/// How long the answer to TEARDOWN is waited for.
pub const TEARDOWN: Duration = Duration::from_secs(1);
/// How long the first packet is waited for where packets come in datagrams.
pub const FIRST_DATAGRAM: Duration = Duration::from_secs(3);
/// How long the first packet is waited for where packets come on the connection.
pub const FIRST_FRAME: Duration = Duration::from_secs(10);
/// Bytes that wait to be sent, at most.
pub const MAX_OUTPUT: usize = 64 * 1024;

/// What a client wants.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who asks, where the address does not say.
    pub credentials: Option<Credentials>,
    /// Datagrams are asked for first, and the connection is what is left. If not, the connection is all.
    pub datagrams: bool,
    /// Which formats can be carried; media without one are not set up.
    pub carries: fn(&Format) -> bool,
    /// Where to begin. `None` is now for what is live, and the beginning for a recording.
    pub start: Option<Duration>,
    /// Random: what a server could guess of it makes Digest weaker.
    pub seed: u64,
}

/// What the caller has to do, or know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Two ports of UDP are needed for a track, the even one for RTP: see [`Client::ports`] and [`Client::no_ports`].
    NeedPorts {
        /// Which track: from 0 on, in the order of the description.
        track: usize,
    },
    /// The server plays. It comes again, with other transports, if no datagram came and the connection is used; ports
    /// that are in none of the transports are no longer needed.
    Playing {
        /// All tracks that were set up.
        tracks: Vec<Playing>,
    },
    /// A packet came on the connection. It can come before [`Event::Playing`].
    Packet {
        /// Of which track.
        track: usize,
        /// RTCP, and not RTP.
        is_rtcp: bool,
        /// The packet.
        payload: Bytes,
    },
    /// The server wants the session to go on elsewhere. While it plays, it plays on until [`Client::teardown`]; before
    /// that, nothing comes after this. Whether to follow, how often, and whether the credentials are for that host as
    /// well, is the caller's to decide: the address has only those that the server put in.
    Redirect {
        /// Where.
        url: Url,
    },
    /// There is no session. Nothing comes after this.
    Failed(Failure),
    /// The session was ended, by us or by the server. Nothing comes after this.
    Ended,
}

/// A track that plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playing {
    /// What the description says of it.
    pub media: Media,
    /// How its packets come.
    pub transport: Transport,
    /// Their synchronisation source, if the server says so.
    pub ssrc: Option<u32>,
    /// The number of the first, if the server says so.
    pub sequence: Option<u16>,
    /// Their timestamp at the time where playing begins, if the server says so.
    pub timestamp: Option<u32>,
}

/// What the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Options,
    Describe,
    /// Waits for the caller's ports for a track.
    Ports(usize),
    Setup(usize),
    Play,
    Playing,
    /// TEARDOWN, after which the tracks are set up on the connection.
    Again,
    /// TEARDOWN, after which there is nothing.
    Ending,
    Over,
}

/// A request that is not yet answered.
#[derive(Debug)]
struct Pending {
    cseq: u32,
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    sent: Instant,
    deadline: Instant,
    /// How often the server wanted to know who asks.
    refused: u8,
}

#[derive(Debug)]
struct Session {
    name: String,
    timeout: Duration,
}

#[derive(Debug)]
struct Track {
    media: Media,
    url: Url,
    /// As agreed, once it is set up.
    transport: Option<Transport>,
    ssrc: Option<u32>,
}

/// The client of one session on one connection.
#[derive(Debug)]
pub struct Client {
    url: Url,
    /// Where all tracks are played.
    aggregate: Url,
    options: Options,
    /// Datagrams are still tried.
    datagrams: bool,
    decoder: Decoder,
    output: BytesMut,
    events: VecDeque<Event>,
    step: Step,
    cseq: u32,
    pending: Option<Pending>,
    challenge: Option<Challenge>,
    session: Option<Session>,
    tracks: Vec<Track>,
    /// The server has GET_PARAMETER, as far as is known. OPTIONS is what is left.
    has_get_parameter: bool,
    /// When the server last had to know that the session is wanted.
    kept_alive: Instant,
    /// When anything last came from the server.
    heard: Instant,
    /// When the first packet must have come.
    first_packet: Option<Instant>,
    packet_came: bool,
}

impl Client {
    /// A client on a connection to the URL's host that begins now.
    pub fn new(url: Url, options: Options, now: Instant) -> Client {
        let mut client = Client {
            aggregate: url.clone(),
            url,
            datagrams: options.datagrams,
            options,
            decoder: Decoder::default(),
            output: BytesMut::new(),
            events: VecDeque::new(),
            step: Step::Options,
            cseq: 0,
            pending: None,
            challenge: None,
            session: None,
            tracks: Vec::new(),
            has_get_parameter: true,
            kept_alive: now,
            heard: now,
            first_packet: None,
            packet_came: false,
        };
        let target = client.url.target();
        client.send(now, "OPTIONS", target, Vec::new());
        client
    }

    /// Takes what came on the connection, cut anywhere.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        if self.step == Step::Over {
            return;
        }
        self.heard = now;
        self.decoder.push(bytes);
        while self.step != Step::Over {
            match self.decoder.next_message() {
                Ok(None) => break,
                Ok(Some(Message::Frame { channel, payload })) => self.frame(channel, payload),
                Ok(Some(Message::Response(response))) => self.response(now, response),
                Ok(Some(Message::Request(request))) => self.request(&request),
                Err(error) => self.fail(error.into()),
            }
        }
    }

    /// The connection was closed by the server.
    pub fn closed(&mut self) {
        match self.step {
            Step::Over => {}
            Step::Ending => self.end(),
            _ => self.fail(Failure::Closed),
        }
    }

    /// A datagram came for a track that is set up. Once for what came together is enough.
    pub fn datagram_came(&mut self, now: Instant) {
        self.heard = now;
        // One that was on its way when the connection took over is no packet of it.
        if !self.packet_came && self.uses_datagrams() {
            self.packet_came = true;
            self.first_packet = None;
        }
    }

    /// Gives the port of RTP that [`Event::NeedPorts`] asks for; RTCP has `rtcp`.
    pub fn ports(&mut self, now: Instant, rtp: u16, rtcp: u16) {
        if let Step::Ports(track) = self.step {
            let transport = Transport::Udp {
                client: (rtp, rtcp),
                server: None,
                source: None,
            };
            self.set_up(now, track, transport);
        }
    }

    /// There are no ports: the connection is used.
    pub fn no_ports(&mut self, now: Instant) {
        if let Step::Ports(track) = self.step {
            self.datagrams = false;
            self.begin(now, track);
        }
    }

    /// Sends RTCP of a track whose packets come on the connection. False if it has no such transport, or if too much
    /// waits to be sent.
    pub fn send_rtcp(&mut self, track: usize, packet: &[u8]) -> bool {
        let transport = self.tracks.get(track).and_then(|track| track.transport);
        let Some(Transport::Interleaved { rtcp, .. }) = transport else {
            return false;
        };
        if self.step != Step::Playing || self.output.len() + packet.len() > MAX_OUTPUT {
            return false;
        }
        message::write_frame(&mut self.output, rtcp, packet);
        true
    }

    /// Ends the session.
    pub fn teardown(&mut self, now: Instant) {
        match (self.step, &self.session) {
            (Step::Over | Step::Ending, _) => {}
            (Step::Again, _) => self.step = Step::Ending,
            (_, None) => self.end(),
            (_, Some(_)) => self.send_teardown(now, Step::Ending),
        }
    }

    /// What is due is done.
    pub fn advance(&mut self, now: Instant) {
        if let Some(pending) = self.pending.take_if(|pending| pending.deadline <= now) {
            self.unanswered(now, &pending);
        }
        if self.first_packet.is_some_and(|at| at <= now) {
            self.first_packet = None;
            match self.uses_datagrams() {
                true => self.send_teardown(now, Step::Again),
                false => self.fail(Failure::NoPacket(FIRST_FRAME)),
            }
        }
        if self.keep_alive_at().is_some_and(|at| at <= now) {
            self.keep_alive(now);
        }
    }

    /// When [`Client::advance`] is to be called next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let pending = self.pending.as_ref().map(|pending| pending.deadline);
        let all = [pending, self.first_packet, self.keep_alive_at()];
        all.into_iter().flatten().min()
    }

    /// What is to be sent on the connection; can be empty.
    pub fn take_output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// What happened, in its order. It is to be asked after each call until there is nothing more.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether packets of a track come in datagrams.
    fn uses_datagrams(&self) -> bool {
        let mut transports = self.tracks.iter().map(|track| track.transport);
        transports.any(|transport| matches!(transport, Some(Transport::Udp { .. })))
    }

    /// Half of the server's time before it forgets the session, so that one lost request is no lost session.
    fn keep_alive_at(&self) -> Option<Instant> {
        let session = self.session.as_ref()?;
        let due = self.step == Step::Playing && self.pending.is_none();
        due.then(|| self.kept_alive + session.timeout / 2)
    }

    fn end(&mut self) {
        self.finish(Event::Ended);
    }

    fn fail(&mut self, failure: Failure) {
        self.finish(Event::Failed(failure));
    }

    fn finish(&mut self, event: Event) {
        self.step = Step::Over;
        self.pending = None;
        self.first_packet = None;
        self.session = None;
        self.decoder = Decoder::default();
        self.events.push_back(event);
    }
}
