//! Packets by hand, for tests that are the other end of a device.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use evener_net::device::{Device, Specification};
use evener_net::packet::{Checksum, Offload, Outgoing};
use evener_net::wire::checksum::Sum;
use evener_net::wire::{ip, tcp, udp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long the kernel may take for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn open(specification: &str) -> Box<dyn Device> {
    Specification::parse(specification)
        .expect("a specification")
        .open()
        .expect("a device")
}

/// Waits until the kernel uses an address: one of IPv6 takes a moment.
pub fn wait_for(address: IpAddr) {
    let start = Instant::now();
    while UdpSocket::bind((address, 0)).is_err() {
        assert!(start.elapsed() < PATIENCE, "the address does not come");
        thread::sleep(Duration::from_millis(1));
    }
}

/// What was received, in full.
#[derive(Clone, Debug)]
pub struct Received {
    pub bytes: Vec<u8>,
    pub offload: Offload,
}

/// The first packet of which `wanted` makes something.
pub fn receive<T>(device: &mut dyn Device, mut wanted: impl FnMut(&Received) -> Option<T>) -> T {
    let start = Instant::now();
    let mut found = None;
    while found.is_none() {
        assert!(start.elapsed() < PATIENCE, "the packet does not come");
        let mut each = |bytes: &[u8], offload| {
            let received = Received {
                bytes: bytes.into(),
                offload,
            };
            if found.is_none() {
                found = wanted(&received);
            }
        };
        // One at a time: the next may be what is wanted next.
        if device.receive(1, &mut each).expect("a device") == 0 && device.before_wait() {
            let fd = device.readable().expect("a descriptor");
            let tenth = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&tenth)).expect("a wait");
        }
    }
    found.expect("it was found")
}

pub fn send(device: &mut dyn Device, bytes: &[u8], header_len: usize, offload: Offload) {
    let (header, payload) = bytes.split_at(header_len);
    // Two parts of uneven length, as at the end of a ring.
    let (first, second) = payload.split_at(payload.len() / 3);
    let packet = Outgoing {
        header,
        payload: [first.into(), second.into()],
        offload,
    };
    assert!(device.send(packet).expect("a device"), "no room");
    device.flush().expect("a device");
}

/// A segment with its header of IP.
pub struct Segment {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub header: tcp::Header,
    pub payload: Vec<u8>,
    pub offload: Offload,
}

/// Reads a segment of TCP, and checks its checksum.
pub fn segment(received: &Received) -> Option<Segment> {
    let (ip, at, len) = ip::parse(&received.bytes).expect("a packet of IP");
    if ip.protocol != ip::protocol::TCP {
        return None;
    }
    let bytes = &received.bytes[at..len];
    let (header, header_len) = tcp::parse(bytes).expect("a segment");
    check(
        &ip,
        bytes,
        tcp::checksum(bytes).expect("a header"),
        received.offload.checksum,
    );
    Some(Segment {
        source: SocketAddr::new(ip.source, header.source_port),
        destination: SocketAddr::new(ip.destination, header.destination_port),
        header,
        payload: bytes[header_len..].into(),
        offload: received.offload,
    })
}

/// Reads a datagram of UDP, and checks its checksum.
pub fn datagram(received: &Received) -> Option<(SocketAddr, SocketAddr, Vec<u8>)> {
    let (ip, at, len) = ip::parse(&received.bytes).expect("a packet of IP");
    if ip.protocol != ip::protocol::UDP {
        return None;
    }
    let bytes = &received.bytes[at..len];
    let header = udp::parse(bytes).expect("a datagram");
    check(&ip, bytes, header.checksum, received.offload.checksum);
    Some((
        SocketAddr::new(ip.source, header.source_port),
        SocketAddr::new(ip.destination, header.destination_port),
        bytes[udp::LEN..usize::from(header.length)].into(),
    ))
}

fn check(ip: &ip::Header, bytes: &[u8], field: u16, checksum: Checksum) {
    let pseudo = Sum::pseudo(ip.source, ip.destination, ip.protocol, bytes.len() as u32);
    match checksum {
        Checksum::Partial => assert_eq!(field, pseudo.partial(), "the pseudo header"),
        _ => assert_eq!(pseudo.add(bytes).folded(), 0, "the checksum"),
    }
}

fn packet(source: IpAddr, destination: IpAddr, protocol: u8, rest: usize) -> (Vec<u8>, usize) {
    let header = ip::Header::new(source, destination, protocol);
    let mut bytes = vec![0; header.len() + rest];
    let len = ip::write(&header, rest, &mut bytes);
    (bytes, len)
}

/// Sends a segment.
pub fn send_segment(
    device: &mut dyn Device,
    source: SocketAddr,
    destination: SocketAddr,
    header: tcp::Header,
    payload: &[u8],
    offload: Offload,
) {
    let header = tcp::Header {
        source_port: source.port(),
        destination_port: destination.port(),
        ..header
    };
    let rest = header.len() + payload.len();
    let (mut bytes, at) = packet(source.ip(), destination.ip(), ip::protocol::TCP, rest);
    let header_len = tcp::write(&header, &mut bytes[at..]);
    bytes[at + header_len..].copy_from_slice(payload);
    let pseudo = Sum::pseudo(
        source.ip(),
        destination.ip(),
        ip::protocol::TCP,
        rest as u32,
    );
    let checksum = match offload.checksum {
        Checksum::Partial => pseudo.partial(),
        _ => pseudo.add(&bytes[at..]).folded(),
    };
    tcp::set_checksum(&mut bytes[at..], checksum);
    send(device, &bytes, at + header_len, offload);
}

/// Makes a packet of a datagram, and returns it with the length of its headers.
pub fn datagram_packet(
    source: SocketAddr,
    destination: SocketAddr,
    payload: &[u8],
    offload: Offload,
) -> (Vec<u8>, usize) {
    let rest = udp::LEN + payload.len();
    let (mut bytes, at) = packet(source.ip(), destination.ip(), ip::protocol::UDP, rest);
    let mut header = udp::Header {
        source_port: source.port(),
        destination_port: destination.port(),
        length: rest as u16,
        checksum: 0,
    };
    udp::write(&header, &mut bytes[at..]);
    bytes[at + udp::LEN..].copy_from_slice(payload);
    let pseudo = Sum::pseudo(
        source.ip(),
        destination.ip(),
        ip::protocol::UDP,
        rest as u32,
    );
    header.checksum = match offload.checksum {
        Checksum::Partial => pseudo.partial(),
        _ => udp::field(pseudo.add(&bytes[at..]).folded()),
    };
    udp::write(&header, &mut bytes[at..]);
    (bytes, at + udp::LEN)
}

/// Sends a datagram, or as many as `offload` says.
pub fn send_datagram(
    device: &mut dyn Device,
    source: SocketAddr,
    destination: SocketAddr,
    payload: &[u8],
    offload: Offload,
) {
    let (bytes, header_len) = datagram_packet(source, destination, payload, offload);
    send(device, &bytes, header_len, offload);
}
