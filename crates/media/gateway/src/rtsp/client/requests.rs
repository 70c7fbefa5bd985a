//! What is asked of the server.

use std::time::Instant;

use super::{ANSWER, Client, Event, MAX_OUTPUT, Pending, Step, TEARDOWN};
use crate::rtsp::Failure;
use crate::rtsp::message;
use crate::rtsp::transport::Transport;

const USER_AGENT: &str = "evener";

type Fields = Vec<(&'static str, String)>;

impl Client {
    pub(super) fn send(
        &mut self,
        now: Instant,
        method: &'static str,
        target: String,
        headers: Fields,
    ) {
        self.send_again(now, method, target, headers, 0);
    }

    /// Sends a request for which the server has wanted to know `refused` times who asks.
    pub(super) fn send_again(
        &mut self,
        now: Instant,
        method: &'static str,
        target: String,
        headers: Fields,
        refused: u8,
    ) {
        if self.output.len() > MAX_OUTPUT {
            return self.fail(Failure::Flood);
        }
        self.cseq = self.cseq.wrapping_add(1);
        let cseq = self.cseq.to_string();
        let credentials = self.url.credentials().or(self.options.credentials.as_ref());
        let authorization = match (&mut self.challenge, credentials) {
            (Some(challenge), Some(by)) => {
                let cnonce = mixed(self.options.seed, self.cseq);
                Some(challenge.answer(by, method, &target, &cnonce))
            }
            _ => None,
        };
        let mut fields = vec![("CSeq", cseq.as_str()), ("User-Agent", USER_AGENT)];
        if let Some(session) = &self.session {
            fields.push(("Session", &session.name));
        }
        if let Some(authorization) = &authorization {
            fields.push(("Authorization", authorization));
        }
        fields.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        message::write_request(&mut self.output, method, &target, &fields);
        let wait = match method {
            "TEARDOWN" => TEARDOWN,
            _ => ANSWER,
        };
        self.pending = Some(Pending {
            cseq: self.cseq,
            method,
            target,
            headers,
            sent: now,
            deadline: now + wait,
            refused,
        });
    }

    /// Begins to set up a track: with ports of the caller, or on the connection.
    pub(super) fn begin(&mut self, now: Instant, track: usize) {
        if self.datagrams {
            self.step = Step::Ports(track);
            self.events.push_back(Event::NeedPorts { track });
            return;
        }
        // A description has few media, so the channels are enough.
        let rtp = track as u8 * 2;
        let transport = Transport::Interleaved { rtp, rtcp: rtp + 1 };
        self.set_up(now, track, transport);
    }

    pub(super) fn set_up(&mut self, now: Instant, track: usize, transport: Transport) {
        self.step = Step::Setup(track);
        let headers = vec![("Transport", transport.asked())];
        self.tracks[track].transport = Some(transport);
        let target = self.tracks[track].url.target();
        self.send(now, "SETUP", target, headers);
    }

    pub(super) fn play(&mut self, now: Instant) {
        self.step = Step::Play;
        let range =
            |start: std::time::Duration| ("Range", format!("npt={:.3}-", start.as_secs_f64()));
        let headers = self.options.start.map(range);
        let target = self.aggregate.target();
        self.send(now, "PLAY", target, headers.into_iter().collect());
    }

    /// Whatever else was asked is not waited for.
    pub(super) fn send_teardown(&mut self, now: Instant, step: Step) {
        self.step = step;
        self.first_packet = None;
        let target = self.aggregate.target();
        self.send(now, "TEARDOWN", target, Vec::new());
    }

    pub(super) fn keep_alive(&mut self, now: Instant) {
        self.kept_alive = now;
        let method = match self.has_get_parameter {
            true => "GET_PARAMETER",
            false => "OPTIONS",
        };
        let target = self.aggregate.target();
        self.send(now, method, target, Vec::new());
    }

    /// Sets up all tracks on the connection, in a new session.
    pub(super) fn begin_again(&mut self, now: Instant) {
        self.session = None;
        self.datagrams = false;
        self.packet_came = false;
        for track in &mut self.tracks {
            (track.transport, track.ssrc) = (None, None);
        }
        self.begin(now, 0);
    }

    /// A request whose time is over.
    pub(super) fn unanswered(&mut self, now: Instant, pending: &Pending) {
        match self.step {
            Step::Ending => self.end(),
            Step::Again => self.begin_again(now),
            // Some servers do not answer a method that they do not know.
            Step::Playing if pending.method == "GET_PARAMETER" => {
                self.has_get_parameter = false;
                self.keep_alive(now);
            }
            Step::Playing if self.heard > pending.sent => {}
            _ => self.fail(Failure::NoAnswer {
                method: pending.method,
                after: ANSWER,
            }),
        }
    }
}

/// Another word for each request, which the seed has to be known to guess (the finaliser of SplitMix64).
fn mixed(seed: u64, number: u32) -> String {
    let mut word = seed.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", word ^ (word >> 31))
}
