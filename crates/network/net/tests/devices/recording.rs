//! Recordings, read by another reader and by tcpdump.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use evener_net::device::{Capture, Device, Wire};
use evener_net::packet::Offload;
use evener_testing::pcapng;

use super::peer::{datagram_packet, send};

#[test]
fn packets_are_recorded_with_direction_and_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("packets.pcapng");
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970")
            .as_nanos() as u64
    };
    let before = now();
    let [one, mut other] = Wire::pair(1500, true).expect("a wire");
    let mut device = Capture::new(Box::new(one), &path).expect("a file");
    let ends = |text: &str| text.parse().expect("an address");
    let (own, peer) = (ends("10.1.0.2:5000"), ends("10.1.0.1:6000"));
    let packet =
        |len: usize, from, to| datagram_packet(from, to, &vec![7; len], Offload::default());
    let mut packets = Vec::new();
    for len in [0, 1, 2, 3, 1000, 60_000] {
        let (bytes, header_len) = packet(len, own, peer);
        send(&mut device, &bytes, header_len, Offload::default());
        packets.push((2u32, bytes));
        let (bytes, header_len) = packet(len, peer, own);
        send(&mut other, &bytes, header_len, Offload::default());
        assert_eq!(
            device
                .receive(9, &mut |found, _| assert!(found == bytes))
                .expect("a wire"),
            1
        );
        packets.push((1, bytes));
        other.receive(9, &mut |_, _| ()).expect("a wire");
    }
    device.before_wait();

    let recording = pcapng::read(&path);
    assert_eq!(recording.link, 101);
    assert_eq!(recording.packets.len(), packets.len());
    let mut last = before;
    for (recorded, (direction, bytes)) in recording.packets.iter().zip(&packets) {
        assert!((last..=now()).contains(&recorded.time));
        last = recorded.time;
        assert_eq!(recorded.direction, *direction);
        assert!(recorded.bytes == bytes[..]);
    }
    tcpdump_reads(&path, packets.len());
}

fn tcpdump_reads(path: &Path, count: usize) {
    let output = Command::new("tcpdump")
        .args(["-nr", "-"])
        .stdin(Stdio::from(File::open(path).expect("a recording")))
        .output();
    let Ok(output) = output else {
        evener_testing::skip("tcpdump is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(text.lines().count(), count, "{text}{errors}");
    assert!(
        text.contains("IP 10.1.0.2.5000 > 10.1.0.1.6000: UDP, length 1000"),
        "{text}"
    );
    assert!(
        text.contains("IP 10.1.0.1.6000 > 10.1.0.2.5000: UDP, length 60000"),
        "{text}"
    );
}
