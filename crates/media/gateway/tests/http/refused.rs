//! What is refused, each with a line that says why.

use std::time::Instant;

use super::*;

#[test]
fn each_status_has_a_line_of_text() {
    let long = "a".repeat(9000);
    let many = "A: b\r\n".repeat(200);
    gateway(Config::default(), |to, _| {
        for (request, status, part) in [
            (
                "GET /%G0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "400 Bad Request",
                "percent-encoded",
            ),
            ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "without Host"),
            (
                "GET /rtp/5000 HTTP/1.0\r\n\r\n",
                "400 Bad Request",
                "5000: not ADDRESS:PORT",
            ),
            (
                "GET /rtp/127.0.0.1:0 HTTP/1.0\r\n\r\n",
                "400 Bad Request",
                "the port is 1 to 65535",
            ),
            (
                "GET /rtsp/rtsp://camera.example/one HTTP/1.0\r\n\r\n",
                "400 Bad Request",
                "leave out rtsp://",
            ),
            (
                "GET /rtsp/127.0.0.1:8554/one HTTP/1.0\r\n\r\n",
                "403 Forbidden",
                "--allow 127.0.0.1 lets",
            ),
            (
                "GET /udp/192.0.2.1:5000 HTTP/1.0\r\n\r\n",
                "502 Bad Gateway",
                "192.0.2.1:5000: not an address of this machine, nor a group",
            ),
            (
                "GET /rtp/127.0.0.1:5000?format=avi HTTP/1.0\r\n\r\n",
                "400 Bad Request",
                "format=avi",
            ),
            (
                "GET /no%20where HTTP/1.0\r\n\r\n",
                "404 Not Found",
                "/no%20where: there is",
            ),
            (
                "PUT /status HTTP/1.0\r\n\r\n",
                "405 Method Not Allowed",
                "PUT",
            ),
            (
                &format!("GET /{long} HTTP/1.0\r\n\r\n"),
                "414 URI Too Long",
                "8000 bytes",
            ),
            (
                &format!("GET / HTTP/1.0\r\n{many}\r\n"),
                "431 Request Header Fields Too Large",
                "100 headers",
            ),
            ("BREW /tea HTTP/1.0\r\n\r\n", "501 Not Implemented", "BREW"),
            (
                "GET / HTTP/2.0\r\n\r\n",
                "505 HTTP Version Not Supported",
                "1.1",
            ),
        ] {
            let text = told(to, request);
            assert!(
                text.starts_with(&format!("HTTP/1.1 {status}\r\n")),
                "{text}"
            );
            assert_eq!(header(&text, "Connection"), Some("close"));
            let allowed = header(&text, "Allow");
            let has_method = status.starts_with("405") || status.starts_with("501");
            assert_eq!(allowed, has_method.then_some("GET, HEAD"), "{text}");
            let (_, line) = text.split_once("\r\n\r\n").unwrap();
            assert!(line.contains(part), "{text}");
            assert_eq!(line.find('\n'), Some(line.len() - 1), "{text}");
        }
    });
}

#[test]
fn names_of_other_hosts_and_pages_of_other_sites_are_refused() {
    let config = Config {
        hosts: vec!["gateway.example".parse().unwrap()],
        ..Config::default()
    };
    let ask = |to, headers: &str| {
        told(
            to,
            &format!("GET /status HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"),
        )
    };
    gateway(config.clone(), |to, _| {
        for host in [
            &to.to_string(),
            "localhost:8080",
            "Gateway.Example",
            "[::1]",
        ] {
            let text = ask(to, &format!("Host: {host}\r\n"));
            assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        }
        // A page whose name leads here says that name, and each path is refused.
        let text = ask(to, "Host: rebound.example:8080\r\n");
        assert!(
            text.starts_with("HTTP/1.1 421 Misdirected Request\r\n"),
            "{text}"
        );
        assert!(
            text.ends_with("--host rebound.example lets clients use it\n"),
            "{text}"
        );
        for path in ["/status/events", "/udp/239.1.1.1:5000", "/pool/a/b"] {
            let text = told(
                to,
                &format!("GET {path} HTTP/1.1\r\nHost: rebound.example\r\n\r\n"),
            );
            assert!(text.starts_with("HTTP/1.1 421 "), "{text}");
        }
        let origin = "Host: localhost\r\nOrigin: https://other.example\r\n";
        let text = ask(to, origin);
        assert!(text.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{text}");
        assert!(
            text.contains("other.example: a page of that site"),
            "{text}"
        );
        assert!(text.contains("--cross-origin"), "{text}");
        let embedded = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: video\r\n";
        assert!(ask(to, embedded).starts_with("HTTP/1.1 403 "));
    });
    let all = Config {
        cross_origin: true,
        ..config
    };
    gateway(all, |to, _| {
        let text = ask(to, "Host: localhost\r\nOrigin: https://other.example\r\n");
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        assert!(ask(to, "Host: rebound.example\r\n").starts_with("HTTP/1.1 421 "));
    });
}

#[test]
fn no_answer_repeats_a_secret() {
    gateway(Config::default(), |to, _| {
        for target in [
            "/rtsp/user:hidden@192.0.2.1:x/live?token=hidden",
            "/rtsp/rtsp://user:hidden@192.0.2.1/live",
            "/rtsp/user:hid/den@192.0.2.1/live",
            "/rtsp/user:hidden@127.0.0.1:8554/live?token=hidden",
            "/rtsps/user:hidden@192.0.2.1/live",
            "/udp/user:hidden@192.0.2.1:5000",
            "/pool/none?token=hidden",
            "/pool/none/a?token=hidden",
        ] {
            let text = told(to, &format!("GET {target} HTTP/1.0\r\n\r\n"));
            assert!(text.starts_with("HTTP/1.1 40"), "{text}");
            assert!(!text.contains("hid") && !text.contains("den@"), "{text}");
        }
    });
}

#[test]
fn a_head_without_end_is_refused_and_the_client_reads_why() {
    gateway(Config::default(), |to, _| {
        let stream = connect(to);
        (&stream).write_all(b"GET / HTTP/1.1\r\n").unwrap();
        // More than is read, so that an end of the connection at once would destroy the answer on its way.
        let flood = "Name: value\r\n".repeat(8_000);
        (&stream).write_all(flood.as_bytes()).unwrap();
        let text = until_end(&stream);
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    });
}

#[test]
fn a_client_that_takes_its_time_to_ask_is_told_so() {
    gateway(Config::default(), |to, _| {
        let begun = Instant::now();
        let slow = connect(to);
        let mut writer = slow.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                for byte in b"GET /status HTTP/1.1\r\nHost: a-host-with-a-long-name".iter() {
                    if writer.write_all(&[*byte]).is_err() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(250));
                }
            });
            let text = until_end(&slow);
            assert!(
                text.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
                "{text}"
            );
            assert!(text.ends_with("not whole after 10 seconds\n"), "{text}");
        });
        let time = begun.elapsed().as_secs();
        assert!((9..15).contains(&time), "{time}");
    });
}
