//! `evener gateway`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Stdio;

use rustix::process::Signal;

use crate::run::Folder;
use crate::signals::send;

#[test]
fn what_cannot_be_listened_at_is_said_in_a_line() {
    let folder = Folder::new();
    folder.line("gateway").failed(2, &["--listen"]);
    folder
        .line("gateway --listen 8080")
        .failed(2, &["8080", "tcp:"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    folder
        .line(&format!("gateway --listen tcp:{address}"))
        .failed(1, &[&format!("tcp:{address}: cannot listen there")]);
}

#[test]
fn a_stream_is_served_until_a_signal_ends_it() {
    let folder = Folder::new();
    let mut gateway = folder
        .evener(["gateway", "--listen", "tcp:127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.trim().rsplit("tcp:").next().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let free = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    write!(client, "GET /udp/{free} HTTP/1.0\r\n\r\n").unwrap();
    let mut packet = [0xff; 188];
    packet[..4].copy_from_slice(&[0x47, 0x41, 0x00, 0x10]);
    // What comes before the source is open is lost.
    while !asked(address, "/status").contains("\"waiting\": 1") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .send_to(&packet, free)
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let mut got = [0; 188];
    client.read_exact(&mut got).unwrap();
    assert_eq!(got, packet);
    drop(client);
    // There is no file to read again, which ends nothing.
    send(&gateway, Signal::HUP);
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("SIGHUP is ignored"), "{line}");
    send(&gateway, Signal::TERM);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("1 stream to clients in "), "{rest}");
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
}

/// The response to a request.
fn asked(address: &str, target: &str) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    write!(client, "GET {target} HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let folder = Folder::new();
    folder.file("gateway.toml", "listen = \"tcp:127.0.0.1:0\"\nengine = 2\n");
    let text = "gateway.toml:2:1: unknown key `engine`";
    folder
        .line("gateway --config gateway.toml")
        .failed(2, &[text, "`engines`"]);
    folder.file("gateway.toml", "engines = 2\n");
    folder
        .line("gateway --config gateway.toml")
        .failed(2, &["--listen", "listen"]);
    folder
        .line("gateway --config none.toml")
        .failed(2, &["none.toml"]);
    let listen = "gateway --listen tcp:127.0.0.1:0";
    for (option, text) in [
        ("--origin http://a/", "rtsp://"),
        ("--origin rtsp://a/ weight=0", "1 to 1000"),
        ("--origin weight=2", "rtsp://"),
        ("--origin rtsp://a/ weight=0", "--origin: weight=0"),
        ("--engines 0", "auto"),
        ("--engines 100000", "auto"),
        ("--allow 192.168.1", "192.168.1.0/24"),
        ("--allow 192.168.1.5/24", "192.168.1.0/24"),
        ("--metrics 9100", "127.0.0.1:9100"),
        ("--host a:80", "gateway.example"),
        ("--origin http://user:hidden@a/", "'http://a/'"),
        ("--allow a/b", "a/b"),
    ] {
        folder
            .line(&format!("{listen} {option}"))
            .failed(2, &[text]);
    }
}

#[test]
fn the_log_has_addresses_and_no_secrets() {
    let folder = Folder::new();
    let mut gateway = folder
        .evener(["gateway", "-v", "--listen", "tcp:127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening at tcp:") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0);
    }
    let address = line.trim().rsplit("tcp:").next().unwrap();
    let text = asked(address, "/rtsp/user:hidden@localhost:1/a?token=hidden");
    assert!(text.starts_with("HTTP/1.1 403 "), "{text}");
    asked(address, "/rtsp/user:hidden@a:x/a?token=hidden");
    send(&gateway, Signal::TERM);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("is a loopback address"), "{rest}");
    assert!(rest.contains("rtsp://localhost:1/a?token=***"), "{rest}");
    assert!(!rest.contains("hidden"), "{rest}");
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
}

#[test]
fn what_was_served_is_written_as_json_and_explained() {
    let folder = Folder::new();
    folder.file(
        "gateway.toml",
        "listen = \"tcp:127.0.0.1:0\"\nengines = 3\n[origin.one]\nurl = \"rtsp://one.example/\"\n[pool.all]\norigins = [\"one\"]\n",
    );
    let mut gateway = folder
        .evener([
            "gateway",
            "--config",
            "gateway.toml",
            "--engines",
            "2",
            "--metrics",
            "127.0.0.1:0",
        ])
        .args([
            "--origin",
            "rtsp://two.example/live",
            "weight=3",
            "--status",
            "--explain",
            "--json",
            "served.json",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let (address, metrics) = line.trim().split_once("; metrics at tcp:").unwrap();
    let address = address.strip_prefix("listening at tcp:").unwrap();
    let get = |address: &str, path: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        write!(client, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    };
    let status = get(address, "/status");
    for part in [
        "rtsp://one.example/",
        "rtsp://two.example/live",
        "\"weight\": 3.0",
    ] {
        assert!(status.contains(part), "{status}");
    }
    assert!(get(metrics, "/metrics").contains("\nevener_gateway_engines 2\n"));
    // A line a second, among warnings of origins that cannot be reached.
    while !line.starts_with("0 clients from 0 sources, ") {
        line.clear();
        assert!(
            said.read_line(&mut line).unwrap() > 0,
            "there is no such line"
        );
    }
    send(&gateway, Signal::TERM);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("2 engines, as asked for\n"), "{rest}");
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path("served.json")).unwrap())
            .unwrap();
    assert_eq!(
        (&json["engines"], &json["requests"]),
        (&2.into(), &1.into()),
        "{json}"
    );
}

#[test]
fn origins_are_read_again_on_a_hangup() {
    let folder = Folder::new();
    let write = |more: &str| {
        let text = format!(
            "listen = \"tcp:127.0.0.1:0\"\n[origin.one]\nurl = \"rtsp://127.0.0.1:9/live\"\n{more}\n[pool.all]\norigins = [\"one\"]\n"
        );
        folder.file("gateway.toml", &text);
    };
    write("");
    let mut gateway = folder
        .evener(["gateway", "--config", "gateway.toml"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gateway.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.trim().rsplit("tcp:").next().unwrap().to_owned();
    let is_said = |part: &str| {
        let mut client = TcpStream::connect(&address).unwrap();
        write!(client, "GET /status HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text.contains(part)
    };
    assert!(is_said("\"drains\": false"));
    write("drain = true");
    send(&gateway, Signal::HUP);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_said("\"drains\": true") {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The next line with this in it; the origin, which is not there, has lines of its own.
    let mut next_with = |part: &str| {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "{part}");
        }
        line
    };
    next_with("gateway.toml is read again: 1 origin");
    // A file that is wrong changes nothing.
    write("drain = 7");
    send(&gateway, Signal::HUP);
    let line = next_with("gateway.toml:4:9: ");
    assert!(line.contains("the old set-up stays"), "{line}");
    assert!(is_said("\"drains\": true"));
    send(&gateway, Signal::TERM);
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
}
