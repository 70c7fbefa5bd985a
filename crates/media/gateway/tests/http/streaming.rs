//! Streams in chunks of HTTP/1.1, which a client of others takes apart.

use std::process::{Command, Stdio};

use super::*;

#[test]
fn curl_takes_chunks_apart_and_sees_that_the_last_one_is_missing() {
    gateway(Config::default(), |to, cancel| {
        let source = free_port();
        let url = format!("http://{to}/udp/{source}?format=ts&unknown=1");
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--no-buffer", "--http1.1", &url]);
        let spawned = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut curl) = spawned else {
            evener_testing::skip("the program curl is not installed");
            return;
        };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // What comes before the source is open is lost.
        wait_for(to, 1);
        let sent: Vec<u8> = (0..500).flat_map(|number| datagram(7 * number)).collect();
        for datagram in sent.chunks(7 * 188) {
            socket.send_to(datagram, source).unwrap();
            thread::sleep(Duration::from_micros(500));
        }
        let mut got = vec![0; sent.len()];
        curl.stdout.as_mut().unwrap().read_exact(&mut got).unwrap();
        assert!(got == sent, "the bytes differ");
        cancel.cancel();
        // Nothing has said that the stream is over: a body without its last chunk is an error of curl (18).
        let ended = curl.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(18), "{said}");
    });
}

#[test]
fn a_source_that_does_not_begin_is_refused_and_the_line_says_what_came() {
    gateway(Config::default(), |to, _| {
        let ask = |source: SocketAddr| {
            let stream = connect(to);
            let request = format!("GET /udp/{source} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            (&stream).write_all(request.as_bytes()).unwrap();
            stream
        };
        let (quiet, other) = (free_port(), free_port());
        let clients = [ask(quiet), ask(other)];
        wait_for(to, 2);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"no transport stream", other).unwrap();
        let said = clients.map(|client| until_end(&client));
        for (text, why) in said.iter().zip([
            format!("udp {quiet}: nothing came within 10 s"),
            format!("udp {other}: no transport stream came within 10 s"),
        ]) {
            assert!(text.starts_with("HTTP/1.1 504 "), "{text}");
            assert!(text.contains(&why), "{text}");
        }
    });
}
