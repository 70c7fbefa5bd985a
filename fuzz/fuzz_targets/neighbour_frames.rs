//! Any frames to a table of neighbours: no panic, no more neighbours than allowed, and answers that are frames.

#![no_main]
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, Ipv6Addr};

use evener_net::neighbours::{Due, Heard, MAX_FRAME, Neighbours};
use evener_net::time::Time;
use evener_net::wire::{arp, ethernet, icmp, ip, ndp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frames: Vec<(u8, u16, Vec<u8>)>| {
    let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let addresses = vec![Ipv4Addr::new(10, 0, 0, 1).into(), own.into()];
    let gateway = Ipv4Addr::new(10, 0, 0, 2).into();
    let mut neighbours = Neighbours::new([2; 6], addresses, vec![gateway], 8);
    let mut frame = [0; MAX_FRAME];
    let mut now = Time::ZERO;
    for (last, wait, bytes) in frames {
        now = Time::from_millis(now.micros() / 1000 + u64::from(wait));
        let address = match last & 1 {
            0 => Ipv4Addr::new(10, 0, 0, last).into(),
            _ => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into(),
        };
        if neighbours.resolve(now, address).is_none() {
            neighbours.hold(address, bytes.clone());
        }
        let mut full = [0; arp::LEN];
        arp_of(&bytes, &mut full);
        check(&neighbours.hear_arp(now, &full, &mut frame), &frame);
        check(&neighbours.hear_arp(now, &bytes, &mut frame), &frame);
        let source = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into());
        let header = ip::Header {
            hop_limit: ndp::HOP_LIMIT,
            ..ip::Header::new(source.into(), own.into(), ip::protocol::ICMPV6)
        };
        if let [kind, body @ ..] = &bytes[..] {
            let message = icmp::Message::Other {
                kind: 135 + kind % 2,
                code: 0,
                body,
            };
            check(
                &neighbours.hear_message(now, &header, &message, &mut frame),
                &frame,
            );
        }
        while let Some((_, due)) = neighbours.due(now, &mut frame) {
            if let Due::Question(len) = due {
                ethernet::parse(&frame[..len]).expect("a frame");
            }
        }
        while neighbours.released().is_some() {}
        assert!(neighbours.next_deadline() > now);
    }
});

/// A packet of ARP whose addresses are the input.
fn arp_of(bytes: &[u8], to: &mut [u8; arp::LEN]) {
    to[..8].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    for (to, byte) in to[7..].iter_mut().zip(bytes) {
        *to = *byte;
    }
}

fn check(heard: &Heard, frame: &[u8]) {
    if let Heard::Answer(len) = heard {
        ethernet::parse(&frame[..*len]).expect("a frame");
    }
}
