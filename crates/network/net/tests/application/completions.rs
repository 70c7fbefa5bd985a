//! Operations that are posted and finish later.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use evener_net::{Completion, Completions};

use crate::common::{SIZES, connected, hosts, pattern};

/// The next that finishes.
fn next(completions: &mut Completions) -> Completion {
    let mut finished = Vec::new();
    let timeout = Some(Duration::from_secs(60));
    completions.wait(&mut finished, timeout).unwrap();
    assert_eq!(finished.len(), 1, "{finished:?}");
    finished.remove(0)
}

/// All that has come, in place.
fn take(completions: &mut Completions, connection: u64, len: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < len {
        let data = completions.data(connection).to_vec();
        assert!(!data.is_empty());
        completions.consume(connection, data.len());
        all.extend(data);
    }
    assert_eq!(all.len(), len);
    all
}

#[test]
fn what_is_posted_finishes_with_its_number() {
    let hosts = hosts();
    let (near, mut far) = connected(&hosts);
    let mut completions = near.stack().completions().unwrap();
    let connection = completions.add(near);
    completions.read(connection, 7, 10).unwrap();
    completions.read(connection, 8, 1).unwrap();
    completions.write(connection, 9, pattern(0, 1000)).unwrap();
    let written = next(&mut completions);
    assert_eq!((written.number, written.connection), (9, connection));
    assert_eq!(written.result.unwrap(), 1000);
    assert_eq!(written.buffer, pattern(0, 1000));
    let mut bytes = vec![0; 1000];
    far.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, pattern(0, 1000));
    // Fewer than the read asks for.
    far.write_all(b"123456789").unwrap();
    let mut finished = Vec::new();
    let timeout = Some(Duration::from_millis(50));
    completions.wait(&mut finished, timeout).unwrap();
    assert!(finished.is_empty() && completions.data(connection).is_empty());
    far.write_all(b"0").unwrap();
    let read = next(&mut completions);
    assert_eq!((read.number, read.result.unwrap()), (7, 10));
    // It stays until it is consumed, and what comes is behind it.
    far.write_all(b"more").unwrap();
    let mut more = next(&mut completions);
    assert_eq!(more.number, 8);
    assert_eq!(&completions.data(connection)[..10], b"1234567890");
    let mut len = more.result.unwrap();
    while len < 4 {
        completions.read(connection, 8, 1).unwrap();
        more = next(&mut completions);
        len += more.result.unwrap();
    }
    assert_eq!(take(&mut completions, connection, 14), b"1234567890more");
}

/// More than the rings hold, both ways, in place and with copies, by one thread that waits and one that polls.
#[test]
fn streams_go_both_ways() {
    const TOTAL: usize = 40 * SIZES.send as usize;
    const STEP: usize = SIZES.send as usize / 5;
    for polls in [false, true] {
        let hosts = hosts();
        let (near, far) = connected(&hosts);
        let (mut receive, mut send) = far.into_split();
        let writer = thread::spawn(move || {
            send.write_all(&pattern(3, TOTAL)).unwrap();
            send
        });
        let reader = thread::spawn(move || {
            let mut bytes = vec![0; TOTAL];
            receive.read_exact(&mut bytes).unwrap();
            bytes == pattern(5, TOTAL)
        });
        let mut completions = near.stack().completions().unwrap();
        let connection = completions.add(near);
        let (mut sent, mut received) = (0, 0);
        completions.read(connection, 0, STEP).unwrap();
        completions.send(connection, 1, STEP).unwrap();
        let mut finished = Vec::new();
        while sent < TOTAL || received < TOTAL {
            match polls {
                true => completions.poll(&mut finished).unwrap(),
                false => {
                    let timeout = Some(Duration::from_secs(20));
                    completions.wait(&mut finished, timeout).unwrap();
                    assert!(!finished.is_empty());
                }
            }
            for completion in finished.drain(..) {
                let len = completion.result.unwrap();
                match completion.number {
                    0 => {
                        let bytes = take(&mut completions, connection, len);
                        assert!(bytes == pattern(3 + received, len));
                        received += len;
                        let next = STEP.min(TOTAL - received);
                        if next > 0 {
                            completions.read(connection, 0, next).unwrap();
                        }
                    }
                    1 => {
                        let mut left = len;
                        while left > 0 {
                            let space = completions.space(connection);
                            let some = space.len();
                            space.copy_from_slice(&pattern(5 + sent, some));
                            completions.commit(connection, some);
                            sent += some;
                            left -= some;
                        }
                        let step = STEP.min(TOTAL - sent);
                        if step > 0 {
                            // One that fits, and one that is larger than the ring.
                            if sent + 2 * SIZES.send as usize > TOTAL {
                                completions.send(connection, 1, step).unwrap();
                            } else {
                                let bytes = pattern(5 + sent, SIZES.send as usize + 77);
                                completions.write(connection, 2, bytes).unwrap();
                            }
                        }
                    }
                    _ => {
                        sent += len;
                        assert_eq!(completion.buffer.len(), len);
                        completions.send(connection, 1, STEP).unwrap();
                    }
                }
            }
        }
        assert!(reader.join().unwrap());
        drop(writer.join().unwrap());
    }
}

#[test]
fn ends_and_errors_finish_what_is_posted() {
    let mut hosts = hosts();
    let (near, mut far) = connected(&hosts);
    let stack = near.stack();
    let mut completions = stack.completions().unwrap();
    let connection = completions.add(near);
    let error = completions.read(connection, 0, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(completions.send(connection, 0, 0).is_err());
    assert!(completions.read(77, 0, 1).is_err());
    // The peer sends fewer bytes than are asked for, and no more.
    completions.read(connection, 1, 100).unwrap();
    completions.read(connection, 2, 100).unwrap();
    far.write_all(b"short").unwrap();
    far.shutdown(Shutdown::Write);
    let mut finished = Vec::new();
    while finished.len() < 2 {
        let timeout = Some(Duration::from_secs(60));
        let before = finished.len();
        completions.wait(&mut finished, timeout).unwrap();
        assert!(finished.len() > before);
    }
    let results: Vec<_> = (finished.drain(..))
        .map(|completion| (completion.number, completion.result.unwrap()))
        .collect();
    assert_eq!(results, [(1, 5), (2, 0)]);
    assert_eq!(take(&mut completions, connection, 5), b"short");
    // The connection comes back.
    let mut near = completions.remove(connection).unwrap();
    near.write_all(b"back").unwrap();
    far.read_exact(&mut [0; 4]).unwrap();
    let connection = completions.add(near);
    completions.write(connection, 3, vec![1; 1 << 20]).unwrap();
    hosts[0].stop();
    let failed = next(&mut completions);
    assert_eq!((failed.number, failed.buffer.len()), (3, 1 << 20));
    let error = failed.result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    completions.read(connection, 4, 1).unwrap();
    let error = next(&mut completions).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// One that only polls finds out that its engine has ended, though nothing tells it.
#[test]
fn one_that_polls_finds_out_that_the_engine_has_ended() {
    let mut hosts = hosts();
    let (near, _far) = connected(&hosts);
    let mut completions = near.stack().completions().unwrap();
    let connection = completions.add(near);
    completions.read(connection, 1, 1).unwrap();
    hosts[0].stop();
    let mut finished = Vec::new();
    while finished.is_empty() {
        completions.poll(&mut finished).unwrap();
    }
    let error = finished.remove(0).result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
