//! Sockets of UDP.

use std::io::ErrorKind;
use std::time::Duration;

use evener_net::client::Interest;

use crate::common::{hosts, pattern};

#[test]
fn datagrams_come_whole_and_with_their_sender() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let mut far = server.bind_udp(other.at(53)).unwrap();
    let mut near = client.bind_udp(one.at(0)).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(60)));
    let mut room = vec![0; 70_000];
    for len in [0, 1, 7, 512, 1400, 1472] {
        let bytes = pattern(len, len);
        near.send_to(&bytes, other.at(53)).unwrap();
        let (n, from) = far.recv_from(&mut room).unwrap();
        assert_eq!(from, near.local_addr().unwrap());
        assert!(room[..n] == bytes);
    }
    // Those that have no room are cut.
    near.send_to(&pattern(0, 100), other.at(53)).unwrap();
    assert_eq!(far.recv_from(&mut room[..10]).unwrap().0, 10);
    let mut connected = client.connect_udp(one.at(0), other.at(53)).unwrap();
    connected.send(b"to the peer").unwrap();
    let (n, from) = far.recv_from(&mut room).unwrap();
    assert_eq!(&room[..n], b"to the peer");
    far.send_to(b"back", from).unwrap();
    connected.set_read_timeout(Some(Duration::from_secs(60)));
    assert_eq!(connected.recv_from(&mut room).unwrap(), (4, other.at(53)));
    let error = near.send_to(&vec![0; 66_000], other.at(53)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
}

#[test]
fn several_datagrams_go_under_one_header() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let mut far = server.bind_udp(other.at(53)).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(60)));
    let mut near = client.bind_udp(one.at(0)).unwrap();
    let bytes = pattern(0, 10_050);
    near.send_segments(&bytes, 1000, Some(other.at(53)))
        .unwrap();
    let (mut room, mut all) = (vec![0; 70_000], Vec::new());
    while all.len() < bytes.len() {
        let record = far.recv_segments(&mut room).unwrap();
        assert!(record.segment == 1000 || record.segment == 0 && record.len <= 1000);
        all.extend_from_slice(&room[..record.len]);
    }
    assert!(all == bytes);
}

#[test]
fn sockets_of_udp_wait_poll_and_refuse() {
    let [_one, other] = hosts();
    let server = other.attach();
    let mut socket = server.bind_udp(other.at(53)).unwrap();
    let error = server.bind_udp(other.at(53)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    socket.set_nonblocking(true);
    let error = socket.recv_from(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    socket.set_nonblocking(false);
    socket.set_read_timeout(Some(Duration::from_millis(20)));
    let error = socket.recv_from(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let poller = server.poller().unwrap();
    poller.add(&socket, 4, Interest::BOTH);
    let mut events = Vec::new();
    poller.wait(&mut events, None).unwrap();
    assert!(events[0].writable && !events[0].readable && events[0].token == 4);
    drop(socket);
    assert!(server.bind_udp(other.at(53)).is_ok());
}

#[test]
fn a_sender_waits_for_room_and_what_it_wrote_is_sent_though_it_is_gone() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let mut far = server.bind_udp(other.at(53)).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(60)));
    let mut near = client.bind_udp(one.at(0)).unwrap();
    near.set_write_timeout(Some(Duration::from_secs(60)));
    // Many times what the ring has room for: most of it is lost at the other end, and none of it waits for ever.
    for _ in 0..3000 {
        near.send_to(&pattern(0, 1400), other.at(53)).unwrap();
    }
    let mut last = server.bind_udp(other.at(55)).unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60)));
    near.send_to(b"the end", other.at(55)).unwrap();
    drop(near);
    let mut room = [0; 2000];
    let (n, _) = last.recv_from(&mut room).unwrap();
    assert_eq!(&room[..n], b"the end");
    let (n, _) = far.recv_from(&mut room).unwrap();
    assert_eq!(&room[..n], pattern(0, 1400));
}
