use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Salts that no two tunnels share.
fn tunnel(secret: u8, whose: u8) -> Tunnel {
    let mut number = 0u32;
    let salts = move || {
        number += 1;
        let mut salt = [whose; 24];
        salt[..4].copy_from_slice(&number.to_be_bytes());
        salt
    };
    Tunnel::new(&[secret; 32], Box::new(salts))
}

/// Has `to` open an empty packet of `from`, if there is a session. False if it has no key for it, or it came before.
fn pass(from: &mut Tunnel, to: &mut Tunnel) -> bool {
    let Some((direction, number)) = from.seal(1) else {
        return false;
    };
    open(to, &direction, number)
}

fn open(to: &mut Tunnel, direction: &Direction, number: u64) -> bool {
    let mut sealed = [0; 16];
    let nonce = [3; 12];
    direction.key.seal(&nonce, b"", b"", &mut sealed);
    let found = to
        .opens()
        .into_iter()
        .find(|own| own.name == direction.name);
    let genuine = found.is_some_and(|own| own.key.open(&nonce, b"", &sealed, &mut []).is_ok());
    genuine && to.opened(direction.name, number)
}

/// Delivers a message, and all that follows from it.
fn deliver(now: Time, from: &mut Tunnel, to: &mut Tunnel, message: [u8; MESSAGE]) {
    let (answer, confirms) = to.receive(now, &message);
    if confirms {
        pass(to, from);
    }
    if let Some(answer) = answer {
        deliver(now, to, from, answer);
    }
}

fn meet(a: &mut Tunnel, b: &mut Tunnel) {
    let hello = a.advance(Time::ZERO).expect("a hello");
    deliver(Time::ZERO, a, b, hello);
}

#[test]
fn two_ends_come_to_a_session() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(1, b'b'));
    assert!(a.seal(1).is_none());
    meet(&mut a, &mut b);
    assert!(pass(&mut a, &mut b) && pass(&mut b, &mut a));
    assert_eq!(a.next_deadline(), Time::NEVER);
    assert_eq!(b.next_deadline(), Time::NEVER);
    // Each direction has a key of its own.
    let (forth, back) = (a.seal(1).expect("a session").0, b.seal(1).expect("one").0);
    assert_ne!(forth.name, back.name);
    assert!(!open(&mut a, &forth, 100));
    // A packet comes once.
    let (direction, number) = a.seal(1).expect("a session");
    assert!(open(&mut b, &direction, number) && !open(&mut b, &direction, number));
}

#[test]
fn an_end_with_another_key_is_rejected() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(2, b'b'));
    for _ in 0..3 {
        meet(&mut a, &mut b);
        a.again = Time::ZERO;
    }
    assert_eq!((b.rejected, b.sessions.len(), a.sessions.len()), (3, 0, 0));
    assert!(a.seal(1).is_none() && b.seal(1).is_none());
}

#[test]
fn an_end_that_began_anew_is_met_again() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(1, b'b'));
    meet(&mut a, &mut b);
    let mut c = tunnel(1, b'c');
    meet(&mut c, &mut b);
    assert!(pass(&mut b, &mut c) && pass(&mut c, &mut b));
}

#[test]
fn a_session_is_renewed_and_nothing_is_lost() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(1, b'b'));
    meet(&mut a, &mut b);
    let (before, _) = a.seal(RENEW_AFTER).expect("a session");
    let hello = a.advance(a.next_deadline()).expect("a hello");
    // Until the other end has it, packets go in the session before.
    let (answer, _) = b.receive(Time::ZERO, hello.first_chunk().expect("all"));
    let (confirmation, _) = a.receive(Time::ZERO, &answer.expect("an answer"));
    assert_eq!(a.seal(1).expect("a session").0.name, before.name);
    assert!(pass(&mut a, &mut b) && pass(&mut b, &mut a));
    deliver(
        Time::ZERO,
        &mut a,
        &mut b,
        confirmation.expect("a confirmation"),
    );
    assert_ne!(a.seal(1).expect("a session").0.name, before.name);
    assert!(pass(&mut a, &mut b) && pass(&mut b, &mut a));
    // One of the session before may still be on its way.
    assert!(open(&mut b, &before, RENEW_AFTER + 9));
    assert_eq!(a.next_deadline(), Time::NEVER);
}

#[test]
fn a_session_ends_at_its_limit() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(1, b'b'));
    meet(&mut a, &mut b);
    let used = a.sealing().expect("a session").next;
    assert!(a.seal(MOST - used).is_some());
    assert!(a.seal(1).is_none());
}

#[test]
fn a_session_that_is_not_confirmed_is_given_up() {
    let (mut a, mut b) = (tunnel(1, b'a'), tunnel(1, b'b'));
    let hello = a.advance(Time::ZERO).expect("a hello");
    let (answer, _) = b.receive(Time::ZERO, &hello);
    a.receive(Time::ZERO, &answer.expect("an answer"));
    let kinds: Vec<u8> = (0..ATTEMPTS + 1)
        .map(|_| a.advance(a.next_deadline()).expect("a message")[1])
        .collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == 3).count(), 20);
    assert_eq!(kinds.last(), Some(&1));
    assert!(a.seal(1).is_none());
}

proptest! {
    /// Messages are lost, doubled, held back, replayed at any time, and ends begin anew. No key has a number twice, and
    /// when the network is good again, the ends meet.
    #[test]
    fn no_nonce_is_used_twice(steps in proptest::collection::vec((0..8u8, any::<u16>()), 1..200)) {
        let mut ends = [tunnel(1, 0), tunnel(1, 1)];
        let mut now = Time::ZERO;
        // What was ever sent, and to which end.
        let mut sent: Vec<(usize, [u8; MESSAGE])> = Vec::new();
        let mut used = HashSet::new();
        for (number, (step, choice)) in steps.into_iter().enumerate() {
            let end = usize::from(choice) % 2;
            match step {
                0 | 1 => {
                    now = now + AGAIN;
                    sent.extend(ends[end].advance(now).map(|message| (1 - end, message)));
                }
                2..=5 if !sent.is_empty() => {
                    // The latest more often than what is old.
                    let back = match step {
                        2 | 3 => usize::from(choice) % sent.len().min(3),
                        _ => usize::from(choice) % sent.len(),
                    };
                    let (to, message) = sent[sent.len() - 1 - back];
                    let (answer, confirms) = ends[to].receive(now, &message);
                    sent.extend(answer.map(|answer| (1 - to, answer)));
                    if confirms && let Some((direction, number)) = ends[to].seal(1) {
                        prop_assert!(used.insert((direction.name, number)));
                        open(&mut ends[1 - to], &direction, number);
                    }
                }
                6 => {
                    if let Some((direction, first)) = ends[end].seal(3) {
                        for number in first..first + 3 {
                            prop_assert!(used.insert((direction.name, number)));
                        }
                        open(&mut ends[1 - end], &direction, first);
                    }
                }
                7 if choice % 8 == 0 => ends[end] = tunnel(1, 2 + number as u8),
                _ => {}
            }
        }
        let [a, b] = &mut ends;
        for _ in 0..2 * ATTEMPTS {
            now = now + AGAIN;
            if let Some(message) = a.advance(now) {
                deliver(now, a, b, message);
            }
            if let Some(message) = b.advance(now) {
                deliver(now, b, a, message);
            }
        }
        // An end that has a session does not know that the other lost it; the other asks.
        prop_assert!(pass(a, b) && pass(b, a));
    }
}
