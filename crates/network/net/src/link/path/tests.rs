use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::packet::Checksum;
use crate::wire::udp;

const PLAIN: Offload = Offload {
    segment: 0,
    checksum: Checksum::Complete,
};

fn at(micros: u64) -> Time {
    Time::from_micros(micros)
}

fn path(change: impl FnOnce(&mut Conditions)) -> Path {
    let mut conditions = Conditions::default();
    change(&mut conditions);
    Path::new(conditions, Medium::Ip)
}

/// A packet that its number tells from others.
fn packet(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Numbers of all packets and when they arrive.
fn drain(path: &mut Path) -> Vec<(Time, u32)> {
    let mut arrived = Vec::new();
    while path.next_arrival() != Time::NEVER {
        let now = path.next_arrival();
        assert!(
            !path.pop(now - Duration::from_nanos(1), |_, _| ()),
            "not before its time"
        );
        path.pop(now, |bytes, offload| {
            assert_eq!(offload, PLAIN);
            let number = bytes.first_chunk().expect("four bytes");
            arrived.push((now, u32::from_be_bytes(*number)));
        });
    }
    arrived
}

#[test]
fn a_packet_arrives_after_the_delay() {
    let mut path = path(|conditions| conditions.delay = Duration::from_millis(5));
    for number in 0..10 {
        path.push(at(u64::from(number) * 10), &packet(number, 100), PLAIN);
    }
    let expected: Vec<_> = (0..10).map(|n| (at(5000 + n * 10), n as u32)).collect();
    assert_eq!(drain(&mut path), expected);
    assert_eq!(path.counters().forwarded, 10);
}

#[test]
fn a_rate_spaces_packets_and_a_full_queue_drops_them() {
    // 1,000 bytes take 8 µs at a gigabit a second.
    let mut path = path(|conditions| {
        conditions.rate = Some(1_000_000_000);
        conditions.queue = 10_000;
    });
    for number in 0..15 {
        path.push(at(0), &packet(number, 1000), PLAIN);
    }
    assert_eq!(path.counters().dropped, 5);
    // Two have left by then.
    for number in 20..23 {
        path.push(at(16), &packet(number, 1000), PLAIN);
    }
    assert_eq!(path.counters().dropped, 6);
    let arrived = drain(&mut path);
    let numbers: Vec<u32> = (0..10).chain(20..22).collect();
    let expected: Vec<_> = numbers
        .iter()
        .zip(1..)
        .map(|(number, n)| (at(n * 8), *number))
        .collect();
    assert_eq!(arrived, expected);
    // After a pause the link is free at once.
    path.push(at(1000), &packet(1, 1000), PLAIN);
    assert_eq!(drain(&mut path), [(at(1008), 1)]);
}

#[test]
fn shares_are_those_that_were_asked_for() {
    let mut path = path(|conditions| {
        conditions.loss = 0.01;
        conditions.duplicate = 0.02;
        conditions.reorder = 0.05;
        conditions.jitter = Duration::from_micros(3);
        conditions.held = Duration::from_micros(50);
    });
    let count = 100_000;
    for number in 0..count {
        path.push(at(u64::from(number)), &packet(number, 100), PLAIN);
    }
    let arrived = drain(&mut path);
    let counters = path.counters();
    // Within five standard deviations.
    let near = |found: u64, share: f64| {
        let mean = f64::from(count) * share;
        (found as f64 - mean).abs() < 5.0 * mean.sqrt()
    };
    assert!(near(counters.lost, 0.01), "{counters:?}");
    assert!(near(counters.duplicated, 0.02), "{counters:?}");
    assert!(near(counters.reordered, 0.05), "{counters:?}");
    assert_eq!(
        arrived.len() as u64,
        u64::from(count) - counters.lost + counters.duplicated
    );
    let late = arrived
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1)
        .count() as u64;
    assert!(
        late > counters.reordered / 2 && late <= 2 * counters.reordered,
        "{late}"
    );
}

#[test]
fn jitter_alone_keeps_packets_in_order() {
    let mut path = path(|conditions| conditions.jitter = Duration::from_millis(10));
    for number in 0..1000 {
        path.push(at(u64::from(number) * 100), &packet(number, 100), PLAIN);
    }
    let arrived = drain(&mut path);
    assert!(arrived.iter().zip(0..).all(|((_, number), n)| *number == n));
    let delays: Vec<u128> = arrived
        .iter()
        .map(|(time, number)| time.since(at(u64::from(*number) * 100)).as_micros())
        .collect();
    assert!(delays.iter().all(|delay| *delay <= 10_000));
    assert!(delays.iter().max() > Some(&9000));
}

#[test]
fn a_seed_decides_all() {
    let run = |seed| {
        let mut path = path(|conditions| {
            conditions.seed = seed;
            conditions.loss = 0.1;
            conditions.reorder = 0.1;
        });
        for number in 0..1000 {
            path.push(at(u64::from(number) + 1), &packet(number, 100), PLAIN);
        }
        drain(&mut path)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn super_segments_are_lost_segment_by_segment() {
    let mut path = path(|conditions| conditions.loss = 0.5);
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    let header = ip::Header::new(address, address, ip::protocol::UDP);
    let mut bytes = vec![0; 20 + udp::LEN + 40_000];
    let len = bytes.len();
    ip::write(&header, len - 20, &mut bytes);
    let datagram = udp::Header {
        source_port: 1,
        destination_port: 2,
        length: (len - 20) as u16,
        checksum: 0,
    };
    udp::write(&datagram, &mut bytes[20..]);
    let offload = Offload {
        segment: 1000,
        checksum: Checksum::Partial,
    };
    path.push(at(0), &bytes, offload);
    let mut count = 0;
    while path.pop(at(0), |bytes, offload| {
        assert_eq!(bytes.len(), 1028);
        assert_eq!((offload.segment, offload.checksum), (0, Checksum::Partial));
    }) {
        count += 1;
    }
    assert_eq!(count + path.counters().lost, 40);
    assert!((10..30).contains(&count), "{count}");
}

#[test]
fn packets_are_marked_before_the_queue_is_full() {
    let mut path = path(|conditions| {
        conditions.rate = Some(1_000_000);
        conditions.mark = Some(5000);
    });
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    let header = ip::Header::new(address, address, ip::protocol::UDP).with_ecn(ip::Ecn::Capable0);
    let mut bytes = [0; 1000];
    ip::write(&header, 980, &mut bytes);
    for _ in 0..10 {
        path.push(at(0), &bytes, PLAIN);
    }
    let mut marked = Vec::new();
    while path.pop(Time::NEVER - Duration::from_nanos(1), |bytes, _| {
        let (header, ..) = ip::parse(bytes).expect("a packet");
        marked.push(header.ecn() == ip::Ecn::Congestion);
    }) {}
    assert_eq!(marked, [[false; 6].as_slice(), &[true; 4]].concat());
    assert_eq!(path.counters().marked, 4);
}
