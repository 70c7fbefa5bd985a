//! TAP and packet sockets: frames, and the addresses that they need.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evener_net::device::{Device, Medium};
use evener_net::packet::{Checksum, Offload};
use evener_net::wire::{arp, ethernet};

use super::peer::{PATIENCE, Received, datagram, datagram_packet, open, receive, send};
use evener_testing::{namespace, veth};

/// The kernel at 10.1.0.1 asks who 10.1.0.2 is, sends a datagram, and gets it back.
pub fn exchange(device: &mut dyn Device) {
    let kernel = Ipv4Addr::new(10, 1, 0, 1);
    let own = Ipv4Addr::new(10, 1, 0, 2);
    let socket = UdpSocket::bind((kernel, 0)).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let sent: Vec<u8> = (0..1400u32).map(|at| (at * 5) as u8).collect();
    let exchanged = AtomicBool::new(false);
    thread::scope(|scope| {
        // Again and again: an interface that was just set up may lose the first.
        scope.spawn(|| {
            while !exchanged.load(Ordering::Relaxed) {
                let _ = socket.send_to(&sent, (own, 7));
                thread::sleep(Duration::from_millis(100));
            }
        });
        let _stops = Stops(&exchanged);
        echo(device, &socket, &sent);
    });
}

/// Sets a flag, whatever happens.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the kernel sends.
enum Got {
    Question(arp::Packet),
    Datagram(ethernet::Header, SocketAddr, Vec<u8>),
}

/// Answers who has the address, and sends a datagram back.
fn echo(device: &mut dyn Device, socket: &UdpSocket, sent: &[u8]) {
    let Medium::Ethernet(own_link) = device.capabilities().medium else {
        panic!("frames");
    };
    let kernel = Ipv4Addr::new(10, 1, 0, 1);
    let own = Ipv4Addr::new(10, 1, 0, 2);

    let header = |destination, ethertype| ethernet::Header {
        destination,
        source: own_link,
        ethertype,
    };
    // As often as it is asked: the first answer may be lost as well.
    let (kernel_link, from, payload) = loop {
        let got = receive(device, |received| {
            let header = ethernet::parse(&received.bytes).expect("a frame");
            let bytes = &received.bytes[ethernet::LEN..];
            match header.ethertype {
                ethernet::ethertype::ARP => {
                    let asked = arp::parse(bytes).ok().filter(|asked| asked.target.1 == own);
                    asked.map(Got::Question)
                }
                ethernet::ethertype::IPV4 => {
                    let inner = Received {
                        bytes: bytes.into(),
                        offload: received.offload,
                    };
                    datagram(&inner).map(|(from, _, payload)| Got::Datagram(header, from, payload))
                }
                _ => None,
            }
        });
        match got {
            Got::Question(question) => {
                assert_eq!(question.operation, arp::Operation::Request);
                assert_eq!(question.sender.1, kernel);
                let reply = arp::Packet {
                    operation: arp::Operation::Reply,
                    sender: (own_link, own),
                    target: question.sender,
                };
                let mut bytes = vec![0; ethernet::LEN + arp::LEN];
                let header = header(question.sender.0, ethernet::ethertype::ARP);
                let at = ethernet::write(&header, &mut bytes);
                arp::write(&reply, &mut bytes[at..]);
                send(device, &bytes, at, Offload::default());
            }
            Got::Datagram(header, from, payload) => {
                assert_eq!(header.destination, own_link);
                break (header.source, from, payload);
            }
        }
    };
    assert!(payload == sent);
    let offload = Offload {
        segment: 0,
        checksum: match device.capabilities().checksums {
            true => Checksum::Partial,
            false => Checksum::Complete,
        },
    };
    let own = SocketAddr::new(own.into(), 7);
    let (packet, header_len) = datagram_packet(own, from, &payload, offload);
    let mut bytes = vec![0; ethernet::LEN];
    let header = header(kernel_link, ethernet::ethertype::IPV4);
    ethernet::write(&header, &mut bytes);
    bytes.extend(packet);
    send(device, &bytes, ethernet::LEN + header_len, offload);
    let mut bytes = [0; 2000];
    let (len, from) = socket.recv_from(&mut bytes).expect("a datagram");
    assert_eq!(from, own);
    assert!(bytes[..len] == *sent);
}

#[test]
fn a_tap_carries_frames() {
    namespace::run("ethernet::a_tap_carries_frames", || {
        exchange(&mut *open("tap:t0,addr=10.1.0.1/24"));
    });
}

#[test]
fn a_packet_socket_carries_frames() {
    namespace::run("ethernet::a_packet_socket_carries_frames", || {
        if veth::pair() {
            exchange(&mut *open("packet:v0"));
        }
    });
}
