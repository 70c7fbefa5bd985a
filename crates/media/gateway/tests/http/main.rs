//! HTTP as clients expect it: connections that go on, what is refused and how, clients that are slow or say too much.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/gateway.rs"]
mod common;
mod connections;
mod engines;
mod page;
mod refused;
mod status;
mod streaming;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use evener_gateway::session::config::Config;

use common::serve_until as gateway;

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    let limit = Some(Duration::from_secs(60));
    stream.set_read_timeout(limit).unwrap();
    stream
}

/// All that a server says until it closes the connection, without an error.
fn until_end(mut stream: &TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// What the server says to a request, until it closes the connection.
fn told(to: SocketAddr, request: &str) -> String {
    let stream = connect(to);
    (&stream).write_all(request.as_bytes()).unwrap();
    until_end(&stream)
}

/// The head of the next response.
fn head(mut stream: &TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().skip(1).take_while(|line| !line.is_empty());
    let mut pairs = lines.filter_map(|line| line.split_once(": "));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Waits until so many clients wait for streams to begin.
fn wait_for(to: SocketAddr, clients: u64) {
    let begun = std::time::Instant::now();
    loop {
        let text = told(to, "GET /status HTTP/1.0\r\n\r\n");
        let status: serde_json::Value =
            serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let sources = status["sources"].as_array().unwrap().iter();
        let waiting = sources.map(|source| source["waiting"].as_u64().unwrap());
        if waiting.sum::<u64>() == clients {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{status}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The body of the next response after its head, by its length.
fn body(mut stream: &TcpStream, head: &str) -> String {
    let len = header(head, "Content-Length").unwrap().parse().unwrap();
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// An address that nothing comes to yet.
fn free_port() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

/// A datagram of seven packets of a transport stream, the first of them `number` by its counter.
fn datagram(number: usize) -> Vec<u8> {
    let packet = |at: usize| {
        let mut packet = vec![0x47, 0x41, 0x00, 0x10 | (number + at) as u8 & 15];
        packet.resize(188, (number + at) as u8);
        packet
    };
    (0..7).flat_map(packet).collect()
}
