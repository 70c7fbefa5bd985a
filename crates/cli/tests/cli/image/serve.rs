//! `evener image serve`

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::folder;
use crate::run::{Folder, status_of};
use crate::signals::{is_ignored, send};

/// A server that listens.
pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it said first.
    pub line: String,
}

impl Server {
    pub fn start(folder: &Folder, line: &str) -> Server {
        Server::of(folder.evener(line.split_whitespace()))
    }

    /// A server that a command starts.
    pub fn of(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        Server {
            child,
            stderr,
            line,
        }
    }

    /// Its exit status, and what else it said.
    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        send(&self.child, signal);
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (status_of(self.child.wait().unwrap()), said)
    }

    /// What it said after `name` in its first line.
    #[track_caller]
    fn place(&self, name: &str) -> &str {
        let place = self.line.split(name).nth(1);
        let place = place.unwrap_or_else(|| panic!("no '{name}' in {}", self.line));
        place.split(';').next().unwrap()
    }
}

impl Drop for Server {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that begins in the oldest way, and the size it is told.
pub fn client(folder: &Folder) -> (UnixStream, u64) {
    let mut stream = UnixStream::connect(folder.path("socket")).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream
        .write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0")
        .unwrap();
    let mut export = [0; 10];
    stream.read_exact(&mut export).unwrap();
    (stream, u64::from_be_bytes(*export.first_chunk().unwrap()))
}

/// Bytes of the image, or an error number.
pub fn read(stream: &mut UnixStream, at: u64, len: u32) -> Result<Vec<u8>, u32> {
    let mut request = b"\x25\x60\x95\x13\0\0\0\0cookies!".to_vec();
    request.extend(at.to_be_bytes());
    request.extend(len.to_be_bytes());
    stream.write_all(&request).unwrap();
    let mut head = [0; 16];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(
        (&head[..4], &head[8..]),
        (&b"\x67\x44\x66\x98"[..], &b"cookies!"[..])
    );
    match u32::from_be_bytes(head[4..8].try_into().unwrap()) {
        0 => {
            let mut bytes = vec![0; len as usize];
            stream.read_exact(&mut bytes).unwrap();
            Ok(bytes)
        }
        error => Err(error),
    }
}

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    let folder = folder();
    for (line, parts) in [
        (
            "disk.img --nbd nowhere",
            &["unix:PATH or tcp:HOST:PORT"][..],
        ),
        ("disk.img --nbd unix:", &["unix:PATH or tcp:HOST:PORT"]),
        ("disk.img --nbd tcp:localhost", &["a host and a port"]),
        ("disk.img --nbd tcp:localhost:99999", &["a host and a port"]),
        (
            "disk.img --nbd unix:s --metrics 9100",
            &["a host and a port"],
        ),
        ("disk.img --nbd unix:s --cache much", &["a number of bytes"]),
        (
            "disk.img --nbd unix:s --readahead some",
            &["a number of bytes"],
        ),
        ("disk.img --nbd unix:s --workers 0", &["--workers"]),
        ("disk.img", &["--nbd"]),
    ] {
        folder.line(&format!("image serve {line}")).failed(2, parts);
    }
    folder.file("short.zst", b"\x28\xb5\x2f\xfd");
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap();
    let _listener = UnixListener::bind(folder.path("taken")).unwrap();
    for (line, parts) in [
        ("missing.img --nbd unix:s".to_owned(), &["missing.img"][..]),
        ("short.zst --nbd unix:s".to_owned(), &["short.zst"]),
        (
            "disk.img --nbd unix:taken".to_owned(),
            &["unix:taken", "a server listens there"],
        ),
        (
            "disk.img --nbd unix:disk.img".to_owned(),
            &["unix:disk.img", "not a socket"],
        ),
        (
            "disk.img --nbd unix:no/folder".to_owned(),
            &["unix:no/folder", "make the directory first"],
        ),
        (
            "disk.img --nbd tcp:no.such.host.invalid:9".to_owned(),
            &["no.such.host.invalid"],
        ),
    ] {
        folder.line(&format!("image serve {line}")).failed(1, parts);
    }
    let line = format!("image serve disk.img --nbd tcp:{taken}");
    folder.line(&line).failed(1, &["cannot listen on"]);
    // Where one address is refused, nothing is left of the other.
    let line = format!("image serve disk.img --nbd unix:s --metrics {taken}");
    folder.line(&line).failed(1, &["cannot listen on"]);
    assert!(!folder.path("s").exists());
    assert!(folder.path("disk.img").exists());
}

#[test]
fn a_signal_ends_it_and_takes_the_socket_away() {
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    let plain = super::content(&folder, "disk.img");
    // SIGTERM is how those who started a server end it, and no failure.
    for (signal, status) in [(Signal::INT, 130), (Signal::HUP, 129), (Signal::TERM, 0)] {
        if is_ignored(signal) {
            continue;
        }
        let server = Server::start(&folder, "image serve disk.zst --nbd unix:socket");
        assert!(server.line.starts_with("disk.zst: 3 MiB at unix:socket; "));
        assert!(server.line.contains("nbd+unix:///?socket=/"));
        let (mut stream, size) = client(&folder);
        assert_eq!(size, plain.len() as u64);
        assert_eq!(read(&mut stream, 4000, 9000).unwrap(), plain[4000..13_000]);
        // A client that stays is no reason to.
        let (ended, said) = server.end(signal);
        assert_eq!((ended, said.lines().count()), (Some(status), 1), "{said}");
        assert!(said.contains("1 client, 1 requests"), "{said}");
        assert!(!folder.path("socket").exists());
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    }
}

#[test]
fn a_bad_block_is_named_and_the_others_are_served() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let plain = super::content(&folder, "disk.img");
    for codec in ["zstd", "lz4"] {
        let line = format!("image pack disk.img disk-{codec} --codec {codec} --block 16K");
        folder.line(&line).succeeded();
        let name = format!("disk-{codec}");
        let mut bytes = fs::read(folder.path(&name)).unwrap();
        // In the first block.
        bytes[60] ^= 0x55;
        folder.file(&name, bytes);
        let server = Server::start(&folder, &format!("image serve {name} --nbd unix:socket"));
        let (mut stream, _) = client(&folder);
        assert_eq!(read(&mut stream, 512, 512), Err(5));
        assert_eq!(
            read(&mut stream, 16_384, 512).unwrap(),
            plain[16_384..16_896]
        );
        assert_eq!(
            read(&mut stream, 1 << 20, 512).unwrap(),
            plain[1 << 20..][..512]
        );
        let (_, said) = server.end(Signal::INT);
        let first = said.lines().next().unwrap();
        let start = format!("evener: warning: {name}: ");
        assert!(
            first.starts_with(&start) && first.contains("block"),
            "{said}"
        );
        assert!(first.contains(" 0"), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}

#[test]
fn the_plans_that_were_found_are_explained() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    let pack = "image pack disk.img disk.zst --block 16K";
    folder.line(pack).succeeded();
    let serve = "image serve disk.zst --nbd unix:socket --cache 0 --explain";
    let round = |more: &str| {
        let server = Server::start(&folder, &format!("{serve} {more}"));
        let (mut stream, _) = client(&folder);
        for _ in 0..100 {
            read(&mut stream, 1000, 60_000).unwrap();
        }
        let (_, said) = server.end(Signal::INT);
        said
    };
    let said = round("");
    assert!(
        said.contains("blocks at once: 4 to 7: 100 rounds, "),
        "{said}"
    );
    assert!(said.contains("\n  start: sequential "), "{said}");
    assert!(said.contains("\nread ahead: "), "{said}");
    let said = round("--plan sequential/mailbox/2");
    assert!(said.contains("mailbox \u{b7} grain 2"), "{said}");
    let line = format!("{serve} --plan farm");
    folder.line(&line).failed(2, &["farm", "sequential"]);
}

#[test]
fn metrics_are_told_over_http() {
    if is_ignored(Signal::INT) {
        return;
    }
    let folder = folder();
    folder.line("image pack disk.img disk.zst").succeeded();
    let line = "image serve disk.zst --nbd tcp:127.0.0.1:0 --metrics 127.0.0.1:0 --host disks.example --readahead off";
    let server = Server::start(&folder, line);
    let get_of = |host: &str, path: &str| {
        let mut http = TcpStream::connect(server.place("metrics at tcp:")).unwrap();
        write!(http, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut page = String::new();
        http.read_to_string(&mut page).unwrap();
        page
    };
    let get = |path: &str| get_of("disks.example", path);
    let place = server.place(" at tcp:").to_owned();
    let mut stream = TcpStream::connect(place).unwrap();
    stream
        .write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0")
        .unwrap();
    stream
        .write_all(b"\x25\x60\x95\x13\0\0\0\0cookies!\0\0\0\0\0\0\0\0\0\0\0\x01")
        .unwrap();
    stream.read_exact(&mut [0; 18 + 10 + 16 + 1]).unwrap();
    // The reply is here before it is counted.
    let begin = Instant::now();
    let mut page = get("/metrics");
    while !page.contains("request_seconds_count 1") && begin.elapsed() < Duration::from_secs(60) {
        page = get("/metrics");
    }
    assert!(page.starts_with("HTTP/1.0 200 OK\r\n"), "{page}");
    for line in [
        "evener_nbd_requests_total{command=\"read\"} 1",
        "evener_nbd_connections 1",
        "evener_nbd_cache_misses_total 1",
        "evener_nbd_cache_hits_total 0",
        "evener_nbd_request_seconds_count 1",
        "# TYPE evener_nbd_request_seconds histogram",
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "no {line} in\n{page}"
        );
    }
    assert!(get("/other").starts_with("HTTP/1.0 404 "));
    let page = get_of("rebound.example", "/metrics");
    assert!(page.starts_with("HTTP/1.0 421 "), "{page}");
    assert!(page.contains("--host rebound.example"), "{page}");
    let (status, said) = server.end(Signal::INT);
    assert_eq!(status, Some(130));
    assert!(said.contains("1 requests"), "{said}");
}
