//! Datagrams of RTP and RTCP, lost, doubled and out of order: no panic, what goes through is in order and once, every
//! packet is counted, and none is held for too long.

#![no_main]
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use evener_gateway::rtp::{Bounds, Order, Packet, distance, rtcp};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// The next packet but so many.
    Packet(i8),
    /// Of any number and one of two senders.
    Stray(u16, bool),
    Datagram(&'a [u8]),
    Wait(u8),
    Finish,
}

fuzz_target!(|input: (u8, Vec<Step>)| {
    let (packets, steps) = input;
    let wait = Duration::from_millis(50);
    let bounds = Bounds {
        packets: packets.into(),
        wait,
    };
    let mut order = Order::new(bounds, 90_000);
    let mut now = Instant::now();
    let (mut next, mut given, mut through) = (0u16, 0u64, 0u64);
    let mut last: Option<(u32, u16)> = None;
    for step in steps {
        let mut out = |ordered: evener_gateway::rtp::Ordered| {
            through += 1;
            let (ssrc, sequence) = (ordered.packet.ssrc, ordered.packet.sequence);
            match last {
                Some((of, before)) if !ordered.restarts => {
                    assert_eq!(of, ssrc);
                    assert_eq!(distance(before, sequence), ordered.missing as i32 + 1);
                }
                _ => assert!(ordered.restarts),
            }
            last = Some((ssrc, sequence));
        };
        let packet = match step {
            Step::Packet(ahead) => {
                let sequence = next.wrapping_add_signed(ahead.into());
                next = next.wrapping_add(1);
                Some(packet(1, sequence))
            }
            Step::Stray(sequence, other) => Some(packet(u32::from(other) + 1, sequence)),
            Step::Datagram(bytes) => {
                if let Ok(said) = rtcp::parse(bytes) {
                    assert!(said.len() <= bytes.len());
                }
                Packet::parse(Bytes::copy_from_slice(bytes)).ok()
            }
            Step::Wait(millis) => {
                now += Duration::from_millis(millis.into());
                order.expire(now, &mut out);
                None
            }
            Step::Finish => {
                order.finish(&mut out);
                None
            }
        };
        if let Some(packet) = packet {
            given += 1;
            order.push(packet, now, &mut out);
        }
        assert!(order.deadline().is_none_or(|deadline| deadline > now));
        let block = order.reception().report(now);
        assert!(rtcp::report(1, "name", &[block]).is_ok());
    }
    order.finish(|_| through += 1);
    let counts = order.counts();
    assert!(counts.received + counts.foreign <= given + counts.restarts);
    assert_eq!(through + counts.duplicated + counts.late, counts.received);
});

fn packet(ssrc: u32, sequence: u16) -> Packet {
    Packet {
        sequence,
        timestamp: u32::from(sequence) * 3000,
        ssrc,
        payload_type: 96,
        marker: false,
        payload: Bytes::new(),
    }
}
