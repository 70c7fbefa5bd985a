//! From the address to the first packet.

use std::time::Duration;

use evener_gateway::rtsp::auth::Credentials;
use evener_gateway::rtsp::client::{Event, Options};
use evener_gateway::rtsp::{Transport, Url};

use super::script::{Script, header, options};

const PUBLIC: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER";

#[test]
fn datagrams_are_set_up() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.set_up_datagrams("abc;timeout=60");
    let request = script.expect("PLAY");
    assert!(
        request.starts_with("PLAY rtsp://camera/live/ RTSP/1.0\r\n"),
        "{request}"
    );
    assert_eq!(header(&request, "Session"), Some("abc"));
    assert_eq!(header(&request, "Range"), None);
    let info = "RTP-Info: url=rtsp://camera/live/track2;seq=9;rtptime=8,url=rtsp://camera/live/track1;seq=7;rtptime=6\r\n";
    script.answer(&request, "200 OK", info, "");
    let Some(Event::Playing { tracks }) = script.event() else {
        panic!()
    };
    let [video, audio] = tracks.as_slice() else {
        panic!("{tracks:?}")
    };
    assert_eq!(
        (video.sequence, video.timestamp, video.ssrc),
        (Some(7), Some(6), Some(0))
    );
    assert_eq!(
        (audio.sequence, audio.timestamp, audio.ssrc),
        (Some(9), Some(8), Some(1))
    );
    assert_eq!(video.media.format.encoding, "H264");
    let transport = Transport::Udp {
        client: (5002, 5003),
        server: Some((6000, 6001)),
        source: None,
    };
    assert_eq!(audio.transport, transport);
    assert!(!script.client.send_rtcp(0, &[0; 8]));

    script.client.datagram_came(script.now);
    assert_eq!(script.pass(), Duration::from_secs(30));
    script.expect("GET_PARAMETER");
}

#[test]
fn tracks_have_the_addresses_of_the_description() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.event();
    script.client.ports(script.now, 5000, 5001);
    let request = script.expect("SETUP");
    assert!(
        request.starts_with("SETUP rtsp://camera/live/track1 RTSP/1.0\r\n"),
        "{request}"
    );
    let asked = "RTP/AVP;unicast;client_port=5000-5001";
    assert_eq!(header(&request, "Transport"), Some(asked));
}

#[test]
fn the_connection_is_used_where_datagrams_are_refused() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.event();
    script.client.ports(script.now, 5000, 5001);
    let request = script.expect("SETUP");
    script.answer(&request, "461 Unsupported Transport", "", "");
    script.set_up_interleaved("abc");
    script.ok("PLAY", "");
    assert!(matches!(script.event(), Some(Event::Playing { .. })));
    script.packet();
}

#[test]
fn a_later_track_that_refuses_datagrams_sets_up_all_again() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.event();
    script.client.ports(script.now, 5000, 5001);
    script.ok(
        "SETUP",
        "Session: abc\r\nTransport: RTP/AVP;unicast;server_port=1-2\r\n",
    );
    assert_eq!(script.event(), Some(Event::NeedPorts { track: 1 }));
    script.client.ports(script.now, 5002, 5003);
    let request = script.expect("SETUP");
    script.answer(&request, "461 Unsupported Transport", "", "");
    script.ok("TEARDOWN", "");
    script.set_up_interleaved("def");
    let request = script.ok("PLAY", "");
    assert_eq!(header(&request, "Session"), Some("def"));
}

#[test]
fn the_connection_is_used_where_no_datagram_comes() {
    for answers_teardown in [true, false] {
        let mut script = Script::new("rtsp://camera/live", options());
        script.describe(PUBLIC);
        script.set_up_datagrams("abc");
        script.ok("PLAY", "");
        assert!(matches!(script.event(), Some(Event::Playing { .. })));
        assert_eq!(script.pass(), Duration::from_secs(3));
        let request = script.expect("TEARDOWN");
        assert_eq!(header(&request, "Session"), Some("abc"));
        match answers_teardown {
            true => script.answer(&request, "200 OK", "", ""),
            false => assert_eq!(script.pass(), Duration::from_secs(1)),
        }
        script.client.datagram_came(script.now);
        script.set_up_interleaved("def");
        script.ok("PLAY", "");
        assert!(script.client.next_deadline().unwrap() == script.now + Duration::from_secs(10));
        let Some(Event::Playing { tracks }) = script.event() else {
            panic!()
        };
        let transport = Transport::Interleaved { rtp: 2, rtcp: 3 };
        assert_eq!(tracks[1].transport, transport);
        script.packet();
    }
}

#[test]
fn where_nothing_comes_on_the_connection_either_the_session_fails() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.client.no_ports(script.now);
    script.event();
    script.set_up_interleaved("abc");
    script.ok("PLAY", "");
    script.event();
    assert_eq!(script.pass(), Duration::from_secs(10));
    assert_eq!(script.failure(), "no packet came within 10 s");
}

#[test]
fn a_server_can_choose_channels() {
    let answers = [
        ("0-1", "4-5", None),
        ("2-3", "0-1", None),
        (
            "2-3",
            "3-4",
            Some("SETUP was answered with no usable channels"),
        ),
        (
            "2-2",
            "3-4",
            Some("SETUP was answered with no usable channels"),
        ),
    ];
    for (first, second, failure) in answers {
        let mut script = Script::new(
            "rtsp://camera/live",
            Options {
                datagrams: false,
                ..options()
            },
        );
        script.describe(PUBLIC);
        let transport =
            |channels| format!("Session: a\r\nTransport: RTP/AVP/TCP;interleaved={channels}\r\n");
        script.ok("SETUP", &transport(first));
        if first != "2-2" {
            script.ok("SETUP", &transport(second));
        }
        match failure {
            Some(failure) => assert_eq!(script.failure(), failure),
            None => {
                script.ok("PLAY", "");
                script.event();
                let channel = second.as_bytes()[2] - b'0';
                script.receive(&[b'$', channel, 0, 8, 0x80, 200, 0, 1, 0, 0, 0, 0]);
                let event = script.event();
                assert!(matches!(
                    event,
                    Some(Event::Packet {
                        track: 1,
                        is_rtcp: true,
                        ..
                    })
                ));
                assert!(script.client.send_rtcp(1, &[1; 8]));
                let frame = [b'$', channel, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1];
                assert_eq!(script.client.take_output(), frame.as_slice());
            }
        }
    }
}

#[test]
fn a_recording_begins_where_it_is_asked_to() {
    let start = Some(Duration::from_millis(90_500));
    let mut script = Script::new("rtsp://camera/live", Options { start, ..options() });
    script.describe(PUBLIC);
    script.set_up_datagrams("abc");
    let request = script.expect("PLAY");
    assert_eq!(header(&request, "Range"), Some("npt=90.500-"));
}

#[test]
fn who_asks_is_said_where_the_server_wants_it() {
    let mut script = Script::new("rtsp://me:secret@camera/live", options());
    script.ok("OPTIONS", "");
    let request = script.expect("DESCRIBE");
    assert_eq!(header(&request, "Authorization"), None);
    assert!(!request.contains("secret"));
    let wants = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n1\", qop=\"auth\"\r\n";
    script.answer(&request, "401 Unauthorized", wants, "");
    let request = script.expect("DESCRIBE");
    let authorization = header(&request, "Authorization").unwrap();
    assert!(
        authorization.contains("nonce=\"n1\", uri=\"rtsp://camera/live\""),
        "{authorization}"
    );
    assert!(authorization.contains("nc=00000001"));
    let stale = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n2\", qop=\"auth\", stale=true\r\n";
    script.answer(&request, "401 Unauthorized", stale, "");
    let request = script.expect("DESCRIBE");
    assert!(
        header(&request, "Authorization")
            .unwrap()
            .contains("nonce=\"n2\"")
    );
    script.answer(&request, "200 OK", "", super::script::DESCRIPTION);
    script.client.no_ports(script.now);
    let request = script.expect("SETUP");
    let authorization = header(&request, "Authorization").unwrap();
    assert!(authorization.contains("nc=00000002"), "{authorization}");
}

#[test]
fn a_wrong_password_is_named() {
    let by = Credentials {
        user: "me".to_string(),
        password: "wrong".to_string(),
    };
    let basic = "WWW-Authenticate: Basic realm=\"r\"\r\n";
    let cases = [
        (
            Some(by.clone()),
            basic,
            2,
            "the server refuses the user and the password",
        ),
        (None, basic, 1, "the server wants a user and a password"),
        (
            Some(by),
            "WWW-Authenticate: Negotiate\r\n",
            1,
            "the server wants a user and a password by no scheme that is supported",
        ),
    ];
    for (credentials, wants, times, failure) in cases {
        let mut script = Script::new(
            "rtsp://camera/live",
            Options {
                credentials,
                ..options()
            },
        );
        for _ in 0..times {
            let request = script.expect("OPTIONS");
            script.answer(&request, "401 Unauthorized", wants, "");
        }
        assert_eq!(script.failure(), failure);
    }
}

#[test]
fn a_server_can_send_elsewhere() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.ok("OPTIONS", "");
    let request = script.expect("DESCRIBE");
    script.answer(
        &request,
        "302 Found",
        "Location: rtsp://other:8554/live\r\n",
        "",
    );
    let url = Url::parse("rtsp://other:8554/live").unwrap();
    assert_eq!(script.event(), Some(Event::Redirect { url }));
    assert_eq!(script.client.next_deadline(), None);

    let mut script = Script::new("rtsp://camera/live", options());
    let request = script.expect("OPTIONS");
    script.answer(&request, "301 Moved", "Location: http://other/\r\n", "");
    let failure = "the server named an unusable address: not an address of rtsp://";
    assert_eq!(script.failure(), failure);
}

#[test]
fn refusals_are_named() {
    let mut script = Script::new("rtsp://camera/live", options());
    let request = script.expect("OPTIONS");
    script.answer(&request, "405 Method Not Allowed", "", "");
    let request = script.expect("DESCRIBE");
    script.answer(&request, "404 Not\tFound", "", "");
    assert_eq!(script.failure(), "DESCRIBE was answered with 404 NotFound");

    let mut script = Script::new("rtsp://camera/live", options());
    script.ok("OPTIONS", "");
    script.ok("DESCRIBE", "");
    assert!(script.failure().starts_with("the description"));

    let mut script = Script::new("rtsp://camera/live", options());
    script.describe(PUBLIC);
    script.client.no_ports(script.now);
    script.event();
    script.ok("SETUP", "Transport: RTP/AVP/TCP;interleaved=0-1\r\n");
    assert_eq!(
        script.failure(),
        "SETUP was answered with no usable session"
    );
}

#[test]
fn what_is_not_answered_is_named() {
    let mut script = Script::new("rtsp://camera/live", options());
    script.ok("OPTIONS", "");
    let request = script.expect("DESCRIBE");
    script.answer(&request, "100 Continue", "", "");
    script.receive(b"RTSP/1.0 200 OK\r\nCSeq: 99\r\n\r\n");
    assert_eq!(script.pass(), Duration::from_secs(10));
    assert_eq!(script.failure(), "DESCRIBE was not answered within 10 s");
    script.receive(b"RTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n");
    assert_eq!(script.event(), None);
    script.nothing_sent();
}
