//! The engine ends: every call that waits returns.

use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evener_net::client::Interest;

use crate::common::{connected, hosts};

/// What was reported within some seconds.
fn within<T>(reports: &mpsc::Receiver<T>) -> T {
    reports
        .recv_timeout(Duration::from_secs(60))
        .expect("no call hangs")
}

#[test]
fn every_call_that_waits_returns_when_the_engine_ends() {
    let mut hosts = hosts();
    let (near, _far) = connected(&hosts);
    let stack = near.stack();
    let (report, reports) = mpsc::channel();
    let start = |f: Box<dyn FnOnce() -> ErrorKind + Send>| {
        let report = report.clone();
        thread::spawn(move || report.send(f()).unwrap());
    };
    let listener = stack.listen(hosts[0].at(0), 1).unwrap();
    start(Box::new(move || listener.accept().unwrap_err().kind()));
    // No packet comes back from there.
    let (other, nowhere) = (stack.clone(), "10.0.0.77:1".parse().unwrap());
    start(Box::new(move || other.connect(nowhere).unwrap_err().kind()));
    let poller = stack.poller().unwrap();
    let (watched, _peer) = connected(&hosts);
    let other = watched.stack().poller().unwrap();
    other.add(&watched, 1, Interest::READABLE);
    start(Box::new(move || {
        let mut events = Vec::new();
        other.wait(&mut events, None).unwrap();
        assert!(events[0].closed && watched.available() == 0);
        ErrorKind::ConnectionReset
    }));
    start(Box::new(move || {
        poller.wait(&mut Vec::new(), None).unwrap_err().kind()
    }));
    let (mut receive, mut send) = near.into_split();
    start(Box::new(move || receive.read(&mut [0]).unwrap_err().kind()));
    start(Box::new(move || {
        send.write_all(&vec![1; 1 << 20]).unwrap_err().kind()
    }));
    thread::sleep(Duration::from_millis(100));
    assert!(reports.try_recv().is_err());
    hosts[0].stop();
    for _ in 0..6 {
        assert_eq!(within(&reports), ErrorKind::ConnectionReset);
    }
    let error = stack.connect(hosts[1].at(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_connection_that_never_waits_finds_out_too() {
    let mut hosts = hosts();
    let (mut near, _far) = connected(&hosts);
    near.set_nonblocking(true);
    hosts[0].stop();
    let end = (0..10_000).find_map(|_| match near.read(&mut [0]) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Some(error.kind()),
        _ => None,
    });
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
}

/// One that only writes, with room for all of it.
#[test]
fn what_is_written_to_an_engine_that_has_ended_fails() {
    let mut hosts = hosts();
    let (mut near, _far) = connected(&hosts);
    let stack = near.stack();
    let mut socket = stack.bind_udp(hosts[0].at(0)).unwrap();
    let to = hosts[1].at(9);
    near.write_all(b"before").unwrap();
    hosts[0].stop();
    let error = near.write(b"after").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = socket.send_to(b"after", to).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(near.space().unwrap_err().kind(), ErrorKind::ConnectionReset);
}
