//! A device with less room than there is to send.

use std::net::SocketAddr;
use std::time::Duration;

use evener_net::datagram::{self, Record};
use evener_net::engine::{Owner, SocketId, SocketOptions};
use evener_net::wire::ip;

use crate::network::{Network, Path, Setup, bytes};

const FLOWS: usize = 20;

/// The protocol and the sender's port of each packet of the first host, in the order in which they go out.
fn sent(network: &mut Network) -> Vec<(u8, u16)> {
    let now = network.now;
    let mut all = Vec::new();
    loop {
        let packets = network.hosts[0].poll(now);
        if packets.is_empty() {
            return all;
        }
        all.extend(packets.iter().map(|(bytes, _)| {
            let (ip, at, _) = ip::parse(bytes).unwrap();
            (ip.protocol, u16::from_be_bytes([bytes[at], bytes[at + 1]]))
        }));
    }
}

/// A host that connects to the other, `FLOWS` times.
fn connected() -> (Network, Vec<SocketId>) {
    let setup = Setup {
        room: 4,
        ..Setup::default()
    };
    let mut network = Network::new(setup, Path::default(), 1);
    let options = SocketOptions::default();
    let remote = SocketAddr::new(network.hosts[1].address, 80);
    let server = &mut network.hosts[1].engine;
    server.listen(Owner(0), remote, 64, options, false).unwrap();
    let now = network.now;
    let client = &mut network.hosts[0].engine;
    let connect = || {
        client
            .connect(now, Owner(0), None, remote, options)
            .unwrap()
    };
    let sockets = std::iter::repeat_with(connect).take(FLOWS).collect();
    network.pass(Duration::from_millis(100));
    (network, sockets)
}

#[test]
fn a_flow_sends_its_window_in_one_turn() {
    let (mut network, sockets) = connected();
    for &socket in &sockets {
        let data = bytes(20_000, 1);
        let writer = network.hosts[0].pair(socket).writer;
        assert_eq!(writer.borrow_mut().write(&data), data.len());
        assert!(network.hosts[0].engine.notify(socket));
    }
    let mut runs: Vec<((u8, u16), usize)> = Vec::new();
    for packet in sent(&mut network) {
        match runs.last_mut() {
            Some((last, count)) if *last == packet => *count += 1,
            _ => runs.push((packet, 1)),
        }
    }
    assert_eq!(runs.len(), FLOWS, "{runs:?}");
    assert!(runs.iter().all(|&(_, count)| count == 10), "{runs:?}");
}

#[test]
fn datagrams_go_out_beside_flows_and_flows_beside_datagrams() {
    let (mut network, sockets) = connected();
    for &socket in &sockets {
        let writer = network.hosts[0].pair(socket).writer;
        writer.borrow_mut().write(&bytes(20_000, 1));
        assert!(network.hosts[0].engine.notify(socket));
    }
    let local = SocketAddr::new(network.hosts[0].address, 53);
    let remote = SocketAddr::new(network.hosts[1].address, 53);
    let engine = &mut network.hosts[0].engine;
    let socket = engine.bind_datagrams(Owner(0), local, Some(remote), false);
    let socket = socket.unwrap();
    let record = Record {
        len: 1000,
        segment: 0,
        remote,
    };
    let writer = network.hosts[0].pair(socket).writer;
    for _ in 0..100 {
        assert!(datagram::write(
            &mut writer.borrow_mut(),
            &record,
            &bytes(1000, 2)
        ));
    }
    assert!(network.hosts[0].engine.notify(socket));
    let first: Vec<u8> = (sent(&mut network).iter().take(40))
        .map(|&(protocol, _)| protocol)
        .collect();
    for protocol in [ip::protocol::TCP, ip::protocol::UDP] {
        assert!(
            first.iter().filter(|&&other| other == protocol).count() >= 16,
            "{first:?}"
        );
    }
}
