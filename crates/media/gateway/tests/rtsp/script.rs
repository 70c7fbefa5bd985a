//! A server that does what a test says, in virtual time.

use std::time::{Duration, Instant};

use evener_gateway::payload::Format;
use evener_gateway::rtsp::Url;
use evener_gateway::rtsp::client::{Client, Event, Options};

pub const DESCRIPTION: &str = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nt=0 0\r\na=control:*\r\n\
    m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n\
    m=audio 0 RTP/AVP 0\r\na=control:track2\r\n";

pub fn carries(format: &Format) -> bool {
    ["H264", "PCMU", "MP2T"].contains(&format.encoding.as_str())
}

pub fn options() -> Options {
    Options {
        credentials: None,
        datagrams: true,
        carries,
        start: None,
        seed: 7,
    }
}

/// A client, and what it sent that the script has not looked at.
pub struct Script {
    pub client: Client,
    pub now: Instant,
    sent: String,
}

impl Script {
    pub fn new(url: &str, options: Options) -> Script {
        let now = Instant::now();
        let client = Client::new(Url::parse(url).unwrap(), options, now);
        let sent = String::new();
        Script { client, now, sent }
    }

    /// The next request, which must be of this method, as text.
    pub fn expect(&mut self, method: &str) -> String {
        self.sent += std::str::from_utf8(&self.client.take_output()).unwrap();
        let end = self.sent.find("\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no {method} but {:?}", self.sent)) + 4;
        let rest = self.sent.split_off(end);
        let request = std::mem::replace(&mut self.sent, rest);
        assert!(request.starts_with(&format!("{method} ")), "{request}");
        request
    }

    /// Answers a request with a status line's end, headers and a body.
    pub fn answer(&mut self, request: &str, status: &str, headers: &str, body: &str) {
        let cseq = header(request, "CSeq").unwrap();
        let length = body.len();
        let response = format!(
            "RTSP/1.0 {status}\r\nCSeq: {cseq}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.receive(response.as_bytes());
    }

    pub fn receive(&mut self, bytes: &[u8]) {
        self.client.receive(self.now, bytes);
    }

    /// A request of this method is answered with success; it is returned.
    pub fn ok(&mut self, method: &str, headers: &str) -> String {
        let request = self.expect(method);
        self.answer(&request, "200 OK", headers, "");
        request
    }

    /// Up to SETUP of the first track.
    pub fn describe(&mut self, public: &str) {
        self.ok("OPTIONS", &format!("Public: {public}\r\n"));
        let request = self.expect("DESCRIBE");
        assert_eq!(header(&request, "Accept"), Some("application/sdp"));
        let headers = "Content-Type: application/sdp\r\nContent-Base: rtsp://camera/live/\r\n";
        self.answer(&request, "200 OK", headers, DESCRIPTION);
    }

    /// Two tracks in datagrams, up to PLAY.
    pub fn set_up_datagrams(&mut self, session: &str) {
        for track in 0..2 {
            assert_eq!(self.event(), Some(Event::NeedPorts { track }));
            let port = 5000 + track as u16 * 2;
            self.client.ports(self.now, port, port + 1);
            let headers = format!(
                "Session: {session}\r\nTransport: RTP/AVP;unicast;client_port={port}-{};server_port=6000-6001;ssrc=0000000{track}\r\n",
                port + 1
            );
            self.ok("SETUP", &headers);
        }
    }

    /// Two tracks on the connection, up to PLAY.
    pub fn set_up_interleaved(&mut self, session: &str) {
        for track in 0..2 {
            let channels = format!("{}-{}", track * 2, track * 2 + 1);
            let headers = format!(
                "Session: {session}\r\nTransport: RTP/AVP/TCP;unicast;interleaved={channels}\r\n"
            );
            let request = self.ok("SETUP", &headers);
            let asked = format!("RTP/AVP/TCP;unicast;interleaved={channels}");
            assert_eq!(header(&request, "Transport"), Some(asked.as_str()));
        }
    }

    /// A session that plays on the connection, with a packet.
    pub fn interleaved(public: &str, session: &str) -> Script {
        let options = Options {
            datagrams: false,
            ..options()
        };
        let mut script = Script::new("rtsp://camera/live", options);
        script.describe(public);
        script.set_up_interleaved(session);
        script.ok("PLAY", "");
        assert!(matches!(script.event(), Some(Event::Playing { .. })));
        script.packet();
        script
    }

    /// A packet on the first channel, which must be passed on.
    pub fn packet(&mut self) {
        self.receive(b"$\x00\x00\x0c\x80\x60\x00\x01abcdefgh");
        let event = self.event();
        assert!(
            matches!(
                event,
                Some(Event::Packet {
                    track: 0,
                    is_rtcp: false,
                    ..
                })
            ),
            "{event:?}"
        );
    }

    pub fn event(&mut self) -> Option<Event> {
        self.client.next_event()
    }

    /// Why there is no session.
    pub fn failure(&mut self) -> String {
        match self.event() {
            Some(Event::Failed(failure)) => {
                assert_eq!(self.client.next_deadline(), None);
                failure.to_string()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Goes to the next deadline, and says how long that was.
    pub fn pass(&mut self) -> Duration {
        let deadline = self.client.next_deadline().expect("a deadline");
        let passed = deadline.saturating_duration_since(self.now);
        self.now = self.now.max(deadline);
        self.client.advance(self.now);
        let next = self.client.next_deadline();
        assert!(next.is_none_or(|next| next > self.now));
        passed
    }

    /// Nothing was sent that was not looked at.
    pub fn nothing_sent(&mut self) {
        self.sent += std::str::from_utf8(&self.client.take_output()).unwrap();
        assert_eq!(self.sent, "");
    }
}

pub fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = request.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
