//! A session that plays: kept, moved and ended.

use std::time::Duration;

use evener_gateway::rtsp::Url;
use evener_gateway::rtsp::client::Event;

use super::script::{Script, header};

#[test]
fn a_session_is_kept_by_what_the_server_has() {
    for (public, method) in [
        ("OPTIONS, GET_PARAMETER", "GET_PARAMETER"),
        ("OPTIONS, SET_PARAMETER", "OPTIONS"),
    ] {
        let mut script = Script::interleaved(public, "abc;timeout=30");
        for _ in 0..3 {
            assert_eq!(script.pass(), Duration::from_secs(15));
            let request = script.ok(method, "");
            assert_eq!(header(&request, "Session"), Some("abc"));
        }
    }
}

#[test]
fn options_keep_a_session_where_get_parameter_does_not() {
    let mut script = Script::interleaved("GET_PARAMETER", "abc");
    script.pass();
    let request = script.expect("GET_PARAMETER");
    script.answer(&request, "501 Not Implemented", "", "");
    script.ok("OPTIONS", "");
    script.pass();
    script.ok("OPTIONS", "");

    let mut script = Script::interleaved("GET_PARAMETER", "abc");
    script.pass();
    script.expect("GET_PARAMETER");
    assert_eq!(script.pass(), Duration::from_secs(10));
    script.ok("OPTIONS", "");
    assert_eq!(script.event(), None);
}

#[test]
fn a_server_that_answers_nothing_more_is_alive_while_packets_come() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.pass();
    script.expect("OPTIONS");
    script.now += Duration::from_secs(1);
    script.packet();
    script.pass();
    assert_eq!(script.event(), None);
    script.pass();
    script.expect("OPTIONS");
    script.pass();
    assert_eq!(script.failure(), "OPTIONS was not answered within 10 s");
}

#[test]
fn a_session_that_the_server_forgot_fails() {
    let mut script = Script::interleaved("GET_PARAMETER", "abc");
    script.pass();
    let request = script.expect("GET_PARAMETER");
    script.answer(&request, "454 Session Not Found", "", "");
    assert_eq!(script.failure(), "the server knows the session no more");
}

#[test]
fn a_session_is_ended() {
    for answers in [true, false] {
        let mut script = Script::interleaved("OPTIONS", "abc");
        script.client.teardown(script.now);
        script.client.teardown(script.now);
        let request = script.expect("TEARDOWN");
        assert!(request.starts_with("TEARDOWN rtsp://camera/live/ RTSP/1.0"));
        script.nothing_sent();
        match answers {
            true => script.answer(&request, "200 OK", "", ""),
            false => assert_eq!(script.pass(), Duration::from_secs(1)),
        }
        assert_eq!(script.event(), Some(Event::Ended));
        assert_eq!(script.client.next_deadline(), None);
        script.client.closed();
        assert_eq!(script.event(), None);
    }
}

#[test]
fn a_session_ends_without_the_servers_leave() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.client.teardown(script.now);
    let request = script.expect("TEARDOWN");
    script.answer(&request, "401 Unauthorized", "", "");
    assert_eq!(script.event(), Some(Event::Ended));
}

#[test]
fn a_closed_connection_is_named() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.client.closed();
    assert_eq!(script.failure(), "the server closed the connection");

    let mut script = Script::interleaved("OPTIONS", "abc");
    script.client.teardown(script.now);
    script.client.closed();
    assert_eq!(script.event(), Some(Event::Ended));
}

#[test]
fn what_the_server_asks_is_answered() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.receive(
        b"OPTIONS * RTSP/1.0\r\nCSeq: 41\r\n\r\nANNOUNCE rtsp://h/ RTSP/1.0\r\nCSeq: 42\r\n\r\n",
    );
    let answer = script.client.take_output();
    let answer = std::str::from_utf8(&answer).unwrap();
    let (options, announce) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        options.starts_with("RTSP/1.0 200 OK\r\nCSeq: 41\r\n"),
        "{options}"
    );
    assert_eq!(header(options, "Session"), Some("abc"));
    assert!(header(options, "Public").unwrap().contains("REDIRECT"));
    assert!(
        announce.starts_with("RTSP/1.0 501 Not Implemented\r\nCSeq: 42\r\n"),
        "{announce}"
    );
    script.packet();
}

#[test]
fn a_server_can_send_a_session_elsewhere() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.receive(
        b"REDIRECT rtsp://camera/live RTSP/1.0\r\nCSeq: 3\r\nLocation: rtsp://other/\r\n\r\n",
    );
    let url = Url::parse("rtsp://other/").unwrap();
    assert_eq!(script.event(), Some(Event::Redirect { url }));
    assert!(script.client.take_output().starts_with(b"RTSP/1.0 200 OK"));
    script.packet();

    script.receive(b"REDIRECT rtsp://camera/live RTSP/1.0\r\nCSeq: 4\r\n\r\n");
    let url = Url::parse("rtsp://camera/live").unwrap();
    assert_eq!(script.event(), Some(Event::Redirect { url }));
}

#[test]
fn a_server_can_end_a_session() {
    let mut script = Script::interleaved("OPTIONS", "abc");
    script.receive(b"TEARDOWN rtsp://camera/live RTSP/1.0\r\nCSeq: 3\r\n\r\n");
    assert_eq!(script.event(), Some(Event::Ended));
    assert!(script.client.take_output().starts_with(b"RTSP/1.0 200 OK"));
}
