//! Connections that go on, end, or do nothing.

use super::*;

const STATUS: &str = "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn a_connection_takes_one_request_after_the_other() {
    gateway(Config::default(), |to, _| {
        let stream = connect(to);
        for _ in 0..3 {
            (&stream).write_all(STATUS.as_bytes()).unwrap();
            let head = head(&stream);
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert_eq!(header(&head, "Connection"), Some("keep-alive"));
            assert_eq!(header(&head, "Cache-Control"), Some("no-store"));
            assert!(header(&head, "Server").unwrap().starts_with("evener/"));
            let date = header(&head, "Date").unwrap();
            assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
            assert_eq!(header(&head, "Access-Control-Allow-Origin"), None);
            body(&stream, &head);
        }
        // HEAD says how long the body would be, and has none; what follows it is answered.
        let both = format!("HEAD /status HTTP/1.1\r\nHost: localhost\r\n\r\n{STATUS}");
        (&stream).write_all(both.as_bytes()).unwrap();
        assert!(header(&head(&stream), "Content-Length").is_some());
        let second = head(&stream);
        assert!(second.starts_with("HTTP/1.1 200 OK\r\n"), "{second}");
        body(&stream, &second);
        // Byte by byte.
        for byte in STATUS.bytes() {
            (&stream).write_all(&[byte]).unwrap();
        }
        body(&stream, &head(&stream));
        let last = STATUS.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        (&stream).write_all(last.as_bytes()).unwrap();
        assert!(until_end(&stream).contains("Connection: close\r\n"));
    });
}

#[test]
fn a_request_that_comes_with_the_end_is_answered() {
    gateway(Config::default(), |to, cancel| {
        let stream = connect(to);
        (&stream).write_all(STATUS.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(until_end(&stream).starts_with("HTTP/1.1 200 OK\r\n"));
        // A stream goes to a client that says nothing more, too.
        let (source, stream) = (free_port(), connect(to));
        let request = format!("GET /udp/{source} HTTP/1.0\r\n\r\n");
        (&stream).write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        wait_for(to, 1);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in 0..20 {
            socket.send_to(&datagram(7 * number), source).unwrap();
            if number == 0 {
                head(&stream);
            }
            let mut bytes = [0; 7 * 188];
            (&stream).read_exact(&mut bytes).unwrap();
            assert!(bytes[..] == datagram(7 * number));
        }
        cancel.cancel();
        assert_eq!(until_end(&stream), "");
    });
}

#[test]
fn pages_of_other_sites_may_read_only_if_they_are_allowed() {
    let config = Config {
        cross_origin: true,
        ..Config::default()
    };
    gateway(config, |to, _| {
        for target in ["/status", "/nothing"] {
            let request = format!("GET {target} HTTP/1.0\r\n\r\n");
            let text = told(to, &request);
            assert_eq!(header(&text, "Access-Control-Allow-Origin"), Some("*"));
        }
    });
}

/// Connections that say nothing. The large number: `EVENER_IDLE=10000 cargo test -p evener-gateway --test http idle`.
#[test]
fn idle_connections_keep_nobody_from_being_served() {
    let count: usize = std::env::var("EVENER_IDLE").map_or(300, |text| text.parse().unwrap());
    evener_sockets::raise_file_limit();
    gateway(Config::default(), |to, _| {
        let idle: Vec<TcpStream> = (0..count).map(|_| connect(to)).collect();
        let text = told(to, "GET /status HTTP/1.0\r\n\r\n");
        assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
        // They are closed without a word.
        for stream in idle {
            assert_eq!(until_end(&stream), "");
        }
    });
}
