//! Servers that mean harm, or nothing at all.

use std::time::Duration;

use evener_gateway::rtsp::client::{Event, MAX_OUTPUT};
use proptest::prelude::*;

use super::script::{DESCRIPTION, Script, options};

#[test]
fn a_server_that_asks_and_does_not_read_fails() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    let asks = b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(10_000);
    script.receive(&asks);
    assert_eq!(
        script.failure(),
        "the server does not read what it asks for"
    );
    assert!(script.client.take_output().len() < MAX_OUTPUT + 1024);
}

#[test]
fn headers_of_the_server_add_no_requests() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.ok("OPTIONS", "");
    let request = script.expect("DESCRIBE");
    let description = DESCRIPTION.replace("track1", "x RTSP/1.0");
    script.answer(&request, "200 OK", "", &description);
    assert!(
        script
            .failure()
            .starts_with("the server named an unusable address")
    );
}

#[test]
fn packets_of_other_channels_and_short_ones_are_left_out() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.receive(b"$\x09\x00\x0c123456789012$\x00\x00\x04abcd$\x00\x00\x00");
    assert_eq!(script.event(), None);
    script.packet();
}

/// What servers say, in parts.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let answer = (0..12u32, 0..10usize, 0..5usize).prop_map(|(cseq, status, headers)| {
        let status = [200, 200, 200, 200, 200, 401, 461, 302, 454, 100][status];
        let headers = [
            "Session: a;timeout=2\r\nTransport: RTP/AVP/TCP;interleaved=0-1",
            "Session: b\r\nTransport: RTP/AVP;unicast;server_port=1-2",
            "WWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\", stale=true",
            "Location: rtsp://h/",
            "RTP-Info: url=,url=a;seq=1",
        ][headers];
        let length = DESCRIPTION.len();
        format!("RTSP/1.0 {status} x\r\nCSeq: {cseq}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{DESCRIPTION}")
            .into_bytes()
    });
    let fixed: Vec<Vec<u8>> = vec![
        b"REDIRECT a RTSP/1.0\r\nCSeq: 1\r\n\r\n".to_vec(),
        b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".to_vec(),
        b"$\x00\x00\x0cabcdefghijkl".to_vec(),
    ];
    prop_oneof![
        12 => answer,
        3 => proptest::sample::select(fixed),
        1 => proptest::collection::vec(any::<u8>(), 0..60),
    ]
}

proptest! {
    #[test]
    fn no_server_makes_the_client_panic_grow_or_stand_still(
        datagrams: bool,
        steps in proptest::collection::vec((0..8u8, piece()), 0..60),
    ) {
        let mut script = Script::new("rtsp://a:b@h/", evener_gateway::rtsp::client::Options { datagrams, ..options() });
        let (mut over, mut sent) = (false, 0);
        for (step, bytes) in steps {
            match step {
                0 if script.client.next_deadline().is_some() => {
                    script.pass();
                }
                1 => script.client.no_ports(script.now),
                2 => script.client.datagram_came(script.now),
                _ => {
                    script.now += Duration::from_millis(10);
                    script.receive(&bytes);
                }
            }
            sent += script.client.take_output().len();
            while let Some(event) = script.event() {
                prop_assert!(!over, "{event:?} after the end");
                match event {
                    Event::NeedPorts { .. } => script.client.ports(script.now, 2, 3),
                    Event::Failed(failure) => {
                        over = true;
                        prop_assert!(!failure.to_string().contains(['\r', '\n']));
                    }
                    Event::Ended => over = true,
                    _ => {}
                }
            }
            if over {
                prop_assert_eq!(script.client.next_deadline(), None);
            }
        }
        prop_assert!(sent < 60 * 2000);
    }
}
