//! How sessions at origins begin, go on and end.

use std::thread;
use std::time::{Duration, Instant};

use super::gateway::{ask, gateway};
use super::script::{Origin, answer, frame, packet};

const LOOPBACK: &[&str] = &["127.0.0.1"];

#[test]
fn a_session_serves_all_clients_is_kept_reported_to_and_torn_down() {
    let origin = Origin::playing(|times| frame(0, &packet(7, times, 0x100)));
    gateway(LOOPBACK, |address| {
        let target = format!("/rtsp/{}/stream?channel=1", origin.address);
        let clients: Vec<_> = (0..5).map(|_| ask(address, &target)).collect();
        for client in clients {
            let got = client.for_some(Duration::from_millis(1200));
            assert!(got.len() > 20 * 188, "{}", got.len());
            assert!(got.chunks(188).all(|packet| packet[0] == 0x47));
        }
        // The server wants a request every 2 seconds.
        origin.wait_for("GET_PARAMETER");
        // A receiver report, once with a block: version 2, one block.
        origin.wait_for("$81c9");
        origin.wait_for("TEARDOWN");
    });
    let requests = origin.requests();
    let count = |method: &str| {
        requests
            .iter()
            .filter(|request| request.starts_with(method))
            .count()
    };
    assert_eq!(
        (count("DESCRIBE"), count("PLAY"), count("TEARDOWN")),
        (1, 1, 1)
    );
    let describe = requests
        .iter()
        .find(|request| request.starts_with("DESCRIBE"))
        .unwrap();
    let first = format!(
        "DESCRIBE rtsp://{}/stream?channel=1 RTSP/1.0",
        origin.address
    );
    assert_eq!(describe.lines().next(), Some(first.as_str()));
}

#[test]
fn a_gateway_that_ends_says_so_to_the_origin() {
    let origin = Origin::playing(|times| frame(0, &packet(7, times, 0x100)));
    gateway(LOOPBACK, |address| {
        let client = ask(address, &format!("/rtsp/{}/stream", origin.address));
        assert!(!client.for_some(Duration::from_millis(200)).is_empty());
    });
    origin.wait_for("TEARDOWN");
}

#[test]
fn redirects_are_followed_where_they_may_lead() {
    let origin = Origin::playing(|times| frame(0, &packet(7, times, 0x100)));
    let elsewhere = format!("Location: rtsp://{}/moved\r\n", origin.address);
    let moves = Origin::start(
        move |_, number| answer("302 Found", number, &elsewhere, ""),
        |_| Vec::new(),
    );
    let inward = Origin::start(
        |_, number| answer("302 Found", number, "Location: rtsp://10.1.2.3/\r\n", ""),
        |_| Vec::new(),
    );
    gateway(LOOPBACK, |address| {
        let client = ask(address, &format!("/rtsp/{}/stream", moves.address));
        assert_eq!(client.status, 200);
        assert!(!client.for_some(Duration::from_millis(200)).is_empty());
        let refused = ask(address, &format!("/rtsp/{}/stream", inward.address));
        assert_eq!(refused.status, 403);
        let text = refused.text();
        assert!(text.contains("the server leads to another host"), "{text}");
        assert!(!text.contains("10.1.2.3"), "{text}");
        // A host that sends to itself is not followed for ever.
        let itself = Origin::start(
            |_, number| answer("302 Found", number, "Location: rtsp://localhost:1/\r\n", ""),
            |_| Vec::new(),
        );
        let refused = ask(address, &format!("/rtsp/{}/stream", itself.address));
        assert_eq!(refused.status, 502);
    });
    origin.wait_for(&format!(
        "DESCRIBE rtsp://{}/moved RTSP/1.0",
        origin.address
    ));
}

#[test]
fn a_session_ends_with_the_goodbye_of_its_sender() {
    let origin = Origin::playing(|times| match times {
        0..50 => frame(0, &packet(7, times, 0x100)),
        50 => frame(
            1,
            &[0x80, 201, 0, 1, 0, 0, 0, 7, 0x81, 203, 0, 1, 0, 0, 0, 7],
        ),
        _ => Vec::new(),
    });
    gateway(LOOPBACK, |address| {
        let begun = Instant::now();
        let client = ask(address, &format!("/rtsp/{}/stream", origin.address));
        assert_eq!(client.rest().len(), 50 * 188);
        assert!(begun.elapsed() < Duration::from_secs(5));
        // The last chunk says that it was all.
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request = format!(
            "GET /rtsp/{}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
            origin.address
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut all).unwrap();
        assert!(all.ends_with(b"\r\n0\r\n\r\n"));
    });
    origin.wait_for("TEARDOWN");
}

#[test]
fn a_client_that_is_late_gets_the_rest_of_a_stream_that_ends() {
    let origin = Origin::playing(|times| match times {
        // The response begins first.
        10..30 => (0..400)
            .flat_map(|number| frame(0, &packet(7, 400 * (times - 10) + number, 0x100)))
            .collect(),
        30 => frame(1, &[0x81, 203, 0, 1, 0, 0, 0, 7]),
        _ => Vec::new(),
    });
    gateway(LOOPBACK, |address| {
        let client = ask(address, &format!("/rtsp/{}/stream", origin.address));
        origin.wait_for("TEARDOWN");
        // The stream is over, and the kernel had not room for all of it.
        assert_eq!(client.rest().len(), 20 * 400 * 188);
    });
}

#[test]
fn names_are_resolved_and_what_they_stand_for_is_checked() {
    let origin = Origin::playing(|times| frame(0, &packet(7, times, 0x100)));
    let port = origin.address.port();
    gateway(LOOPBACK, |address| {
        let client = ask(address, &format!("/rtsp/localhost:{port}/stream"));
        assert_eq!(client.status, 200);
        let nowhere = ask(address, "/rtsp/nowhere.invalid/stream");
        assert_eq!(nowhere.status, 502);
    });
    gateway(&["10.0.0.0/8"], |address| {
        let client = ask(address, &format!("/rtsp/localhost:{port}/stream"));
        assert_eq!(client.status, 403);
        let text = client.text();
        assert!(text.contains("localhost: it is not public"), "{text}");
        // What the name stands for is no business of clients.
        assert!(
            !text.contains("127.0.0.1") && !text.contains("::1"),
            "{text}"
        );
    });
}

#[test]
fn a_client_that_comes_again_finds_the_session() {
    let origin = Origin::playing(|times| frame(0, &packet(7, times, 0x100)));
    gateway(LOOPBACK, |address| {
        let begun = Instant::now();
        for _ in 0..3 {
            let client = ask(address, &format!("/rtsp/{}/stream", origin.address));
            let mut client = client.ok();
            assert!(!client.some().is_empty());
            drop(client);
            // It is gone, and the session stays a while.
            loop {
                let status = ask(address, "/status?format=json").text();
                let status: serde_json::Value = serde_json::from_str(&status).unwrap();
                if status["sources"][0]["clients"] == 0 {
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(60), "{status}");
                thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let requests = origin.requests();
    assert_eq!(
        requests
            .iter()
            .filter(|request| request.starts_with("DESCRIBE"))
            .count(),
        1
    );
}
