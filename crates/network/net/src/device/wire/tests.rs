use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_get_seals, fcntl_getfl, fcntl_setfl};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::*;
use crate::memory::Span;
use crate::packet::Checksum;

fn outgoing<'a>(bytes: &'a [u8], offload: Offload) -> Outgoing<'a> {
    let (header, payload) = bytes.split_at(bytes.len().min(40));
    let (first, second) = payload.split_at(payload.len() / 2);
    Outgoing {
        header,
        payload: [first.into(), second.into()],
        offload,
    }
}

/// Sleeps as an engine does, and says whether it was woken within a second.
fn wait(wire: &mut Wire) -> bool {
    if !wire.before_wait() {
        return true;
    }
    let fd = wire.readable().expect("a wire can be waited for");
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&second)).expect("a wait") > 0
}

/// Packets of lengths and contents that their number decides, from one thread to another, which both sleep at times.
fn stress(mut from: Wire, mut to: Wire, count: u32, nap: u32) {
    let len = |number: u32| (number.wrapping_mul(2_654_435_761) >> 16) as usize % 3000 + 4;
    let sender = thread::spawn(move || {
        let mut bytes = vec![0; 4000];
        for number in 0..count {
            let bytes = &mut bytes[..len(number)];
            bytes.fill(number as u8);
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            let offload = Offload {
                segment: number as u16,
                checksum: Checksum::Partial,
            };
            while !from.send(outgoing(bytes, offload)).expect("a right peer") {
                assert!(wait(&mut from), "no wake-up for room");
            }
            if number % nap == 0 {
                from.flush().expect("a right peer");
            }
            if number % (16 * nap) == 0 {
                thread::sleep(Duration::from_micros(100));
            }
        }
        from.flush().expect("a right peer");
        // The ring outlives the sender.
        from
    });
    let mut next = 0;
    while next < count {
        let got = to
            .receive(64, &mut |bytes, offload| {
                assert_eq!(bytes[..4], next.to_le_bytes());
                assert_eq!(bytes.len(), len(next));
                assert!(bytes[4..].iter().all(|byte| *byte == next as u8));
                assert_eq!(offload.segment, next as u16);
                assert_eq!(offload.checksum, Checksum::Partial);
                next += 1;
            })
            .expect("a right peer");
        if got == 0 {
            assert!(wait(&mut to), "no wake-up for a packet");
        }
        if next % (nap * 64) < 8 {
            thread::sleep(Duration::from_micros(50));
        }
    }
    sender.join().expect("the sender");
}

#[test]
fn packets_arrive_and_sleepers_wake() {
    for nap in [1, 7, 200] {
        let [one, other] = Wire::pair(1500, true).expect("a wire");
        stress(one, other, 40_000, nap);
    }
    // The other direction.
    let [one, other] = Wire::pair(1500, true).expect("a wire");
    stress(other, one, 40_000, 3);
}

#[test]
fn two_ends_meet_however_they_come_upon_a_dead_socket() {
    for _ in 0..200 {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("wire");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        thread::scope(|scope| {
            let ends = [0, 1].map(|_| scope.spawn(|| Wire::meet(&path, 1500, false)));
            let [_one, _other] = ends.map(|end| end.join().expect("a thread").expect("a wire"));
        });
        let left = std::fs::read_dir(directory.path()).expect("the directory");
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn two_ends_meet_at_a_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("wire");
    // What a process that died left there.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    let ends: Vec<_> = (0..2)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || Wire::meet(&path, 9000, false))
        })
        .collect();
    let mut ends: Vec<Wire> = ends
        .into_iter()
        .map(|end| end.join().expect("a thread").expect("a wire"))
        .collect();
    assert!(!path.exists(), "a third process finds nothing");
    let capabilities = ends[0].capabilities();
    assert_eq!((capabilities.mtu, capabilities.tcp_segments), (9000, 9000));
    let (one, other) = (ends.remove(0), ends.remove(0));
    stress(one, other, 1000, 10);
}

#[test]
fn a_peer_that_is_gone_is_found_after_what_it_sent() {
    let [mut one, mut other] = Wire::pair(1500, true).expect("a wire");
    one.send(outgoing(&[5; 100], Offload::default()))
        .expect("a right peer");
    one.flush().expect("a right peer");
    drop(one);
    let mut count = 0;
    assert_eq!(
        other
            .receive(8, &mut |bytes, _| count += bytes.len())
            .expect("a packet"),
        1
    );
    assert_eq!(count, 100);
    assert!(wait(&mut other));
    let error = other.receive(8, &mut |_, _| ()).expect_err("no peer");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);

    // Also by one that never waits.
    let [one, mut other] = Wire::pair(1500, true).expect("a wire");
    drop(one);
    let start = Instant::now();
    while other.receive(8, &mut |_, _| ()).is_ok() {
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_wire_without_offload_takes_no_super_segments() {
    let [one, _other] = Wire::pair(1500, false).expect("a wire");
    let capabilities = one.capabilities();
    assert_eq!(capabilities.tcp_segments, 1500);
    assert_eq!(capabilities.udp_segments, 1500);
    assert!(!capabilities.checksums);
}

#[test]
fn a_hostile_peer_cannot_make_an_end_block() {
    let (hostile, own) = UnixStream::pair().expect("a pair");
    let peer = thread::spawn(move || {
        // It takes what it is sent, and leaves the other end no file that writing to could block.
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(8))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut hello = [0; 8];
        let mut parts = [IoSliceMut::new(&mut hello)];
        recvmsg(&hostile, &mut parts, &mut control, RecvFlags::empty()).expect("a hello");
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                files.extend(sent);
            }
        }
        for file in &files {
            let flags = fcntl_getfl(file).expect("flags");
            fcntl_setfl(file, flags & !OFlags::NONBLOCK).expect("flags");
            if fcntl_get_seals(file).is_err() {
                let _ = rustix::io::write(file, &(u64::MAX - 1).to_ne_bytes());
            }
        }
        hostile.set_nonblocking(false).expect("a socket");
        (hostile, files)
    });
    let end = connect::offer(own).expect("an end");
    let asleep = Span::new(&end.memory, RING_LEN, RING_LEN);
    let mut wire = Wire::new(end, 1500, true);
    let _kept = peer.join().expect("the peer");
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..10_000 {
            // The peer says that it sleeps, and never answers the bell.
            asleep
                .half_word(ring::CONSUMER_WAITS)
                .store(1, Ordering::Relaxed);
            wire.flush().expect("a wire");
        }
        tell.send(()).expect("the test waits");
    });
    let done = told.recv_timeout(Duration::from_secs(10));
    assert!(done.is_ok(), "an end blocks");
}
