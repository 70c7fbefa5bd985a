//! RFC 6528: initial sequence numbers.

use std::net::SocketAddr;

use crate::network::{Host, Setup};
use evener_net::engine::{Owner, SocketOptions};
use evener_net::time::Time;
use evener_net::wire::{ip, tcp};

/// The sequence number of the SYN from this port to that, at a time.
fn sequence(host: u8, from: u16, to: u16, now: Time) -> u32 {
    let mut host = Host::new(host, &Setup::default());
    let local = SocketAddr::new(host.address, from);
    let remote = format!("10.0.0.9:{to}").parse().unwrap();
    let options = SocketOptions::default();
    (host
        .engine
        .connect(now, Owner(0), Some(local), remote, options))
    .unwrap();
    let (bytes, _) = host.poll(now).pop_front().unwrap();
    let (_, len, _) = ip::parse(&bytes).unwrap();
    tcp::parse(&bytes[len..]).unwrap().0.sequence
}

#[test]
fn s3_a_clock_of_four_microseconds_for_each_connection() {
    let now = Time::from_millis(5000);
    let first = sequence(1, 5000, 80, now);
    assert_eq!(first, sequence(1, 5000, 80, now));
    let later = sequence(1, 5000, 80, Time::from_millis(6000));
    assert_eq!(later.wrapping_sub(first), 250_000);
}

#[test]
fn s3_what_is_seen_of_one_tells_nothing_of_another() {
    let now = Time::from_millis(5000);
    let mut seen: Vec<u32> = (0..200)
        .map(|port| sequence(1, 5000 + port, 80, now))
        .collect();
    seen.extend((0..200).map(|port| sequence(1, 5000, 81 + port, now)));
    // Another secret.
    seen.push(sequence(2, 5000, 80, now));
    let mut near = 0;
    for (index, one) in seen.iter().enumerate() {
        for other in &seen[index + 1..] {
            near += u32::from(one.wrapping_sub(*other).min(other.wrapping_sub(*one)) < 1 << 16);
        }
    }
    // Of 80,000 pairs, one in 32,768 is as near by chance.
    assert!(near < 15, "{near}");
}
