//! TUN: the kernel pings and is pinged, connects and is connected to, with super-segments both ways.

#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;

use evener_net::device::{Device, Medium};
use evener_net::packet::{Checksum, Offload};
use evener_net::wire::tcp::{Header, Options, flags};
use evener_net::wire::{icmp, ip};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};

use super::peer::{
    PATIENCE, datagram, open, receive, segment, send, send_datagram, send_segment, wait_for,
};
use evener_testing::namespace;

const PARTIAL: Offload = Offload {
    segment: 0,
    checksum: Checksum::Partial,
};

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// The addresses of the kernel and of this end, for both versions.
const ENDS: [(&str, &str, &str); 2] = [
    ("tun:t4,addr=10.1.0.1/24", "10.1.0.1", "10.1.0.2"),
    ("tun:t6,addr=fd00::1/64", "fd00::1", "fd00::2"),
];

fn message(bytes: &[u8]) -> Option<(IpAddr, IpAddr, icmp::Message<'_>)> {
    let (ip, at, len) = ip::parse(bytes).expect("a packet of IP");
    if !matches!(ip.protocol, ip::protocol::ICMP | ip::protocol::ICMPV6) {
        return None;
    }
    let message = icmp::parse(&bytes[at..len], ip.source, ip.destination).expect("a message");
    Some((ip.source, ip.destination, message))
}

fn send_message(device: &mut dyn Device, source: IpAddr, to: IpAddr, message: &icmp::Message<'_>) {
    let mut body = vec![0; 2000];
    let len = icmp::write(message, source, to, &mut body);
    let protocol = match source {
        IpAddr::V4(_) => ip::protocol::ICMP,
        IpAddr::V6(_) => ip::protocol::ICMPV6,
    };
    let header = ip::Header::new(source, to, protocol);
    let mut bytes = vec![0; header.len() + len];
    let at = ip::write(&header, len, &mut bytes);
    bytes[at..].copy_from_slice(&body[..len]);
    send(device, &bytes, at, Offload::default());
}

#[test]
fn the_kernel_answers_pings() {
    namespace::run("tun::the_kernel_answers_pings", || {
        for (specification, kernel, own) in ENDS {
            let mut device = open(specification);
            wait_for(kernel.parse().expect("an address"));
            assert_eq!(device.capabilities().medium, Medium::Ip);
            assert_eq!(device.capabilities().mtu, 1500);
            let (kernel, own): (IpAddr, IpAddr) = (
                kernel.parse().expect("an address"),
                own.parse().expect("an address"),
            );
            let data = &[7; 1000][..];
            let request = icmp::Message::EchoRequest {
                identifier: 77,
                sequence: 1,
                data,
            };
            send_message(&mut *device, own, kernel, &request);
            let reply = icmp::Message::EchoReply {
                identifier: 77,
                sequence: 1,
                data,
            };
            receive(&mut *device, |received| {
                let (source, destination, found) = message(&received.bytes)?;
                (found == reply).then(|| assert_eq!((source, destination), (kernel, own)))
            });
        }
    });
}

#[test]
fn the_kernel_is_answered() {
    namespace::run("tun::the_kernel_is_answered", || {
        let (specification, ..) = ENDS[0];
        let mut device = open(specification);
        let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))
            .expect("a raw socket");
        let (own, kernel): (IpAddr, IpAddr) = ([10, 1, 0, 2].into(), [10, 1, 0, 1].into());
        let request = icmp::Message::EchoRequest {
            identifier: 5,
            sequence: 6,
            data: b"evener",
        };
        let mut bytes = [0; 100];
        let len = icmp::write(&request, kernel, own, &mut bytes);
        sendto(
            &socket,
            &bytes[..len],
            SendFlags::empty(),
            &address("10.1.0.2:0"),
        )
        .expect("sent");
        receive(&mut *device, |received| {
            let (_, _, found) = message(&received.bytes)?;
            (found == request).then_some(())
        });
        let reply = icmp::Message::EchoReply {
            identifier: 5,
            sequence: 6,
            data: b"evener",
        };
        send_message(&mut *device, own, kernel, &reply);
        let mut bytes = [0; 200];
        let (len, _) = recv(&socket, &mut bytes[..], RecvFlags::empty()).expect("a reply");
        let (source, _, found) = message(&bytes[..len]).expect("a message");
        assert_eq!((source, found), (own, reply));
    });
}

#[test]
fn an_unreachable_port_is_told() {
    namespace::run("tun::an_unreachable_port_is_told", || {
        for (specification, kernel, own) in ENDS {
            let mut device = open(specification);
            wait_for(kernel.parse().expect("an address"));
            let own = SocketAddr::new(own.parse().expect("an address"), 1000);
            let kernel = SocketAddr::new(kernel.parse().expect("an address"), 9);
            send_datagram(&mut *device, own, kernel, b"nothing listens", PARTIAL);
            receive(&mut *device, |received| match message(&received.bytes)?.2 {
                icmp::Message::Unreachable { why, quoted } => {
                    assert_eq!(why, icmp::Unreachable::Port);
                    let (ip, at, _) = ip::parse(quoted).expect("what was sent");
                    assert_eq!((ip.source, ip.protocol), (own.ip(), ip::protocol::UDP));
                    assert_eq!(quoted[at..at + 2], 1000u16.to_be_bytes());
                    Some(())
                }
                _ => None,
            });
            // And the other way: the kernel tells its application.
            let socket = UdpSocket::bind(SocketAddr::new(kernel.ip(), 0)).expect("a socket");
            socket.connect(own).expect("a socket");
            socket.send(b"refuse this").expect("sent");
            let packet = receive(&mut *device, |received| {
                datagram(received).map(|_| received.bytes.clone())
            });
            let refusal = icmp::Message::Unreachable {
                why: icmp::Unreachable::Port,
                quoted: &packet,
            };
            send_message(&mut *device, own.ip(), kernel.ip(), &refusal);
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            let error = socket.recv(&mut [0; 10]).expect_err("a refusal");
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        }
    });
}

const SYN_OPTIONS: Options = Options {
    mss: Some(1460),
    window_scale: Some(7),
    sack_permitted: false,
    timestamps: None,
    sack: evener_net::wire::tcp::SackBlocks::new(),
};

/// The kernel connects, and sends: what arrives in order, of `want` bytes.
fn kernel_sends(
    device: &mut dyn Device,
    kernel: SocketAddr,
    own: SocketAddr,
    want: usize,
) -> Vec<(Vec<u8>, Offload)> {
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(own).expect("a connection");
        let bytes: Vec<u8> = (0..want).map(|at| (at % 251) as u8).collect();
        stream.write_all(&bytes).expect("sent");
        stream
    });
    let syn = receive(device, |received| {
        segment(received).filter(|syn| syn.header.flags & flags::SYN != 0)
    });
    assert_eq!((syn.source.ip(), syn.destination), (kernel.ip(), own));
    assert_eq!(syn.header.flags & flags::ACK, 0);
    // What Linux offers.
    let options = syn.header.options;
    assert!(options.mss.is_some_and(|mss| mss <= 1460));
    assert!(
        options.sack_permitted && options.timestamps.is_some() && options.window_scale.is_some()
    );
    let syn_ack = Header {
        sequence: 1000,
        acknowledgment: syn.header.sequence.wrapping_add(1),
        flags: flags::SYN | flags::ACK,
        window: 65_535,
        options: SYN_OPTIONS,
        ..Header::default()
    };
    send_segment(device, own, syn.source, syn_ack, &[], PARTIAL);
    let (mut next, mut pieces, mut total) = (syn.header.sequence.wrapping_add(1), Vec::new(), 0);
    while total < want {
        let piece = receive(device, |received| {
            segment(received).filter(|piece| !piece.payload.is_empty())
        });
        assert_eq!(piece.header.sequence, next, "nothing is lost here");
        next = next.wrapping_add(piece.payload.len() as u32);
        total += piece.payload.len();
        pieces.push((piece.payload, piece.offload));
        let ack = Header {
            sequence: 1001,
            acknowledgment: next,
            flags: flags::ACK,
            window: 65_535,
            ..Header::default()
        };
        send_segment(device, own, syn.source, ack, &[], Offload::default());
    }
    drop(client.join().expect("the client"));
    pieces
}

#[test]
fn super_segments_come_from_the_kernel() {
    namespace::run("tun::super_segments_come_from_the_kernel", || {
        for (specification, kernel, own) in ENDS {
            let mut device = open(specification);
            wait_for(kernel.parse().expect("an address"));
            let own = SocketAddr::new(own.parse().expect("an address"), 80);
            let kernel = SocketAddr::new(kernel.parse().expect("an address"), 0);
            let pieces = kernel_sends(&mut *device, kernel, own, 300_000);
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| &piece.0).copied().collect();
            assert!(
                bytes
                    .iter()
                    .enumerate()
                    .all(|(at, byte)| *byte == (at % 251) as u8)
            );
            let largest = pieces
                .iter()
                .max_by_key(|piece| piece.0.len())
                .expect("a piece");
            assert!(largest.0.len() > 10_000, "{} bytes", largest.0.len());
            let mss = if own.is_ipv4() { 1460 } else { 1440 };
            assert_eq!(largest.1.segment, mss);
            assert_eq!(largest.1.checksum, Checksum::Partial);
        }
    });
}

#[test]
fn without_offload_segments_are_whole() {
    namespace::run("tun::without_offload_segments_are_whole", || {
        let mut device = open("tun:t4,addr=10.1.0.1/24,offload=off,mtu=1400,queue=2000");
        let capabilities = device.capabilities();
        assert_eq!((capabilities.mtu, capabilities.tcp_segments), (1400, 1400));
        assert!(!capabilities.checksums);
        let pieces = kernel_sends(
            &mut *device,
            address("10.1.0.1:0"),
            address("10.1.0.2:80"),
            100_000,
        );
        for (bytes, offload) in pieces {
            assert!(bytes.len() <= 1360, "{} bytes", bytes.len());
            assert_eq!(offload.segment, 0);
            assert_ne!(offload.checksum, Checksum::Partial);
        }
    });
}

#[test]
fn super_segments_go_to_the_kernel() {
    namespace::run("tun::super_segments_go_to_the_kernel", || {
        for (specification, kernel, own) in ENDS {
            let mut device = open(specification);
            wait_for(kernel.parse().expect("an address"));
            let own = SocketAddr::new(own.parse().expect("an address"), 4000);
            let kernel = SocketAddr::new(kernel.parse().expect("an address"), 0);
            let listener = TcpListener::bind(kernel).expect("a listener");
            let kernel = listener.local_addr().expect("an address");
            let syn = Header {
                sequence: 5000,
                flags: flags::SYN,
                window: 65_535,
                options: SYN_OPTIONS,
                ..Header::default()
            };
            send_segment(&mut *device, own, kernel, syn, &[], PARTIAL);
            let reply = receive(&mut *device, segment);
            assert_eq!(reply.header.flags, flags::SYN | flags::ACK);
            assert_eq!(reply.header.acknowledgment, 5001);
            let data = Header {
                sequence: 5001,
                acknowledgment: reply.header.sequence.wrapping_add(1),
                flags: flags::ACK | flags::PSH,
                window: 65_535,
                ..Header::default()
            };
            // The last segment is a short one.
            let bytes: Vec<u8> = (0..20_500u32).map(|at| (at * 7) as u8).collect();
            let many = Offload {
                segment: 1000,
                checksum: Checksum::Partial,
            };
            send_segment(&mut *device, own, kernel, data, &bytes, many);
            let (mut stream, from) = listener.accept().expect("a connection");
            assert_eq!(from, own);
            let mut read = vec![0; bytes.len()];
            stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
            stream.read_exact(&mut read).expect("the bytes");
            assert!(read == bytes);
        }
    });
}

/// Lets the kernel send all bytes of a call as datagrams of this length.
fn set_udp_segment(socket: &UdpSocket, len: libc::c_int) {
    // SAFETY: the option reads an int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const len).cast(),
            size_of_val(&len) as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
}

#[test]
fn datagrams_are_echoed_many_at_a_time() {
    namespace::run("tun::datagrams_are_echoed_many_at_a_time", || {
        for (specification, kernel, own) in ENDS {
            let mut device = open(specification);
            wait_for(kernel.parse().expect("an address"));
            let own = SocketAddr::new(own.parse().expect("an address"), 7);
            let socket = UdpSocket::bind(SocketAddr::new(kernel.parse().expect("an address"), 0))
                .expect("a socket");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            set_udp_segment(&socket, 100);
            let sent: Vec<u8> = (0..3050u32).map(|at| (at * 3) as u8).collect();
            socket.send_to(&sent, own).expect("sent");

            let (source, payload, offload) = receive(&mut *device, |received| {
                let (source, destination, payload) = datagram(received)?;
                (destination == own).then_some((source, payload, received.offload))
            });
            assert!(payload == sent);
            let expected = Offload {
                segment: 100,
                checksum: Checksum::Partial,
            };
            assert_eq!(offload, expected);
            send_datagram(&mut *device, own, source, &payload, offload);
            for piece in sent.chunks(100) {
                let mut bytes = [0; 2000];
                let (len, from) = socket.recv_from(&mut bytes).expect("a datagram");
                assert_eq!((from, &bytes[..len]), (own, piece));
            }
        }
    });
}
