//! Several engines: a source is in one of them, and its clients find it there.

use std::num::NonZeroUsize;

use evener_gateway::session::config::Engines;

use super::*;

fn several(count: usize) -> Config {
    Config {
        engines: Engines::Count(NonZeroUsize::new(count).unwrap()),
        ..Config::default()
    }
}

fn status(to: SocketAddr) -> serde_json::Value {
    let text = told(to, "GET /status HTTP/1.0\r\n\r\n");
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn clients_of_a_source_share_it_wherever_they_come_to() {
    let served = gateway(several(3), |to, _| {
        let sources: Vec<SocketAddr> = (0..6).map(|_| free_port()).collect();
        let mut clients = Vec::new();
        for round in 0..4 {
            for &source in &sources {
                let stream = connect(to);
                // Something that is answered before, and stays in order.
                let before = "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(round);
                let request = format!("{before}GET /udp/{source} HTTP/1.0\r\n\r\n");
                (&stream).write_all(request.as_bytes()).unwrap();
                for _ in 0..round {
                    body(&stream, &head(&stream));
                }
                clients.push((source, stream));
            }
        }
        wait_for(to, 24);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for &source in &sources {
            socket.send_to(&datagram(0), source).unwrap();
        }
        for (_, stream) in &clients {
            assert!(head(stream).contains("video/mp2t"));
        }
        let seen = status(to);
        let list = |name: &str| seen[name].as_array().unwrap().clone();
        assert_eq!((list("engines").len(), list("sources").len()), (3, 6));
        assert_eq!(list("clients").len(), clients.len());
        for source in list("sources") {
            assert_eq!(source["clients"], 4, "{source}");
        }
        // Each engine has its share of what is new.
        for engine in list("engines") {
            assert_eq!(
                (&engine["sources"], &engine["watching"]),
                (&2.into(), &8.into()),
                "{engine}"
            );
        }
        for number in 0..50 {
            for &source in sources.iter().filter(|_| number > 0) {
                socket.send_to(&datagram(7 * number), source).unwrap();
            }
            for (_, stream) in &clients {
                let mut bytes = [0; 7 * 188];
                (&mut &*stream).read_exact(&mut bytes).unwrap();
                assert!(bytes[..] == datagram(7 * number));
            }
        }
    });
    assert_eq!((served.engines, served.counts.streams), (3, 24));
}

#[test]
fn a_source_that_cannot_be_opened_is_refused_by_whichever_engine_was_to_open_it() {
    gateway(several(4), |to, _| {
        for _ in 0..8 {
            let text = told(to, "GET /udp/192.0.2.1:5000 HTTP/1.0\r\n\r\n");
            assert!(text.starts_with("HTTP/1.1 502 "), "{text}");
        }
        assert_eq!(status(to)["sources"].as_array().unwrap().len(), 0);
    });
}
