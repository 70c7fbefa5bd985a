//! Transport streams over loopback, in RTP and by themselves, to clients of HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use evener_gateway::session::Served;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/gateway.rs"]
mod common;

const PACKET: usize = 188;
const DATAGRAM: usize = 7 * PACKET;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a gateway while `clients` does its work, which gets its address.
fn gateway(clients: impl FnOnce(SocketAddr)) -> Served {
    common::gateway(&[], clients)
}

/// A transport stream of H.264 and AAC of some seconds, by ffmpeg. Noise makes it large.
fn stream(folder: &Path, seconds: u32, noise: u32) -> Vec<u8> {
    stream_with(folder, seconds, noise, 25)
}

/// With so many pictures from one key picture to the next.
fn stream_with(folder: &Path, seconds: u32, noise: u32, distance: u32) -> Vec<u8> {
    let path = folder.join("stream.ts");
    let video =
        format!("testsrc=size=352x288:rate=25:duration={seconds},noise=alls={noise}:allf=t");
    let sound = format!("sine=duration={seconds}");
    let status = Command::new("ffmpeg")
        .args([
            "-v", "error", "-f", "lavfi", "-i", &video, "-f", "lavfi", "-i", &sound,
        ])
        .args([
            "-c:v",
            "libx264",
            "-preset",
            "superfast",
            "-qp",
            "16",
            "-g",
            &distance.to_string(),
            "-bf",
            "2",
            "-pix_fmt",
            "yuv420p",
            "-c:a",
            "aac",
        ])
        .arg(&path)
        .status();
    assert!(status.unwrap().success());
    std::fs::read(path).unwrap()
}

/// Asks for `target`.
fn request(gateway: SocketAddr, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    write!(stream, "GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    stream
}

/// The head of a response.
fn head(mut stream: &TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// So many clients that wait for a stream nothing of which has come.
fn waiting<const N: usize>(gateway: SocketAddr, target: &str) -> [TcpStream; N] {
    let clients = std::array::from_fn(|_| request(gateway, target));
    until(|| all(gateway)["sources"][0]["waiting"] == N);
    clients
}

/// Waits until something is so.
fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "waited for too long");
        thread::sleep(Duration::from_millis(50));
    }
}

/// What a client gets until its source has been silent for so long that the response ends.
fn rest(mut client: &TcpStream) -> Vec<u8> {
    let mut got = Vec::new();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.read_to_end(&mut got).unwrap();
    got
}

/// How the gateway is doing.
fn all(gateway: SocketAddr) -> serde_json::Value {
    let mut stream = request(gateway, "/status");
    head(&stream);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Bytes of memory that this process has.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        << 10
}

fn free_port() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

/// Sends datagrams, evenly over `time`.
fn send(to: SocketAddr, datagrams: &[Vec<u8>], time: Duration) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let begun = Instant::now();
    for (number, datagram) in datagrams.iter().enumerate() {
        let due = begun + time * number as u32 / datagrams.len() as u32;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        socket.send_to(datagram, to).unwrap();
    }
}

fn in_rtp(number: usize, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x80, 33];
    datagram.extend((number as u16).wrapping_add(65_530).to_be_bytes());
    datagram.extend((number as u32 * 900).to_be_bytes());
    datagram.extend([1, 2, 3, 4]);
    datagram.extend(payload);
    datagram
}

/// Reads exactly so many bytes of a body without chunks.
fn read(mut stream: &TcpStream, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_comes_is_what_clients_get() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = stream(folder.path(), 3, 0);
    for rtp in [false, true] {
        let served = gateway(|gateway| {
            let to = free_port();
            let target = format!("/rtp/{to}");
            let clients: [_; 2] = waiting(gateway, &target);
            let mut datagrams: Vec<Vec<u8>> = bytes.chunks(DATAGRAM).map(<[u8]>::to_vec).collect();
            if rtp {
                let packets = datagrams.iter().enumerate();
                datagrams = packets
                    .map(|(number, bytes)| in_rtp(number, bytes))
                    .collect();
                for at in (10..datagrams.len() - 10).step_by(17) {
                    datagrams.swap(at, at + 2);
                    datagrams.insert(at + 5, datagrams[at + 4].clone());
                }
            }
            send(to, &datagrams, Duration::from_secs(1));
            for client in clients {
                let head = head(&client);
                assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
                assert!(head.contains("Content-Type: video/mp2t\r\n"), "{head}");
                assert!(read(&client, bytes.len()) == bytes, "the bytes differ");
            }
        });
        assert_eq!(
            served.to_string().split(" in ").next(),
            Some("2 streams to clients")
        );
    }
}

/// The pictures and the sound of a transport stream, and what ffmpeg says of it.
fn decoded(folder: &Path, bytes: &[u8]) -> (Vec<String>, String) {
    let path = folder.join("received.ts");
    std::fs::write(&path, bytes).unwrap();
    let output = Command::new("ffmpeg")
        .args(["-v", "warning", "-threads", "1", "-i"])
        .arg(&path)
        .args(["-map", "0:v", "-f", "framemd5", "-"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let hash = |line: &str| line.rsplit(',').next().unwrap().trim().to_owned();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    (
        lines.map(hash).collect(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_client_of_a_hundred_that_reads_nothing_for_a_while_loses_pictures_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = stream(folder.path(), 8, 60);
    let (all, _) = decoded(folder.path(), &bytes);
    gateway(|gateway| {
        let to = free_port();
        let target = format!("/udp/{to}");
        let [slow, clients @ ..] = waiting::<100>(gateway, &target);
        let before = memory();
        let datagrams: Vec<Vec<u8>> = bytes.chunks(DATAGRAM).map(<[u8]>::to_vec).collect();
        thread::scope(|scope| {
            scope.spawn(|| send(to, &datagrams, Duration::from_secs(8)));
            for client in &clients {
                let bytes = &bytes;
                scope.spawn(move || {
                    head(client);
                    for bytes in bytes.chunks(1 << 16) {
                        assert!(read(client, bytes.len()) == bytes, "the bytes differ");
                    }
                });
            }
            let peer = slow.local_addr().unwrap().to_string();
            let mut told = serde_json::Value::Null;
            until(|| {
                told = status(gateway, &peer);
                told["left_out"].as_u64() > Some(25)
                    && told["left_out_bytes"].as_u64() > Some(100_000)
            });
            assert!(
                (500..3000).contains(&told["late_ms"].as_u64().unwrap()),
                "{told}"
            );
            let other = status(gateway, &clients[0].local_addr().unwrap().to_string());
            assert_eq!(other["left_out"], 0, "{other}");
            // Three seconds of the stream are kept, and what the clients here read into.
            let more = memory().saturating_sub(before);
            assert!(more < 32 << 20, "{more} bytes");
            head(&slow);
            let got = rest(&slow);
            assert!(
                got.len() < bytes.len() && got.len().is_multiple_of(PACKET),
                "{} bytes",
                got.len()
            );
            let (pictures, said) = decoded(folder.path(), &got);
            assert!(
                pictures.len() > 40 && pictures.len() < all.len() - 25,
                "{}",
                pictures.len()
            );
            let kept = pictures.iter().filter(|hash| all.contains(hash)).count();
            // Those that are left are whole, and so is the rest of the stream.
            assert_eq!((kept, said.as_str()), (pictures.len(), ""));
        });
    });
}

/// What the gateway says of a client.
fn status(gateway: SocketAddr, peer: &str) -> serde_json::Value {
    let status = all(gateway);
    let mut clients = status["clients"].as_array().unwrap().iter();
    clients
        .find(|client| client["peer"] == peer)
        .unwrap()
        .clone()
}

#[test]
fn a_client_that_joins_long_after_a_key_picture_begins_with_tables_and_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = stream_with(folder.path(), 6, 0, 1000);
    gateway(|gateway| {
        let to = free_port();
        let target = format!("/udp/{to}");
        let [first] = waiting(gateway, &target);
        let datagrams: Vec<Vec<u8>> = bytes.chunks(DATAGRAM).map(<[u8]>::to_vec).collect();
        send(to, &datagrams, Duration::from_secs(3));
        head(&first);
        assert!(read(&first, bytes.len()) == bytes);
        // The only key picture is three seconds old.
        let late = request(gateway, &target);
        head(&late);
        let got = rest(&late);
        assert_eq!(
            (&got[..3], got[PACKET]),
            (&[0x47, 0x40, 0][..], 0x47),
            "the PAT is first"
        );
        let (pictures, said) = decoded(folder.path(), &got);
        let (all, _) = decoded(folder.path(), &bytes);
        assert!(pictures == all, "{} of {}", pictures.len(), all.len());
        assert_eq!(said, "");
    });
}

#[test]
fn the_first_client_begins_with_a_key_picture_that_decodes_too() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = stream(folder.path(), 4, 0);
    gateway(|gateway| {
        let to = free_port();
        let [first] = waiting(gateway, &format!("/udp/{to}"));
        // From the middle of the first second on; a key picture each second.
        let part = &bytes[bytes.len() / 8 / PACKET * PACKET..];
        let datagrams: Vec<Vec<u8>> = part.chunks(DATAGRAM).map(<[u8]>::to_vec).collect();
        send(to, &datagrams, Duration::from_secs(1));
        head(&first);
        let got = rest(&first);
        let (pictures, said) = decoded(folder.path(), &got);
        let (all, _) = decoded(folder.path(), &bytes);
        assert!(
            all.ends_with(&pictures),
            "{} of {}",
            pictures.len(),
            all.len()
        );
        assert!(pictures.len() >= 50, "{}", pictures.len());
        assert_eq!(said, "");
    });
}

#[test]
fn what_is_no_request_is_refused_in_one_line() {
    gateway(|gateway| {
        for (request, status, part) in [
            ("GET / HTTP/1.0\r\n\r\n", "404", "/rtp/ADDRESS:PORT"),
            (
                "GET /rtp/nowhere HTTP/1.0\r\n\r\n",
                "400",
                "nowhere: not ADDRESS:PORT",
            ),
            (
                "GET /rtp/192.0.2.1:5000 HTTP/1.0\r\n\r\n",
                "502",
                "192.0.2.1:5000",
            ),
            ("POST /rtp/127.0.0.1:5000 HTTP/1.1\r\n\r\n", "405", "POST"),
            ("nonsense\r\n\r\n", "400", ""),
            (
                "GET /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 27\r\n\r\nGET /status HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "400",
                "a body",
            ),
        ] {
            let mut stream = TcpStream::connect(gateway).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert!(text.contains(part), "{text}");
        }
    });
}

#[test]
fn requests_that_follow_one_another_are_all_answered_however_late_they_are_read() {
    gateway(|gateway| {
        let mut stream = TcpStream::connect(gateway).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let (count, last) = (
            3000,
            "GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        );
        let mut writer = stream.try_clone().unwrap();
        let asked = thread::spawn(move || {
            for _ in 1..count {
                writer
                    .write_all(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    .unwrap();
            }
            writer.write_all(last.as_bytes()).unwrap();
        });
        // All that there is room for is answered by then.
        let (mut before, requests) = (0, || all(gateway)["engines"][0]["requests"].as_u64());
        until(|| {
            // Asking is a request as well.
            let is_full = requests() == Some(before + 1);
            before = requests().unwrap();
            is_full && before > 10
        });
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        asked.join().unwrap();
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), count);
    });
}
