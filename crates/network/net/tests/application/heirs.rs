//! Applications that have what others had: a child of a process that forked.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use evener_net::client::Inheritance;
use evener_net::engine::SocketId;
use evener_net::server::Heir;
use evener_net::{Connection, Stack};

use crate::common::{Host, eventually, hosts, pattern};

fn heir(host: &Host) -> Inheritance {
    let (engine, child) = UnixStream::pair().unwrap();
    assert!(host.commands.add_heir(Heir::new(engine).unwrap()));
    Inheritance::new(child).unwrap()
}

/// What a child of `parent` is to have.
fn bequest(host: &Host, parent: &Stack, sockets: &[SocketId]) -> Inheritance {
    let inheritance = heir(host);
    parent
        .bequeath(&inheritance, sockets.iter().copied())
        .unwrap();
    inheritance
}

fn child_of(host: &Host, parent: &Stack, sockets: &[SocketId]) -> Stack {
    let inheritance = bequest(host, parent, sockets);
    let child = host.attach();
    child.inherit(&inheritance).unwrap();
    // An inheritance is taken once.
    let error = host.attach().inherit(&inheritance).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    child
}

/// A connection of a parent's, and its other end.
fn pair(hosts: &[Host; 2]) -> (Stack, Connection, Connection) {
    let (client, server) = (hosts[0].attach(), hosts[1].attach());
    let listener = server.listen(hosts[1].at(0), 5).unwrap();
    let near = client.connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap();
    far.set_read_timeout(Some(Duration::from_secs(20)));
    (client, near, far)
}

/// Whether the peer has closed, and not reset.
fn ends(far: &mut Connection) -> bool {
    matches!(far.read(&mut [0]), Ok(0))
}

fn stays(far: &mut Connection) -> bool {
    far.set_read_timeout(Some(Duration::from_millis(50)));
    let waited = far.read(&mut [0]).map_err(|error| error.kind());
    far.set_read_timeout(Some(Duration::from_secs(20)));
    waited == Err(ErrorKind::TimedOut)
}

#[test]
fn bytes_survive_any_number_of_moves() {
    let hosts = hosts();
    let (parent, near, far) = pair(&hosts);
    let id = near.link().id();
    let child = child_of(&hosts[0], &parent, &[id]);
    const LEN: usize = 3_000_000;
    // The other end sends back what it gets, in pieces that are never those that it got.
    let (mut from, mut to) = far.into_split();
    let echo = std::thread::spawn(move || {
        let mut bytes = vec![0; 7_001];
        loop {
            match from.read(&mut bytes).unwrap() {
                0 => return to.end(),
                n => to.write_all(&bytes[..n]).unwrap(),
            }
        }
    });
    // What each process has of it, of which one is in use.
    let mut ends = [Some(near), None];
    let data = pattern(0, LEN);
    let (mut sent, mut got) = (0, Vec::new());
    for turn in 0.. {
        let near = ends[turn % 2].as_mut().unwrap();
        near.set_nonblocking(true);
        for piece in 0..1 + turn % 5 {
            let len = (1 + (turn * 7919 + piece * 104_729) % 50_000).min(LEN - sent);
            sent += near.write(&data[sent..sent + len]).unwrap_or(0);
            let mut bytes = vec![0; 1 + (turn * 31 + piece) % 40_000];
            let n = near.read(&mut bytes).unwrap_or(0);
            got.extend_from_slice(&bytes[..n]);
        }
        if got.len() == LEN {
            break;
        }
        let to = if turn % 2 == 0 { &child } else { &parent };
        let moved = to.adopt(id, [false, false]).unwrap();
        eventually("the other process knows", || near.link().is_moved());
        let error = near.write(b"late").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        ends[(turn + 1) % 2] = Some(moved);
    }
    assert!(got == data);
    drop(ends);
    echo.join().unwrap();
}

#[test]
fn a_connection_ends_with_the_last_that_has_it() {
    let hosts = hosts();
    // The child used it, and closes it after or before its parent.
    for parent_first in [true, false] {
        let (parent, near, mut far) = pair(&hosts);
        let child = child_of(&hosts[0], &parent, &[near.link().id()]);
        let mut own = child.adopt(near.link().id(), [false, false]).unwrap();
        let (first, last) = if parent_first {
            own.write_all(b"x").unwrap();
            assert_eq!(far.read(&mut [0]).unwrap(), 1);
            (near, own)
        } else {
            (own, near)
        };
        drop(first);
        assert!(stays(&mut far));
        drop(last);
        assert!(ends(&mut far));
    }
    // The child was never there, or says that it does not need it.
    for released in [true, false] {
        let (parent, near, mut far) = pair(&hosts);
        let id = near.link().id();
        let inheritance = bequest(&hosts[0], &parent, &[id]);
        drop(near);
        assert!(stays(&mut far));
        if released {
            inheritance.release(id);
            inheritance.release(id);
            assert!(ends(&mut far));
        }
        drop(inheritance);
        assert!(ends(&mut far));
    }
    // The parent is gone; what the child does not use ends with the child.
    let (parent, near, mut far) = pair(&hosts);
    let child = child_of(&hosts[0], &parent, &[near.link().id()]);
    parent.close_at_end();
    let id = near.link().id();
    drop((near, parent));
    assert!(stays(&mut far));
    let mut own = child.adopt(id, [false, false]).unwrap();
    own.write_all(b"alive").unwrap();
    far.read_exact(&mut [0; 5]).unwrap();
    drop((own, child));
    assert!(ends(&mut far));
}

#[test]
fn a_stranger_has_nothing() {
    let hosts = hosts();
    let (_parent, near, mut far) = pair(&hosts);
    let listener = _parent.listen(hosts[0].at(0), 5).unwrap();
    let stranger = hosts[0].attach();
    let refused = |error: std::io::Error| error.raw_os_error() == Some(libc::EBADF);
    assert!(refused(
        stranger.adopt(near.link().id(), [false; 2]).unwrap_err()
    ));
    assert!(refused(stranger.join(listener.id()).unwrap_err()));
    stranger.release(near.link().id());
    stranger.release(listener.id());
    // Nor is what it has itself taken from it.
    assert!(refused(
        _parent.adopt(near.link().id(), [false; 2]).unwrap_err()
    ));
    assert!(stays(&mut far));
    let mut near = near;
    near.write_all(b"x").unwrap();
    assert_eq!(far.read(&mut [0]).unwrap(), 1);
}

#[test]
fn connections_come_to_those_that_accept() {
    let hosts = hosts();
    let parent = hosts[0].attach();
    let listener = parent.listen(hosts[0].at(0), 5).unwrap();
    let to = listener.local_addr().unwrap();
    let client = hosts[1].attach();
    let greet = |near: &mut Connection, far: &mut Connection| {
        near.write_all(b"hi").unwrap();
        far.set_read_timeout(Some(Duration::from_secs(20)));
        far.read_exact(&mut [0; 2]).unwrap();
    };
    // One that came before the child did is the child's, as its parent has not taken it.
    let mut early = client.connect(to).unwrap();
    let [one, other] = [(); 2].map(|()| child_of(&hosts[0], &parent, &[listener.id()]));
    let first = one.join(listener.id()).unwrap();
    greet(&mut early, &mut first.accept().unwrap());
    assert_eq!(listener.pending(), 0);
    // What a child has not taken goes to another when it ends.
    let mut waiting: Vec<Connection> = (0..4).map(|_| client.connect(to).unwrap()).collect();
    eventually("they have come", || first.pending() == 4);
    let second = other.join(listener.id()).unwrap();
    drop((first, one));
    for _ in 0..4 {
        let mut far = second.accept().unwrap();
        let from = far.peer_addr().unwrap();
        let near = waiting
            .iter_mut()
            .find(|near| near.local_addr().unwrap() == from);
        greet(near.unwrap(), &mut far);
    }
    // The parent takes its part when it says so.
    listener.set_nonblocking(true);
    listener.accept_too();
    let mut all = Vec::new();
    eventually("one comes to the parent", || {
        all.push(client.connect(to).unwrap());
        listener.accept().is_ok()
    });
    // Without any of them no connection is taken.
    drop((listener, second, other));
    let refused = client.connect(to).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn what_an_heir_has_is_counted_once() {
    let hosts = hosts();
    // It is bequeathed again and again.
    let (parent, near, mut far) = pair(&hosts);
    let id = near.link().id();
    let child = child_of(&hosts[0], &parent, &[id; 400]);
    drop(near);
    assert!(stays(&mut far));
    drop(child);
    assert!(ends(&mut far));
    // A process is the heir of two that have the same.
    let (parent, near, mut far) = pair(&hosts);
    let child = hosts[0].attach();
    for _ in 0..2 {
        let inheritance = bequest(&hosts[0], &parent, &[near.link().id()]);
        child.inherit(&inheritance).unwrap();
    }
    drop(near);
    assert!(stays(&mut far));
    drop(child);
    assert!(ends(&mut far));
    // A connection came back to its parent, which has not given back where it was before.
    let (parent, near, mut far) = pair(&hosts);
    let id = near.link().id();
    let child = child_of(&hosts[0], &parent, &[id]);
    let moved = child.adopt(id, [false, false]).unwrap();
    eventually("it moved", || near.link().is_moved());
    let back = parent.adopt(id, [false, false]).unwrap();
    let child = child_of(&hosts[0], &parent, &[id]);
    drop((moved, near, back));
    assert!(stays(&mut far));
    drop(child);
    assert!(ends(&mut far));
}

#[test]
fn an_heir_has_what_it_was_given() {
    let hosts = hosts();
    let (parent, near, mut far) = pair(&hosts);
    let (stranger, other, mut other_far) = pair(&hosts);
    let (id, others) = (near.link().id(), other.link().id());
    let none = SocketId {
        index: 77,
        generation: 77,
    };
    // What the parent does not have is passed over, first and last.
    let inheritance = bequest(&hosts[0], &parent, &[none, others, id, others, none]);
    let error = stranger.bequeath(&inheritance, [others]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
    let child = hosts[0].attach();
    child.inherit(&inheritance).unwrap();
    assert!(child.adopt(others, [false, false]).is_err());
    drop(other);
    assert!(ends(&mut other_far));
    drop(near);
    assert!(stays(&mut far));
    child.adopt(id, [false, false]).unwrap();
    assert!(ends(&mut far));
    // What it was not given is over with the parent.
    let (parent, near, mut far) = pair(&hosts);
    let _child = child_of(&hosts[0], &parent, &[]);
    drop(near);
    assert!(ends(&mut far));
}

#[test]
fn what_waits_for_an_heir_ends_with_the_last() {
    let hosts = hosts();
    let client = hosts[1].attach();
    // The child says so, ends, or was never there.
    for how in 0..3 {
        let parent = hosts[0].attach();
        let listener = parent.listen(hosts[0].at(0), 5).unwrap();
        let id = listener.id();
        let inheritance = bequest(&hosts[0], &parent, &[id]);
        let mut far = client.connect(listener.local_addr().unwrap()).unwrap();
        eventually("it has come", || listener.pending() == 1);
        drop(listener);
        assert!(stays(&mut far));
        let child = hosts[0].attach();
        if how < 2 {
            child.inherit(&inheritance).unwrap();
        }
        match how {
            0 => child.release(id),
            1 => drop(child),
            _ => drop(inheritance),
        }
        let error = far.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn an_application_that_is_cut_off_has_nothing() {
    let hosts = hosts();
    // It inherited a connection and did not use it.
    let (parent, near, mut far) = pair(&hosts);
    let (child, break_it) = hosts[0].attach_breakable();
    let inheritance = bequest(&hosts[0], &parent, &[near.link().id()]);
    child.inherit(&inheritance).unwrap();
    break_it();
    assert!(child.listen(hosts[0].at(0), 5).is_err());
    assert!(stays(&mut far));
    drop(near);
    assert!(ends(&mut far));
    // Its child has what it had.
    let (parent, break_it) = hosts[0].attach_breakable();
    let server = hosts[1].attach();
    let there = server.listen(hosts[1].at(0), 5).unwrap();
    let [near, idle] = [(); 2].map(|()| parent.connect(there.local_addr().unwrap()).unwrap());
    let [mut far, mut reset] = [(); 2].map(|()| there.accept().unwrap());
    let listener = parent.listen(hosts[0].at(0), 5).unwrap();
    let (to, id) = (listener.local_addr().unwrap(), listener.id());
    let all = [near.link().id(), idle.link().id(), id];
    let child = child_of(&hosts[0], &parent, &all);
    let mut own = child.adopt(near.link().id(), [false, false]).unwrap();
    break_it();
    // What is in the memory of the parent is lost.
    let error = reset.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(child.adopt(idle.link().id(), [false, false]).is_err());
    own.write_all(b"alive").unwrap();
    far.read_exact(&mut [0; 5]).unwrap();
    let joined = child.join(id).unwrap();
    let _client = server.connect(to).unwrap();
    joined.accept().unwrap();
    drop((own, joined));
    far.set_read_timeout(Some(Duration::from_secs(20)));
    assert!(ends(&mut far));
    let refused = server.connect(to).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}
