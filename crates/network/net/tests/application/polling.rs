//! Pollers.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use evener_net::Poller;
use evener_net::client::{Interest, Readiness};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::common::{connected, hosts};

const CLIENTS: u64 = 12;
const ROUNDS: usize = 40;

/// Waits with the poller itself.
fn directly(poller: &Poller, events: &mut Vec<Readiness>) {
    poller.wait(events, Some(Duration::from_secs(60))).unwrap();
}

/// Waits with the operating system's `poll`.
fn by_descriptor(poller: &Poller, events: &mut Vec<Readiness>) {
    if poller.arm() {
        let mut fds = [PollFd::new(poller, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        assert_eq!(poll(&mut fds, Some(&timeout)).unwrap(), 1);
    }
    poller.wait(events, Some(Duration::ZERO)).unwrap();
}

/// One thread serves all clients.
fn one_thread_serves_many(wait: fn(&Poller, &mut Vec<Readiness>), other_threads: bool) {
    let [one, other] = hosts();
    let (client, server) = (one.attach(), other.attach());
    let listener = server.listen(other.at(0), 64).unwrap();
    let to = listener.local_addr().unwrap();
    // Another thread of the application that waits may be woken for the poller.
    let idle = other_threads.then(|| {
        let listener = server.listen(other.at(0), 1).unwrap();
        let at = listener.local_addr().unwrap();
        (at, thread::spawn(move || listener.accept().unwrap()))
    });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || {
                let mut connection = client.connect(to).unwrap();
                for round in 0..ROUNDS {
                    if round % 10 == number as usize % 10 {
                        thread::sleep(Duration::from_millis(3));
                    }
                    let bytes = [number as u8, round as u8, 3];
                    connection.write_all(&bytes).unwrap();
                    let mut back = [0; 3];
                    connection.read_exact(&mut back).unwrap();
                    assert_eq!(back, bytes);
                }
            })
        })
        .collect();
    listener.set_nonblocking(true);
    let poller = server.poller().unwrap();
    poller.add(&listener, 0, Interest::READABLE);
    let (mut connections, mut next, mut over) = (HashMap::new(), 1, 0);
    let mut events = Vec::new();
    while over < CLIENTS {
        wait(&poller, &mut events);
        for event in &events {
            if event.token == 0 {
                while let Ok(connection) = listener.accept() {
                    connection.set_nonblocking(true);
                    poller.add(&connection, next, Interest::READABLE);
                    connections.insert(next, connection);
                    next += 1;
                }
                continue;
            }
            let connection = connections.get_mut(&event.token).unwrap();
            // A byte at a time: what is left is told again.
            let mut byte = [0];
            match connection.read(&mut byte) {
                Ok(0) => {
                    connections.remove(&event.token);
                    over += 1;
                }
                Ok(_) => connection.write_all(&byte).unwrap(),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
        }
    }
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    if let Some((at, thread)) = idle {
        let _connection = client.connect(at).unwrap();
        thread.join().unwrap();
    }
}

#[test]
fn a_poller_serves_many() {
    one_thread_serves_many(directly, false);
}

#[test]
fn a_poller_serves_many_beside_a_thread_that_waits() {
    one_thread_serves_many(directly, true);
}

#[test]
fn a_descriptor_serves_many() {
    one_thread_serves_many(by_descriptor, false);
}

#[test]
fn a_descriptor_serves_many_beside_a_thread_that_waits() {
    one_thread_serves_many(by_descriptor, true);
}

#[test]
fn what_is_asked_for_is_told() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let poller = {
        let stack = hosts[0].attach();
        let other = stack.poller().unwrap();
        let mut events = vec![];
        let start = Instant::now();
        other
            .wait(&mut events, Some(Duration::from_millis(20)))
            .unwrap();
        assert!(events.is_empty() && start.elapsed() >= Duration::from_millis(20));
        near.stack().poller().unwrap()
    };
    assert!(poller.as_fd().try_clone_to_owned().is_ok());
    let mut events = Vec::new();
    let mut told = |poller: &Poller| {
        poller
            .wait(&mut events, Some(Duration::from_millis(200)))
            .unwrap();
        events.clone()
    };
    poller.add(&near, 7, Interest::WRITABLE);
    let writable = Readiness {
        token: 7,
        readable: false,
        writable: true,
        closed: false,
    };
    assert_eq!(told(&poller), [writable]);
    assert_eq!(told(&poller), [writable]);
    // Until the rings of both ends are full.
    near.set_write_timeout(Some(Duration::from_millis(300)));
    while near.write(&[1; 4096]).is_ok() {}
    poller.add(&near, 8, Interest::BOTH);
    far.write_all(b"x").unwrap();
    let readable = Readiness {
        token: 8,
        readable: true,
        writable: false,
        closed: false,
    };
    assert_eq!(told(&poller), [readable]);
    near.read_exact(&mut [0]).unwrap();
    poller.remove(&near);
    far.write_all(b"y").unwrap();
    assert_eq!(told(&poller), []);
    poller.add(&near, 9, Interest::READABLE);
    assert_eq!(told(&poller)[0].token, 9);
}

/// Two threads wait by the descriptors of a poller each. What rings for one wakes both, and the first to look is not the one
/// that it is for: it takes the ring, and goes.
#[test]
fn one_that_goes_takes_no_wake_up_of_another() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let stack = near.stack();
    let is_readable = |fd: &dyn AsFd, time: Duration| {
        let fd = fd.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        let timeout = Timespec::try_from(time).unwrap();
        poll(&mut fds, Some(&timeout)).unwrap() == 1
    };
    for alarm in [false, true] {
        let poller = stack.poller().unwrap();
        poller.add(&near, 1, Interest::READABLE);
        let mut events = Vec::new();
        while !poller.arm() {
            poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
            assert!(events.is_empty());
        }
        let long = Duration::from_secs(60);
        let (first, second) = (stack.poller().unwrap(), stack.alarm().unwrap());
        match alarm {
            false => assert!(first.arm()),
            true => second.arm(),
        }
        assert!(!is_readable(&poller, Duration::ZERO));
        far.write_all(b"x").unwrap();
        assert!(match alarm {
            false => is_readable(&first, long),
            true => is_readable(&second, long),
        });
        drop((first, second));
        assert!(is_readable(&poller, long));
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 1);
        near.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn the_longest_of_timeouts_are_for_ever() {
    let hosts = hosts();
    let (mut near, mut far) = connected(&hosts);
    let poller = near.stack().poller().unwrap();
    poller.add(&near, 1, Interest::READABLE);
    near.set_read_timeout(Some(Duration::MAX));
    near.stack().set_spin(Duration::ZERO);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        far.write_all(b"x").unwrap();
        far
    });
    let mut events = Vec::new();
    poller.wait(&mut events, Some(Duration::MAX)).unwrap();
    assert_eq!(events.len(), 1);
    near.read_exact(&mut [0]).unwrap();
    let mut far = thread.join().unwrap();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        far.write_all(b"y").unwrap();
        far
    });
    near.read_exact(&mut [0]).unwrap();
    thread.join().unwrap();
}
