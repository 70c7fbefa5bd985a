//! Streams that ffmpeg makes, as files and as RTP packets, and what ffmpeg says of streams.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use evener_gateway::payload::{AccessUnit, Format, Track};
use evener_gateway::rtp::{Bounds, Order, Packet};
use evener_testing::Folder;

/// Whether the programs are there; says so if not.
pub fn has_ffmpeg() -> bool {
    let has = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !has {
        evener_testing::skip("the program ffmpeg is not installed");
    }
    has
}

/// Runs ffmpeg or ffprobe with words separated by white space, and then `last`; returns what it wrote to both outputs.
pub fn run(program: &str, words: &str, last: &[&Path]) -> (String, String) {
    let mut command = Command::new(program);
    command
        .args(["-v", "warning"])
        .args(words.split_whitespace())
        .args(last);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, mut errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {errors}");
    // G.711 in a file never says where its channels are.
    if let Some((guess, rest)) = errors.split_once('\n')
        && guess.starts_with("Guessed Channel Layout")
    {
        errors = rest.to_owned();
    }
    (out, errors)
}

/// A file that ffmpeg makes of moving test pictures and a tone, with these encoders. Six seconds.
pub fn make(folder: &Folder, name: &str, encoders: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    let inputs = "-f lavfi -i testsrc2=size=320x240:rate=25:duration=6 -f lavfi -i sine=frequency=440:duration=6";
    run(
        "ffmpeg",
        &format!("{inputs} -pix_fmt yuv420p -threads 1 {encoders} -y"),
        &[&path],
    );
    path
}

/// A hash of each picture that ffmpeg decodes, in the order in which they are shown. It must have nothing to say.
pub fn pictures(path: &Path) -> Vec<String> {
    let input = path.to_str().unwrap();
    let (out, errors) = run(
        "ffmpeg",
        &format!("-threads 1 -i {input} -map 0:v -fps_mode passthrough -f framemd5 -"),
        &[],
    );
    assert_eq!(errors, "");
    let lines = out.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit(',').next().unwrap().trim().to_owned())
        .collect()
}

/// What ffprobe has to complain of.
pub fn complaints(path: &Path) -> String {
    run("ffprobe", "-show_packets -show_frames -of csv", &[path]).1
}

/// The RTP packets of a stream, and its description.
pub struct Captured {
    pub packets: Vec<Bytes>,
    pub format: Format,
}

/// What ffmpeg sends of the stream that `map` names. Codings are copied.
pub fn capture(path: &Path, map: &str) -> Captured {
    let folder = Folder::new();
    let sdp = folder.path("sdp");
    let words = format!(
        "-map {map} -c copy -sdp_file {} -f rtp",
        sdp.to_str().unwrap()
    );
    let packets = datagrams(path, &words, "rtp");
    let numbers: Vec<u16> = packets
        .iter()
        .map(|packet| u16::from_be_bytes([packet[2], packet[3]]))
        .collect();
    assert!(
        numbers
            .windows(2)
            .all(|pair| pair[1] == pair[0].wrapping_add(1)),
        "the system lost packets"
    );
    let format = describe(&fs::read_to_string(&sdp).unwrap());
    Captured { packets, format }
}

/// The datagrams of all streams of a file in a format that ffmpeg sends by this protocol.
pub fn sent(path: &Path, format: &str, protocol: &str) -> Vec<Bytes> {
    datagrams(path, &format!("-map 0 -c copy -f {format}"), protocol)
}

fn datagrams(path: &Path, words: &str, protocol: &str) -> Vec<Bytes> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let reports = UdpSocket::bind("127.0.0.1:0").unwrap();
    let [port, reports_port] =
        [&socket, &reports].map(|socket| socket.local_addr().unwrap().port());
    let input = path.to_str().unwrap();
    let words = format!(
        "-readrate 12 -i {input} {words} {protocol}://127.0.0.1:{port}?rtcpport={reports_port}&pkt_size=1316"
    );
    let sender = thread::spawn(move || run("ffmpeg", &words, &[]));
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut datagrams = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) => datagrams.push(Bytes::copy_from_slice(&buffer[..length])),
            Err(_) if sender.is_finished() => break,
            Err(_) => {}
        }
    }
    sender.join().unwrap();
    datagrams
}

/// The format of a description's only stream.
fn describe(sdp: &str) -> Format {
    let line = |begin: &str| {
        sdp.lines()
            .find_map(|line| line.strip_prefix(begin)?.split_once(' '))
            .map(|(_, rest)| rest)
    };
    // The type of A-law is static, and needs no map.
    let map: Vec<&str> = line("a=rtpmap:")
        .unwrap_or("PCMA/8000")
        .trim()
        .split('/')
        .collect();
    Format {
        encoding: map[0].into(),
        clock_rate: map[1].parse().unwrap(),
        channels: map.get(2).map_or(1, |channels| channels.parse().unwrap()),
        parameters: line("a=fmtp:").unwrap_or("").into(),
    }
}

/// The access units of packets that come a millisecond apart.
pub fn units(packets: &[Bytes], format: &Format, number: usize) -> (Vec<AccessUnit>, Track, Order) {
    let epoch = Instant::now();
    let mut order = Order::new(Bounds::default(), format.clock_rate);
    let mut track = Track::new(number, format, epoch).unwrap();
    let mut units = Vec::new();
    let mut now = epoch;
    for packet in packets {
        now += Duration::from_millis(1);
        let packet = Packet::parse(packet.clone()).unwrap();
        order.push(packet, now, |ordered| {
            track.push(ordered, now, |unit| units.push(unit))
        });
    }
    order.finish(|ordered| track.push(ordered, now, |unit| units.push(unit)));
    (units, track, order)
}
