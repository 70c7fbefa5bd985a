//! Servers that mean harm, or nothing at all.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::gateway::{ask, gateway};
use super::script::{DESCRIPTION, Origin, answer, frame, packet, plays};

const LOOPBACK: &[&str] = &["127.0.0.1"];

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    gateway(LOOPBACK, |address| {
        let begun = Instant::now();
        let response = ask(
            address,
            &format!("/rtsp/{}/stream", silent.local_addr().unwrap()),
        );
        assert_eq!(response.status, 504);
        assert!(
            response
                .text()
                .ends_with("OPTIONS was not answered within 10 s\n")
        );
        assert!(begun.elapsed() < Duration::from_secs(12));
    });
}

#[test]
fn descriptions_that_cannot_be_used_are_named() {
    let large = format!("{DESCRIPTION}{}", "a=x\r\n".repeat(20_000));
    let cases = [
        (large, "bytes, and 65536 are allowed"),
        (
            "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 VP9/90000\r\n".to_owned(),
            "nothing that can be carried, but RTP/AVP VP9",
        ),
        ("nonsense".to_owned(), "the description is malformed"),
    ];
    for (description, expected) in cases {
        let origin = Origin::start(
            move |method, number| match method {
                "DESCRIBE" => answer("200 OK", number, "", &description),
                _ => plays(method, number),
            },
            |_| Vec::new(),
        );
        gateway(LOOPBACK, |address| {
            let response = ask(address, &format!("/rtsp/{}/stream", origin.address));
            assert_eq!(response.status, 502);
            let text = response.text();
            assert!(text.contains(expected), "{text}");
        });
    }
}

#[test]
fn packets_of_another_sender_are_left_out() {
    let origin = Origin::playing(|times| {
        let mut both = frame(0, &packet(7, times, 0x100));
        // Never two of them in a row.
        both.extend(frame(0, &packet(8, times.wrapping_mul(3), 0x1ff)));
        both.extend(frame(0, b"no packet of RTP at all"));
        both
    });
    gateway(LOOPBACK, |address| {
        let client = ask(address, &format!("/rtsp/{}/stream", origin.address));
        let got = client.for_some(Duration::from_millis(1000));
        assert!(got.len() > 20 * 188, "{}", got.len());
        assert!(
            got.chunks_exact(188)
                .all(|packet| packet[1..3] == [0x41, 0x00])
        );
    });
}

#[test]
fn what_is_no_rtsp_ends_the_session() {
    let origin = Origin::start(
        |_, _| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        |_| Vec::new(),
    );
    gateway(LOOPBACK, |address| {
        let response = ask(address, &format!("/rtsp/{}/stream", origin.address));
        assert_eq!(response.status, 502);
        assert!(response.text().ends_with("what came is not RTSP/1.0\n"));
        let response = ask(address, "/rtsp/127.0.0.1:x/stream");
        assert_eq!(response.status, 400);
    });
}
