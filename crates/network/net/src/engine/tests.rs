//! What an application can make grow.

use std::io;
use std::os::fd::BorrowedFd;

use super::*;
use crate::datagram::{self, MAX_DATAGRAMS, Record};
use crate::device::{Device, Medium};
use crate::packet::Outgoing;

const CAPABILITIES: Capabilities = Capabilities {
    medium: Medium::Ip,
    mtu: 1500,
    tcp_segments: 1500,
    udp_segments: 1500,
    checksums: false,
};

/// A device that takes so many packets.
struct Limited(usize);

impl Device for Limited {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8], Offload)) -> io::Result<usize> {
        Ok(0)
    }

    fn send(&mut self, _: Outgoing<'_>) -> io::Result<bool> {
        let has_room = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        Ok(has_room)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn engine() -> Engine<PrivateMemory> {
    let config = Config {
        addresses: vec!["10.0.0.1/24".parse().unwrap()],
        ..Config::default()
    };
    Engine::new(config, CAPABILITIES, PrivateMemory::new(1 << 17))
}

fn bound(engine: &mut Engine<PrivateMemory>, port: u16) -> SocketId {
    let local = SocketAddr::new([10, 0, 0, 1].into(), port);
    (engine.bind_datagrams(Owner(0), local, None, false)).unwrap()
}

fn write(engine: &mut Engine<PrivateMemory>, socket: SocketId, record: &Record) {
    let slot = engine.slot(socket).unwrap();
    let (mut writer, _) = engine.memory().ends(slot);
    let payload = vec![0; record.len];
    assert!(datagram::write(&mut writer, record, &payload));
    engine.notify(socket);
}

fn to(len: usize, segment: u16) -> Record {
    let remote = "10.0.0.2:9".parse().unwrap();
    Record {
        len,
        segment,
        remote,
    }
}

#[test]
fn sockets_that_come_and_go_leave_nothing_in_queues() {
    let mut engine = engine();
    let mut full = Limited(0);
    let waits = bound(&mut engine, 7);
    write(&mut engine, waits, &to(10, 0));
    let remote = "10.0.0.2:80".parse().unwrap();
    for _ in 0..5000 {
        let options = SocketOptions::default();
        let connected = engine.connect(Time::ZERO, Owner(0), None, remote, options);
        engine.abort(connected.unwrap());
        let socket = bound(&mut engine, 8);
        engine.notify(socket);
        engine.close(Time::ZERO, socket);
        assert!(engine.transmit(Time::ZERO, &mut full).unwrap());
        while engine.next_event().is_some() {}
    }
    assert!(engine.ready.len() <= 2, "{}", engine.ready.len());
    let ready = engine.datagrams.ready.len();
    assert!(ready <= 2, "{ready}");
    // What is new is sent all the same.
    let socket = bound(&mut engine, 8);
    write(&mut engine, socket, &to(10, 0));
    assert!(!engine.transmit(Time::ZERO, &mut Limited(9)).unwrap());
    assert_eq!(engine.counters().bytes_out, 20);
    assert!(engine.ready.is_empty() && engine.datagrams.ready.is_empty());
}

#[test]
fn a_number_of_a_socket_that_is_gone_names_no_other() {
    let mut engine = engine();
    let first = bound(&mut engine, 7);
    engine.close(Time::ZERO, first);
    let second = bound(&mut engine, 7);
    assert_eq!(first.index, second.index, "the place is used again");
    assert_eq!(engine.slot(first), None);
    assert_eq!(engine.ends(first), None);
    assert_eq!(engine.place(first), None);
    let elsewhere = SocketAddr::new([10, 0, 0, 1].into(), 9);
    let moved = engine.reconnect_datagrams(first, elsewhere, None);
    assert_eq!(moved, Err(SocketError::Gone));
    engine.close(Time::ZERO, first);
    assert!(engine.slot(second).is_some());
}

#[test]
fn one_record_is_few_packets() {
    let mut engine = engine();
    let (greedy, other) = (bound(&mut engine, 7), bound(&mut engine, 8));
    write(&mut engine, greedy, &to(MAX_DATAGRAMS, 1));
    write(&mut engine, greedy, &to(datagram::MAX_PAYLOAD, 1));
    write(&mut engine, other, &to(100, 0));
    let device = &mut Limited(usize::MAX);
    assert!(!engine.transmit(Time::ZERO, device).unwrap());
    let packets = engine.counters().packets_out;
    assert_eq!(packets, MAX_DATAGRAMS as u64 + 1);
    let event = std::iter::from_fn(|| engine.next_event())
        .find(|event| event.reason == Some(Reason::Corrupt));
    assert_eq!(event.map(|event| event.socket), Some(greedy));
}

/// An application may write as fast as the engine sends.
#[test]
fn sockets_send_so_much_at_a_time() {
    for record in [
        to(0, 0),
        Record {
            remote: "0.0.0.0:0".parse().unwrap(),
            ..to(0, 0)
        },
    ] {
        let mut engine = engine();
        let socket = bound(&mut engine, 7);
        let slot = engine.slot(socket).unwrap();
        let (mut writer, _) = engine.memory().ends(slot);
        let mut written = 0;
        while datagram::write(&mut writer, &record, &[]) {
            written += 1;
        }
        engine.notify(socket);
        let device = &mut Limited(usize::MAX);
        let mut calls = 0;
        loop {
            let before = writer.unsent();
            assert!(!engine.transmit(Time::ZERO, device).unwrap());
            calls += 1;
            let sent = (before - writer.unsent()) / datagram::LEN;
            assert!(sent <= 1024, "{sent}");
            if engine.next_deadline() > Time::ZERO {
                break;
            }
        }
        let counters = engine.counters();
        assert_eq!(counters.packets_out + counters.datagrams_dropped, written);
        assert!(calls > 3 && writer.unsent() == 0);
    }
}

#[test]
fn a_socket_does_not_move_to_the_address_of_another() {
    let mut engine = engine();
    let (victim, other) = (bound(&mut engine, 53), bound(&mut engine, 54));
    let (local, _) = engine.ends(victim).unwrap();
    let peer = "10.0.0.2:9".parse().unwrap();
    for remote in [None, Some(peer)] {
        let moved = engine.reconnect_datagrams(other, local, remote);
        assert_eq!(moved, Err(SocketError::InUse));
    }
    assert_eq!(
        engine.reconnect_datagrams(victim, local, Some(peer)),
        Ok(())
    );
    assert_eq!(engine.reconnect_datagrams(victim, local, None), Ok(()));
}

#[test]
fn a_search_for_a_port_ends() {
    let mut engine = engine();
    let taken: Vec<_> = (0..40_000)
        .map_while(|_| {
            let local = SocketAddr::new([10, 0, 0, 1].into(), 0);
            let options = SocketOptions::default();
            engine.listen(Owner(0), local, 1, options, false).ok()
        })
        .collect();
    let count = taken.len();
    assert!((8_000..16_384).contains(&count), "{count}");
}
