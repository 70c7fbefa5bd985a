//! What a connection does.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{SIZES, connected, eventually, hosts, pattern};

const BULK: usize = 8 << 20;

#[test]
fn bytes_come_as_they_were_written() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let writer = thread::spawn(move || {
        let mut at = 0;
        while at < BULK {
            let len = (1 + at % 70_001).min(BULK - at);
            near.write_all(&pattern(at, len)).unwrap();
            at += len;
        }
        near
    });
    let mut room = vec![0; 50_000];
    let mut at = 0;
    while at < BULK {
        let n = far.read(&mut room).unwrap();
        assert!(n > 0);
        assert!(room[..n] == pattern(at, n), "at {at}");
        at += n;
    }
    drop(writer.join().unwrap());
    assert_eq!(far.read(&mut room).unwrap(), 0);
}

#[test]
fn lent_bytes_come_as_they_were_written() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let writer = thread::spawn(move || {
        let mut at = 0;
        while at < BULK {
            let space = near.space().unwrap();
            let len = space.len().min(BULK - at);
            space[..len].copy_from_slice(&pattern(at, len));
            near.commit(len);
            at += len;
        }
        near.shutdown(Shutdown::Write);
        assert_eq!(near.space().unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut end = Vec::new();
        near.read_to_end(&mut end).unwrap();
        assert_eq!(end, b"all");
    });
    let mut at = 0;
    loop {
        let data = far.fill_buf().unwrap();
        if data.is_empty() {
            break;
        }
        let len = data.len();
        assert!(data == pattern(at, len), "at {at}");
        far.consume(len);
        at += len;
    }
    assert_eq!(at, BULK);
    far.write_all(b"all").unwrap();
    drop(far);
    writer.join().unwrap();
}

#[test]
fn both_halves_work_at_once() {
    let hosts = hosts();
    let (near, far) = connected(&hosts);
    let ends = [near, far].map(|connection| {
        let (mut receive, mut send) = connection.into_split();
        let writer = thread::spawn(move || {
            for at in (0..BULK / 4).step_by(10_000) {
                send.write_all(&pattern(at, 10_000)).unwrap();
            }
            send.end();
            send
        });
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            receive.read_to_end(&mut all).unwrap();
            let len = (BULK / 4).div_ceil(10_000) * 10_000;
            assert!(all == pattern(0, len));
        });
        (writer, reader)
    });
    for (writer, reader) in ends {
        reader.join().unwrap();
        writer.join().unwrap();
    }
}

#[test]
fn what_was_written_is_sent_though_all_is_dropped() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let bytes = pattern(0, SIZES.send as usize);
    near.write_all(&bytes).unwrap();
    // The stack goes with it.
    drop(near);
    eventually("the application is gone", || {
        hosts[0].commands.inspect(false).unwrap().applications == 0
    });
    let mut all = Vec::new();
    far.read_to_end(&mut all).unwrap();
    assert!(all == bytes);
}

#[test]
fn calls_that_cannot_be_are_refused() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let error = client.connect(other.at(9)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let error = client.connect("[::1]:9".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
    let listener = server.listen(other.at(80), 5).unwrap();
    let error = server.listen(other.at(80), 5).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    drop(listener);
    assert!(server.listen(other.at(80), 5).is_ok());
    let error = server.listen(one.at(80), 5).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn ends_have_addresses_options_and_measures() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    assert_eq!(near.local_addr().unwrap(), far.peer_addr().unwrap());
    assert_eq!(far.local_addr().unwrap(), near.peer_addr().unwrap());
    assert_eq!(near.local_addr().unwrap().ip(), hosts[0].address);
    near.set_nodelay(true).unwrap();
    near.set_keepalive(true).unwrap();
    near.write_all(b"x").unwrap();
    assert_eq!(far.peek(&mut [0; 9]).unwrap(), 1);
    assert_eq!(far.available(), 1);
    far.read_exact(&mut [0]).unwrap();
    eventually("it is acknowledged", || near.unsent() == 0);
    let description = near.describe().unwrap();
    assert!(description.segment > 1000 && description.congestion_window > 1000);
    assert!(description.rtt_micros > 0 && description.retransmitted == 0);
}

#[test]
fn waits_end_in_time() {
    let hosts = hosts();
    let (mut near, far) = connected(&hosts);
    near.set_read_timeout(Some(Duration::from_millis(30)));
    let start = Instant::now();
    let error = near.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() >= Duration::from_millis(30));
    near.set_write_timeout(Some(Duration::from_millis(30)));
    let error = near.write_all(&[1; 1 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    near.set_nonblocking(true);
    for _ in 0..3000 {
        assert_eq!(
            near.read(&mut [0]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        assert_eq!(near.write(&[1]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    drop(far);
    eventually("it is reset", || {
        near.read(&mut [0])
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
    });
}

#[test]
fn a_connection_that_is_aborted_is_reset() {
    let hosts = hosts();
    let (near, mut far) = connected(&hosts);
    near.abort();
    let error = far.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = far.write(&[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_listener_takes_what_was_not_accepted_with_it() {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let listener = server.listen(other.at(0), 5).unwrap();
    let mut near = client.connect(listener.local_addr().unwrap()).unwrap();
    eventually("it is accepted by the engine", || other.flows() == 1);
    drop(listener);
    let error = near.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
