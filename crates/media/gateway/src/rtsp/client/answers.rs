//! What comes from the server: answers, requests and packets.

use std::time::Instant;

use bytes::Bytes;

use super::{
    Client, Event, FIRST_DATAGRAM, FIRST_FRAME, MAX_OUTPUT, Pending, Playing, Session, Step, Track,
};
use crate::rtsp::auth::Challenge;
use crate::rtsp::message::{self, Headers, Request, Response};
use crate::rtsp::transport::{self, Start, Transport};
use crate::rtsp::{Failure, Url, UrlError};
use crate::sdp::Description;

/// Methods of the server that are answered with success.
const KNOWN: &str = "OPTIONS, GET_PARAMETER, REDIRECT, TEARDOWN";
/// The shortest packet, of RTCP.
const MIN_PACKET: usize = 8;

impl Client {
    pub(super) fn frame(&mut self, channel: u8, payload: Bytes) {
        let of = |(number, track): (usize, &Track)| match track.transport? {
            Transport::Interleaved { rtp, .. } if rtp == channel => Some((number, false)),
            Transport::Interleaved { rtcp, .. } if rtcp == channel => Some((number, true)),
            _ => None,
        };
        let found = self.tracks.iter().enumerate().find_map(of);
        if let Some((track, is_rtcp)) = found
            && payload.len() >= MIN_PACKET
        {
            if !is_rtcp {
                self.packet_came = true;
                self.first_packet = None;
            }
            self.events.push_back(Event::Packet {
                track,
                is_rtcp,
                payload,
            });
        }
    }

    pub(super) fn response(&mut self, now: Instant, response: Response) {
        // An answer that came too late is to nothing that is waited for, and 1xx says that the answer is to come.
        let is_answer = |pending: &mut Pending| {
            response.status >= 200
                && response
                    .headers
                    .cseq()
                    .is_none_or(|cseq| cseq == pending.cseq)
        };
        let Some(pending) = self.pending.take_if(is_answer) else {
            return;
        };
        self.kept_alive = now;
        match response.status {
            401 => self.authenticate(now, pending, &response),
            300..=399 if !matches!(self.step, Step::Again | Step::Ending) => self.moved(&response),
            _ => {
                if let Err(failure) = self.answered(now, &pending, &response) {
                    self.fail(failure);
                }
            }
        }
    }

    fn authenticate(&mut self, now: Instant, pending: Pending, response: &Response) {
        let challenge = Challenge::strongest(response.headers.all("WWW-Authenticate"));
        let has_credentials = self.url.credentials().or(self.options.credentials.as_ref());
        let failure = match challenge {
            // The first answer can be to an old nonce, and the second to one that was stale.
            Some(challenge)
                if has_credentials.is_some()
                    && (pending.refused == 0 || pending.refused == 1 && challenge.is_stale) =>
            {
                self.challenge = Some(challenge);
                let Pending {
                    method,
                    target,
                    headers,
                    refused,
                    ..
                } = pending;
                return self.send_again(now, method, target, headers, refused + 1);
            }
            _ if has_credentials.is_none() => Failure::NoCredentials,
            None => Failure::UnknownScheme,
            Some(_) => Failure::WrongCredentials,
        };
        match self.step {
            // A session that is given up ends without the server's leave as well.
            Step::Again => self.begin_again(now),
            Step::Ending => self.end(),
            _ => self.fail(failure),
        }
    }

    fn moved(&mut self, response: &Response) {
        let location = response.headers.get("Location").unwrap_or_default();
        match Url::parse(location) {
            Ok(url) => self.finish(Event::Redirect { url }),
            Err(error) => self.fail(error.into()),
        }
    }

    fn answered(
        &mut self,
        now: Instant,
        pending: &Pending,
        response: &Response,
    ) -> Result<(), Failure> {
        let refused = || {
            let words = response.reason.chars().filter(|char| !char.is_control());
            Failure::Refused {
                method: pending.method,
                status: response.status,
                reason: words.take(100).collect(),
            }
        };
        let is_ok = (200..300).contains(&response.status);
        match self.step {
            // A server without OPTIONS may have all else.
            Step::Options => {
                if let Some(public) = response.headers.get("Public") {
                    self.has_get_parameter = transport::is_public(public, "GET_PARAMETER");
                }
                self.step = Step::Describe;
                let target = self.url.target();
                let accept = vec![("Accept", "application/sdp".to_string())];
                self.send(now, "DESCRIBE", target, accept);
            }
            Step::Describe if is_ok => self.described(now, response)?,
            Step::Setup(track) if is_ok => self.was_set_up(now, track, response)?,
            // Unsupported Transport.
            Step::Setup(track) if response.status == 461 && self.datagrams => match track {
                0 => self.begin_again(now),
                _ => self.send_teardown(now, Step::Again),
            },
            Step::Play if is_ok => self.plays(now, response),
            Step::Playing if response.status == 454 => return Err(Failure::SessionLost),
            Step::Playing if !is_ok && pending.method == "GET_PARAMETER" => {
                self.has_get_parameter = false;
                self.keep_alive(now);
            }
            Step::Again => self.begin_again(now),
            Step::Ending => self.end(),
            Step::Playing | Step::Ports(_) | Step::Over => {}
            Step::Describe | Step::Setup(_) | Step::Play => return Err(refused()),
        }
        Ok(())
    }

    fn described(&mut self, now: Instant, response: &Response) -> Result<(), Failure> {
        let description = Description::parse(&response.body, self.options.carries)?;
        let base = base(&self.url, &response.headers)?;
        for media in description.media {
            let url = match &media.control {
                Some(control) => base.join(control)?,
                None => base.clone(),
            };
            self.tracks.push(Track {
                media,
                url,
                transport: None,
                ssrc: None,
            });
        }
        self.aggregate = match &description.control {
            Some(control) => base.join(control)?,
            None => base,
        };
        self.begin(now, 0);
        Ok(())
    }

    fn was_set_up(
        &mut self,
        now: Instant,
        track: usize,
        response: &Response,
    ) -> Result<(), Failure> {
        if let Some(value) = response.headers.get("Session") {
            let session = transport::session(value).ok_or(Failure::BadSetup("session"))?;
            let (name, timeout) = session;
            self.session = Some(Session { name, timeout });
        }
        if self.session.is_none() {
            return Err(Failure::BadSetup("session"));
        }
        let asked = self.tracks[track].transport;
        let answer = response.headers.get("Transport");
        let agreed = asked
            .zip(answer)
            .and_then(|(asked, answer)| asked.agreed(answer));
        let agreed = agreed.ok_or(Failure::BadSetup("transport"))?;
        if let Transport::Interleaved { rtp, rtcp } = agreed.transport {
            let taken = |track: &Track| match track.transport {
                Some(Transport::Interleaved {
                    rtp: other,
                    rtcp: others,
                }) => [other, others].contains(&rtp) || [other, others].contains(&rtcp),
                _ => false,
            };
            if rtp == rtcp || self.tracks[..track].iter().any(taken) {
                return Err(Failure::BadSetup("channels"));
            }
            self.datagrams = false;
        }
        self.tracks[track].transport = Some(agreed.transport);
        self.tracks[track].ssrc = agreed.ssrc;
        match track + 1 < self.tracks.len() {
            true => self.begin(now, track + 1),
            false => self.play(now),
        }
        Ok(())
    }

    fn plays(&mut self, now: Instant, response: &Response) {
        self.step = Step::Playing;
        let starts = response.headers.get("RTP-Info").map(transport::starts);
        let starts = starts.unwrap_or_default();
        let playing = |(number, track): (usize, &Track)| {
            let start = start(&starts, self.tracks.len(), number, track);
            Some(Playing {
                media: track.media.clone(),
                transport: track.transport?,
                ssrc: track.ssrc,
                sequence: start.and_then(|start| start.sequence),
                timestamp: start.and_then(|start| start.timestamp),
            })
        };
        let tracks = self.tracks.iter().enumerate().filter_map(playing).collect();
        self.events.push_back(Event::Playing { tracks });
        if !self.packet_came {
            let wait = match self.uses_datagrams() {
                true => FIRST_DATAGRAM,
                false => FIRST_FRAME,
            };
            self.first_packet = Some(now + wait);
        }
    }

    /// Answers what the server asks.
    pub(super) fn request(&mut self, request: &Request) {
        let (status, reason) = match request.method.as_str() {
            "OPTIONS" | "GET_PARAMETER" | "REDIRECT" | "TEARDOWN" => (200, "OK"),
            _ => (501, "Not Implemented"),
        };
        if self.output.len() > MAX_OUTPUT {
            return self.fail(Failure::Flood);
        }
        let cseq = request.headers.cseq().unwrap_or_default().to_string();
        let mut fields = vec![("CSeq", cseq.as_str())];
        if let Some(session) = &self.session {
            fields.push(("Session", &session.name));
        }
        if request.method == "OPTIONS" {
            fields.push(("Public", KNOWN));
        }
        message::write_response(&mut self.output, status, reason, &fields);
        match request.method.as_str() {
            "TEARDOWN" => self.end(),
            "REDIRECT" => match request.headers.get("Location").map(Url::parse) {
                Some(Ok(url)) => self.events.push_back(Event::Redirect { url }),
                // Without a location the server wants the same to be asked again.
                None => self.events.push_back(Event::Redirect {
                    url: self.url.clone(),
                }),
                // The server goes; where to cannot be known.
                Some(Err(_)) => {}
            },
            _ => {}
        }
    }
}

/// What the addresses of a description are relative to (RFC 2326, section C.1.1).
fn base(url: &Url, headers: &Headers) -> Result<Url, UrlError> {
    let names = ["Content-Base", "Content-Location"];
    let base = names.iter().find_map(|name| headers.get(name));
    match base.map(str::trim).filter(|base| !base.is_empty()) {
        Some(base) => url.join(base),
        None => Ok(url.clone()),
    }
}

/// What `RTP-Info` says of a track: by its address, by the end of it, or by the order if all tracks are there.
fn start<'a>(
    starts: &'a [Start],
    tracks: usize,
    number: usize,
    track: &Track,
) -> Option<&'a Start> {
    let url = track.url.target();
    let same = starts.iter().find(|start| start.url == url);
    let end = |start: &&Start| {
        let end = start.url.trim_start_matches('/');
        !end.is_empty() && url.ends_with(end)
    };
    let ends = same.or_else(|| starts.iter().find(end));
    ends.or_else(|| starts.get(number).filter(|_| starts.len() == tracks))
}
