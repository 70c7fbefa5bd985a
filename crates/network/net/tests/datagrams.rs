//! UDP and ICMP between two engines, in virtual time.

#[allow(dead_code)]
#[path = "tcp/network.rs"]
mod network;

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use etherparse::defrag::IpDefragPool;
use etherparse::{SlicedPacket, UdpSlice};
use evener_net::datagram::{self, Record};
use evener_net::device::{Capabilities, Device, Medium};
use evener_net::engine::{Config, Engine, Owner, PrivateMemory, SocketId, SocketOptions};
use evener_net::packet::{Offload, Outgoing};
use evener_net::tcp::Happened;
use evener_net::time::Time;
use evener_net::wire::ip;
use network::{Network, Path, Setup, bytes};

fn bound(network: &mut Network, host: usize, port: u16, remote: Option<SocketAddr>) -> SocketId {
    let local = SocketAddr::new(network.hosts[host].address, port);
    let engine = &mut network.hosts[host].engine;
    engine
        .bind_datagrams(Owner(0), local, remote, false)
        .unwrap()
}

fn send(
    network: &mut Network,
    host: usize,
    socket: SocketId,
    remote: SocketAddr,
    segment: u16,
    payload: &[u8],
) {
    let record = Record {
        len: payload.len(),
        segment,
        remote,
    };
    let writer = network.hosts[host].pair(socket).writer;
    assert!(datagram::write(&mut writer.borrow_mut(), &record, payload));
    assert!(network.hosts[host].engine.notify(socket));
}

fn received(network: &mut Network, host: usize, socket: SocketId) -> Vec<(Record, Vec<u8>)> {
    let reader = network.hosts[host].pair(socket).reader;
    let mut all = Vec::new();
    let mut buffer = vec![0; 65536];
    while let Some(record) = datagram::read(&mut reader.borrow_mut(), &mut buffer).unwrap() {
        all.push((record, buffer[..record.len].to_vec()));
    }
    all
}

#[test]
fn datagrams_arrive_whole_and_from_whom_they_are() {
    for v6 in [false, true] {
        for offload in [false, true] {
            let setup = Setup {
                v6,
                offload,
                ..Setup::default()
            };
            let mut network = Network::new(setup, Path::default(), 1);
            let server = bound(&mut network, 1, 53, None);
            let client = bound(&mut network, 0, 0, None);
            let (from, _) = network.hosts[0].engine.ends(client).unwrap();
            let to = SocketAddr::new(network.hosts[1].address, 53);
            let sizes = [0, 1, 17, 1000, 1440];
            for &size in &sizes {
                send(&mut network, 0, client, to, 0, &bytes(size, size as u64));
            }
            network.pass(Duration::from_millis(20));
            let got = received(&mut network, 1, server);
            assert_eq!(got.len(), sizes.len());
            for ((record, payload), &size) in got.iter().zip(&sizes) {
                assert_eq!((record.remote, record.segment), (from, 0));
                assert_eq!(*payload, bytes(size, size as u64));
            }
            assert!(
                network.hosts[1]
                    .events
                    .iter()
                    .any(|event| event.happened.has(Happened::READABLE))
            );
            // An answer to whom it came from.
            send(&mut network, 1, server, from, 0, b"answer");
            network.pass(Duration::from_millis(20));
            assert_eq!(received(&mut network, 0, client)[0].1, b"answer");
        }
    }
}

#[test]
fn many_datagrams_go_out_of_one_record() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let server = bound(&mut network, 1, 53, None);
    let connected_to = SocketAddr::new(network.hosts[1].address, 53);
    let client = bound(&mut network, 0, 0, Some(connected_to));
    let all = bytes(10_000, 3);
    let connected = SocketAddr::new([0, 0, 0, 0].into(), 0);
    send(&mut network, 0, client, connected, 1200, &all);
    network.pass(Duration::from_millis(20));
    let got = received(&mut network, 1, server);
    let sizes: Vec<usize> = got.iter().map(|(record, _)| record.len).collect();
    assert_eq!(sizes, [1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 400]);
    assert_eq!(
        got.into_iter()
            .flat_map(|(_, payload)| payload)
            .collect::<Vec<_>>(),
        all
    );
}

#[test]
fn datagrams_larger_than_a_packet_arrive_whole() {
    for v6 in [false, true] {
        for offload in [false, true] {
            let setup = Setup {
                v6,
                offload,
                ..Setup::default()
            };
            let mut network = Network::new(setup, Path::default(), 1);
            let server = bound(&mut network, 1, 53, None);
            let client = bound(&mut network, 0, 0, None);
            let to = SocketAddr::new(network.hosts[1].address, 53);
            let header = if v6 { 48 } else { 28 };
            let sizes = [1500 - header, 1501 - header, 3000, 2952, 2960, 20_000];
            for &size in &sizes {
                send(&mut network, 0, client, to, 0, &bytes(size, size as u64));
                network.pass(Duration::from_millis(20));
            }
            let got = received(&mut network, 1, server);
            assert_eq!(got.len(), sizes.len());
            for ((record, payload), &size) in got.iter().zip(&sizes) {
                assert_eq!(record.segment, 0);
                assert_eq!(*payload, bytes(size, size as u64));
            }
            // Bytes of the datagram by those in each fragment.
            let room = (1500 - if v6 { 48 } else { 20 }) & !7;
            let fragments = |size: &usize| match size + header <= 1500 {
                true => 1,
                false => (size + 8usize).div_ceil(room) as u64,
            };
            let out = network.hosts[0].engine.counters().packets_out;
            assert_eq!(out, sizes.iter().map(fragments).sum::<u64>());
        }
    }
}

/// A device that takes a packet at a time, and remembers what it took.
struct Slow {
    capabilities: Capabilities,
    room: usize,
    taken: Vec<Vec<u8>>,
}

impl Device for Slow {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        Ok(0)
    }

    fn send(&mut self, packet: Outgoing<'_>) -> io::Result<bool> {
        if self.room == 0 {
            return Ok(false);
        }
        self.room -= 1;
        let mut bytes = vec![0; packet.len()];
        packet.copy_to(&mut bytes);
        self.taken.push(bytes);
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Another library puts the fragments together.
#[test]
fn fragments_go_on_where_a_full_device_stopped_them() {
    let capabilities = Capabilities {
        medium: Medium::Ip,
        mtu: 1500,
        tcp_segments: 1500,
        udp_segments: 1500,
        checksums: false,
    };
    let mut device = Slow {
        capabilities,
        room: 0,
        taken: Vec::new(),
    };
    let config = Config {
        addresses: vec!["10.0.0.1/24".parse().unwrap()],
        ..Config::default()
    };
    let mut engine = Engine::new(config, capabilities, PrivateMemory::new(1 << 17));
    let local = "10.0.0.1:5000".parse().unwrap();
    let socket = engine.bind_datagrams(Owner(0), local, None, false).unwrap();
    let slot = engine.slot(socket).unwrap();
    let (mut writer, _) = engine.memory().ends(slot);
    let payloads = [bytes(4000, 1), bytes(65_507, 2)];
    for payload in &payloads {
        let record = Record {
            len: payload.len(),
            segment: 0,
            remote: "10.0.0.2:53".parse().unwrap(),
        };
        assert!(datagram::write(&mut writer, &record, payload));
    }
    engine.notify(socket);
    while engine.transmit(Time::ZERO, &mut device).unwrap() {
        device.room = 1;
    }
    let mut pool = IpDefragPool::<(), ()>::new();
    let mut whole = Vec::new();
    for packet in &device.taken {
        assert!(packet.len() <= 1500);
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let done = pool.process_sliced_packet(&sliced, (), ()).unwrap();
        whole.extend(done);
    }
    assert_eq!(device.taken.len(), 3 + 45);
    for (whole, payload) in whole.iter().zip(&payloads) {
        let datagram = UdpSlice::from_slice(&whole.payload).unwrap();
        assert!(datagram.payload() == &payload[..]);
        let header = datagram.to_header();
        let sum = header.calc_checksum_ipv4_raw([10, 0, 0, 1], [10, 0, 0, 2], payload);
        assert_eq!(header.checksum, sum.unwrap());
    }
    assert_eq!(whole.len(), 2);
}

#[test]
fn what_is_too_large_is_dropped_and_counted_and_a_port_without_a_socket_is_answered() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let client = bound(&mut network, 0, 0, None);
    let to = SocketAddr::new(network.hosts[1].address, 53);
    send(&mut network, 0, client, to, 1473, &[0; 3000]);
    send(&mut network, 0, client, to, 0, &[0; 1472]);
    network.pass(Duration::from_millis(20));
    assert_eq!(network.hosts[0].engine.counters().datagrams_dropped, 1);
    assert_eq!(network.hosts[1].engine.counters().refused, 1);
    assert_eq!(
        network.hosts[0].engine.counters().packets_in,
        1,
        "port unreachable"
    );
}

#[test]
fn a_ring_that_is_full_drops_and_a_socket_that_is_closed_gives_its_memory_back() {
    let setup = Setup {
        ring: 4096,
        ..Setup::default()
    };
    let mut network = Network::new(setup, Path::default(), 1);
    let server = bound(&mut network, 1, 53, None);
    let client = bound(&mut network, 0, 0, None);
    let to = SocketAddr::new(network.hosts[1].address, 53);
    for _ in 0..6 {
        send(&mut network, 0, client, to, 0, &[1; 1000]);
        network.pass(Duration::from_millis(20));
    }
    assert_eq!(received(&mut network, 1, server).len(), 3);
    assert_eq!(network.hosts[1].engine.counters().datagrams_dropped, 3);
    let now = network.now;
    assert!(network.hosts[1].engine.close(now, server));
    assert_eq!(network.hosts[1].engine.memory().in_use(), 0);
    assert_eq!(network.hosts[1].engine.ends(server), None);
}

#[test]
fn an_address_is_shared_by_those_who_all_say_so() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let address = network.hosts[0].address;
    let engine = &mut network.hosts[0].engine;
    let options = SocketOptions::default();
    for (port, first, second, fine) in [
        (1, false, false, false),
        (2, false, true, false),
        (3, true, false, false),
        (4, true, true, true),
    ] {
        let local = SocketAddr::new(address, port);
        engine.listen(Owner(0), local, 1, options, first).unwrap();
        let listens = engine.listen(Owner(1), local, 1, options, second);
        engine.bind_datagrams(Owner(0), local, None, first).unwrap();
        let binds = engine.bind_datagrams(Owner(1), local, None, second);
        assert_eq!((listens.is_ok(), binds.is_ok()), (fine, fine), "{port}");
    }
}

/// Sockets that share an address have flows each, and a flow has one of them. One that is connected has its own.
#[test]
fn those_who_share_an_address_share_what_comes() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let local = SocketAddr::new(network.hosts[1].address, 53);
    let clients: Vec<SocketId> = (0..40).map(|_| bound(&mut network, 0, 0, None)).collect();
    let engine = &mut network.hosts[1].engine;
    let mut bind = |remote| {
        engine
            .bind_datagrams(Owner(0), local, remote, true)
            .unwrap()
    };
    let servers: Vec<SocketId> = (0..4).map(|_| bind(None)).collect();
    for _ in 0..2 {
        for &client in &clients {
            send(&mut network, 0, client, local, 0, b"?");
        }
        network.pass(Duration::from_millis(20));
    }
    let mut all = Vec::new();
    for &server in &servers {
        let got = received(&mut network, 1, server);
        assert!((4..40).contains(&got.len()), "{}", got.len());
        let mut peers: Vec<SocketAddr> = got.iter().map(|(record, _)| record.remote).collect();
        peers.sort_unstable();
        peers.dedup();
        assert_eq!(2 * peers.len(), got.len());
        all.extend(peers);
    }
    assert_eq!(all.len(), clients.len());
    let (peer, _) = network.hosts[0].engine.ends(clients[0]).unwrap();
    let engine = &mut network.hosts[1].engine;
    let own = (engine.bind_datagrams(Owner(0), local, Some(peer), true)).unwrap();
    send(&mut network, 0, clients[0], local, 0, b"own");
    network.pass(Duration::from_millis(20));
    assert_eq!(received(&mut network, 1, own).len(), 1);
}

/// RFC 6056: from one port that was chosen, the next cannot be guessed.
#[test]
fn ports_that_are_chosen_are_all_over_the_place() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let local = SocketAddr::new(network.hosts[0].address, 0);
    let engine = &mut network.hosts[0].engine;
    let options = SocketOptions::default();
    for listens in [false, true] {
        let mut ports: Vec<u16> = (0..32)
            .map(|_| {
                let socket = match listens {
                    true => engine.listen(Owner(0), local, 1, options, false),
                    false => engine.bind_datagrams(Owner(0), local, None, false),
                };
                engine.ends(socket.unwrap()).unwrap().0.port()
            })
            .collect();
        let near = ports
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) < 8);
        assert!(near.count() < 3, "{ports:?}");
        assert!(ports.iter().all(|&port| port >= 49152));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 32);
    }
}

#[test]
fn errors_are_told_a_thousand_times_a_second() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let client = bound(&mut network, 0, 0, None);
    let to = SocketAddr::new(network.hosts[1].address, 53);
    for _ in 0..15 {
        for _ in 0..100 {
            send(&mut network, 0, client, to, 0, b"?");
        }
        network.pass(Duration::from_millis(20));
    }
    assert_eq!(network.hosts[1].engine.counters().refused, 1500);
    assert_eq!(network.hosts[0].engine.counters().packets_in, 1000);
}

/// A fragment of IPv6 between the hosts.
fn fragment(
    network: &Network,
    next: u8,
    identification: u32,
    offset: u16,
    more: bool,
    payload: &[u8],
) -> Vec<u8> {
    let [source, destination] = [0, 1].map(|host| network.hosts[host].address);
    let mut header = ip::Header::new(source, destination, next);
    header.fragment = Some(ip::Fragment {
        identification,
        offset,
        more,
    });
    let mut bytes = vec![0; ip::MAX_LEN];
    let len = ip::write(&header, payload.len(), &mut bytes);
    bytes.truncate(len);
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn fragments_within_fragments_are_dropped() {
    let setup = Setup {
        v6: true,
        ..Setup::default()
    };
    let mut network = Network::new(setup, Path::default(), 1);
    // A datagram to port 53 whose first part is itself a packet in two fragments.
    let datagram = [0, 9, 0, 53, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let (first, rest) = datagram.split_at(8);
    let inner = fragment(&network, ip::protocol::UDP, 2, 0, true, first);
    let tail = fragment(&network, ip::protocol::UDP, 2, 8, false, rest);
    let (a, b) = inner[ip::V6_LEN..].split_at(8);
    let kind = ip::protocol::FRAGMENT;
    for packet in [
        tail,
        fragment(&network, kind, 1, 0, true, a),
        fragment(&network, kind, 1, 8, false, b),
    ] {
        network.inject(0, packet);
        network.pass(Duration::from_millis(10));
    }
    let counters = network.hosts[1].engine.counters();
    assert_eq!(
        (counters.packets_in, counters.refused, counters.bad_checksum),
        (3, 0, 0)
    );
}
