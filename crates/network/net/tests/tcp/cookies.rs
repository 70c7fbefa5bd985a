//! SYN cookies beside requests that are kept.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use evener_net::engine::{Owner, SocketOptions};
use evener_net::wire::checksum::Sum;
use evener_net::wire::ip::{self, protocol};
use evener_net::wire::tcp::{self, Header, flags};

use crate::network::{Network, Path, Setup};

/// A segment of the first host to a port of the second.
fn segment(
    network: &Network,
    [port, to]: [u16; 2],
    flags: u8,
    sequence: u32,
    acknowledgment: u32,
) -> Vec<u8> {
    let [source, destination] = [0, 1].map(|host| network.hosts[host].address);
    let header = Header {
        source_port: port,
        destination_port: to,
        sequence,
        acknowledgment,
        flags,
        window: 1000,
        ..Header::default()
    };
    let mut bytes = vec![0; 40];
    ip::write(
        &ip::Header::new(source, destination, protocol::TCP),
        20,
        &mut bytes,
    );
    tcp::write(&header, &mut bytes[20..]);
    let sum = Sum::pseudo(source, destination, protocol::TCP, 20).add(&bytes[20..]);
    tcp::set_checksum(&mut bytes[20..], sum.folded());
    bytes
}

#[test]
fn a_cookie_is_taken_though_a_later_syn_was_kept() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    let answered = Rc::new(Cell::new(0));
    let seen = Rc::clone(&answered);
    network.filter = Box::new(move |host, bytes| {
        if host == 1 {
            let (_, at, end) = ip::parse(bytes).unwrap();
            seen.set(tcp::parse(&bytes[at..end]).unwrap().0.sequence);
            return false;
        }
        true
    });
    let local = SocketAddr::new(network.hosts[1].address, 80);
    let engine = &mut network.hosts[1].engine;
    engine
        .listen(Owner(0), local, 1, SocketOptions::default(), false)
        .unwrap();
    let mut send = |port, flags, sequence, acknowledgment| {
        let bytes = segment(&network, [port, 80], flags, sequence, acknowledgment);
        network.inject(0, bytes);
        network.pass(Duration::from_millis(10));
        answered.get()
    };
    send(1000, flags::SYN, 7, 0);
    let cookie = send(1001, flags::SYN, 70, 0);
    send(1000, flags::RST, 8, 0);
    let kept = send(1001, flags::SYN, 70, 0);
    assert_ne!(cookie, kept);
    send(1001, flags::ACK, 71, cookie.wrapping_add(1));
    let counters = network.hosts[1].engine.counters();
    assert_eq!(
        (counters.accepted, counters.cookies_taken, counters.refused),
        (1, 1, 0)
    );
}

#[test]
fn a_flood_at_one_listener_leaves_the_backlog_of_another() {
    let mut network = Network::new(Setup::default(), Path::default(), 1);
    // The peer would reset what it does not know of.
    network.filter = Box::new(|host, _| host == 0);
    let address = network.hosts[1].address;
    let engine = &mut network.hosts[1].engine;
    for port in [80, 81] {
        let local = SocketAddr::new(address, port);
        (engine.listen(Owner(0), local, 2, SocketOptions::default(), false)).unwrap();
    }
    for (from, to, cookies) in [(1, 80, 0), (2, 80, 0), (3, 81, 0), (4, 80, 1), (5, 81, 1)] {
        let bytes = segment(&network, [from, to], flags::SYN, 7, 0);
        network.inject(0, bytes);
        network.pass(Duration::from_millis(10));
        let counters = network.hosts[1].engine.counters();
        assert_eq!(counters.cookies_sent, cookies, "{from} to {to}");
    }
}
