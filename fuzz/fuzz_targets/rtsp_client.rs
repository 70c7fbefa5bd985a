//! A server of RTSP that says anything, and time that passes: no panic, one line that says why a session failed, nothing
//! after the end, and no more sent than was answered.

#![no_main]
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use evener_gateway::payload::Format;
use evener_gateway::rtsp::Url;
use evener_gateway::rtsp::client::{Client, Event, MAX_OUTPUT, Options};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// A response to the last request: a status, headers and a body by number, and a header as it is.
    Answer(u8, u16, u8, &'a [u8]),
    Bytes(&'a [u8]),
    Wait(u16),
    /// To the next deadline.
    Deadline,
    Datagram,
    NoPorts,
    Rtcp(u8),
    Closed,
    Teardown,
}

const STATUSES: [u16; 10] = [200, 200, 200, 200, 401, 461, 302, 454, 404, 100];
const HEADERS: [&[u8]; 12] = [
    b"Session: a;timeout=2",
    b"Session: b",
    b"Transport: RTP/AVP/TCP;unicast;interleaved=0-1",
    b"Transport: RTP/AVP/TCP;unicast;interleaved=2-3",
    b"Transport: RTP/AVP;unicast;client_port=2-3;server_port=4-5;source=10.0.0.1;ssrc=01",
    b"WWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\", stale=true",
    b"WWW-Authenticate: Basic realm=\"a\"",
    b"Location: rtsp://other/stream",
    b"Content-Base: rtsp://h/live/",
    b"RTP-Info: url=rtsp://h/live/1;seq=7;rtptime=9,url=2;seq=1",
    b"Public: OPTIONS, GET_PARAMETER",
    b"Range: npt=0-10",
];
const BODIES: [&[u8]; 3] = [
    b"",
    b"v=0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:1\r\n\
      m=audio 0 RTP/AVP 0\r\na=control:2\r\n",
    b"v=0\r\nm=video 0 RTP/AVP 33\r\na=control:rtsp://h/live/1\r\n",
];

fuzz_target!(|input: (bool, Vec<Step>)| {
    let (datagrams, steps) = input;
    let mut now = Instant::now();
    let options = Options {
        credentials: None,
        datagrams,
        carries: |format: &Format| ["H264", "PCMU", "MP2T"].contains(&format.encoding.as_str()),
        start: None,
        seed: 1,
    };
    let url = Url::parse("rtsp://user:password@h/live").expect("an address");
    let mut client = Client::new(url, options, now);
    let (mut over, mut cseq, mut sent) = (false, 0, 0);
    let count = steps.len();
    for step in steps {
        match step {
            Step::Answer(status, headers, body, other) => {
                client.receive(now, &answer(cseq, status, headers, body, other));
            }
            Step::Bytes(bytes) => client.receive(now, bytes),
            Step::Wait(millis) => {
                now += Duration::from_millis(millis.into());
                client.advance(now);
            }
            Step::Deadline => {
                if let Some(deadline) = client.next_deadline() {
                    now = now.max(deadline);
                    client.advance(now);
                    assert!(client.next_deadline().is_none_or(|next| next > now));
                }
            }
            Step::Datagram => client.datagram_came(now),
            Step::NoPorts => client.no_ports(now),
            Step::Rtcp(track) => drop(client.send_rtcp(track.into(), &[0; 40])),
            Step::Closed => client.closed(),
            Step::Teardown => client.teardown(now),
        }
        let output = client.take_output();
        assert!(output.len() <= MAX_OUTPUT + 16 * 1024);
        sent += output.len();
        cseq = last_cseq(&output).unwrap_or(cseq);
        while let Some(event) = client.next_event() {
            assert!(!over, "{event:?} after the end");
            match event {
                Event::NeedPorts { .. } => client.ports(now, 2, 3),
                Event::Failed(failure) => {
                    over = true;
                    assert!(!failure.to_string().contains(['\r', '\n']));
                }
                Event::Ended => over = true,
                _ => {}
            }
        }
        if over {
            assert_eq!(client.next_deadline(), None);
        }
    }
    assert!(sent <= (count + 1) * (MAX_OUTPUT + 16 * 1024));
});

fn answer(cseq: u32, status: u8, headers: u16, body: u8, other: &[u8]) -> Vec<u8> {
    let status = STATUSES[usize::from(status) % STATUSES.len()];
    let body = BODIES[usize::from(body) % BODIES.len()];
    let mut bytes = format!("RTSP/1.0 {status} x\r\nCSeq: {cseq}\r\n").into_bytes();
    for (number, header) in HEADERS.iter().enumerate() {
        if headers & 1 << number != 0 {
            bytes.extend_from_slice(header);
            bytes.extend_from_slice(b"\r\n");
        }
    }
    if !other.is_empty() {
        bytes.extend_from_slice(other);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The number of the last request in what was sent.
fn last_cseq(output: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(output);
    let at = text.rfind("CSeq: ")?;
    text[at + 6..].lines().next()?.parse().ok()
}
