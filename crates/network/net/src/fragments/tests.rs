use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::wire::ip::{Fragment, protocol};

fn header(is_v6: bool, identification: u32, offset: usize, more: bool) -> Header {
    let (source, destination) = match is_v6 {
        true => (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into()),
        false => (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::BROADCAST.into()),
    };
    Header {
        fragment: Some(Fragment {
            identification,
            offset: offset as u16,
            more,
        }),
        dont_fragment: is_v6,
        ..Header::new(source, destination, protocol::UDP)
    }
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 13 + at / 256) as u8).collect()
}

fn assert_whole(packet: &[u8], expected: &[u8]) {
    let (header, at, len) = ip::parse(packet).expect("a packet");
    assert_eq!((header.fragment, header.protocol), (None, protocol::UDP));
    assert_eq!(len, packet.len());
    assert!(packet[at..] == *expected);
}

fn shuffled(seed: u64, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(seed | 1) % 1_000_003);
    order
}

proptest! {
    #[test]
    fn fragments_in_any_order_are_a_packet(is_v6: bool, len in 1..60_000usize, units in 64..500usize, seed: u64, twice: bool) {
        let expected = payload(len);
        let size = units * 8;
        let pieces: Vec<&[u8]> = expected.chunks(size).collect();
        let mut reassembly = Reassembly::new(1 << 20);
        let mut whole = None;
        let order = shuffled(seed, pieces.len());
        for (n, number) in order.iter().enumerate() {
            prop_assert!(whole.is_none());
            let header = header(is_v6, 7, number * size, number + 1 < pieces.len());
            whole = reassembly.insert(Time(n as u64), &header, pieces[*number]);
            // A copy of a fragment does no harm. That of the last would begin another packet.
            if twice && n + 1 < order.len() {
                prop_assert_eq!(reassembly.insert(Time(n as u64), &header, pieces[*number]), None);
            }
        }
        assert_whole(&whole.expect("the packet"), &expected);
        prop_assert_eq!(reassembly.bytes(), 0);
    }

    /// Any fragments: no panic, no more memory than allowed, and no packet of overlapping ones.
    #[test]
    fn any_fragments_do_no_harm(parts in prop::collection::vec((any::<bool>(), 0..3u32, 0..8192usize, any::<bool>(), 0..2000usize), 0..200)) {
        let mut reassembly = Reassembly::new(100_000);
        for (n, (is_v6, identification, units, more, len)) in parts.into_iter().enumerate() {
            let offset = units * 8 % 65_536;
            let len = len.min(65_535 - offset);
            let len = if more { len / 8 * 8 } else { len };
            let header = header(is_v6, identification, offset, more);
            if let Some(packet) = reassembly.insert(Time(n as u64), &header, &vec![1; len]) {
                prop_assert!(ip::parse(&packet).is_ok());
            }
            prop_assert!(reassembly.bytes() <= 100_000);
        }
        reassembly.expire(Time::from_millis(100_000));
        prop_assert_eq!(reassembly.bytes(), 0);
        prop_assert_eq!(reassembly.next_deadline(), Time::NEVER);
    }
}

/// Whether a packet comes of these offsets, lengths and more-flags.
fn completes(parts: &[(usize, usize, bool)]) -> bool {
    let mut reassembly = Reassembly::new(1 << 20);
    let mut whole = false;
    for (offset, len, more) in parts {
        let bytes = payload(offset + len);
        let header = header(true, 1, *offset, *more);
        whole |= reassembly
            .insert(Time::ZERO, &header, &bytes[*offset..])
            .is_some();
    }
    whole
}

#[test]
fn overlapping_fragments_void_the_packet() {
    let right = [(0, 16, true), (16, 16, true), (32, 5, false)];
    assert!(completes(&right));
    for wrong in [
        (8, 16, true),
        (0, 24, true),
        (0, 8, true),
        (8, 8, true),
        (30, 4, false),
    ] {
        for at in 1..=2 {
            let mut parts = right.to_vec();
            parts.insert(at, wrong);
            // Nothing of it is taken any more, not even all of it again.
            parts.extend(right);
            assert!(!completes(&parts), "{wrong:?} at {at}");
        }
    }
    // A copy with other bytes is an overlap.
    let mut reassembly = Reassembly::new(1 << 20);
    let first = header(true, 1, 0, true);
    reassembly.insert(Time::ZERO, &first, &[1; 8]);
    reassembly.insert(Time::ZERO, &first, &[2; 8]);
    let last = header(true, 1, 8, false);
    assert_eq!(reassembly.insert(Time::ZERO, &last, &[1; 8]), None);
}

#[test]
fn ends_that_differ_void_the_packet() {
    assert!(!completes(&[(8, 8, false), (16, 8, false), (0, 8, true)]));
    assert!(!completes(&[
        (16, 8, true),
        (8, 8, false),
        (0, 8, true),
        (24, 8, false)
    ]));
    assert!(!completes(&[(8, 8, false), (16, 8, true), (0, 8, true)]));
    // An empty last fragment is odd and says where the end is.
    assert!(completes(&[(0, 8, true), (8, 0, false)]));
}

#[test]
fn a_packet_is_no_larger_than_its_length_field() {
    let mut reassembly = Reassembly::new(1 << 20);
    let last = header(false, 1, 65_512, false);
    assert_eq!(reassembly.insert(Time::ZERO, &last, &[0; 16]), None);
    for offset in (0..65_512).step_by(8000) {
        let bytes = vec![0; 8000.min(65_512 - offset)];
        let piece = header(false, 1, offset, true);
        assert_eq!(reassembly.insert(Time::ZERO, &piece, &bytes), None);
    }
}

#[test]
fn packets_that_stay_incomplete_are_given_up() {
    let mut reassembly = Reassembly::new(20_000);
    let begin = |reassembly: &mut Reassembly, identification, now| {
        let first = header(false, identification, 0, true);
        reassembly.insert(now, &first, &[0; 1000])
    };
    for identification in 0..100 {
        begin(
            &mut reassembly,
            identification,
            Time::from_millis(u64::from(identification)),
        );
        assert!(reassembly.bytes() <= 20_000);
    }
    // The oldest have made room, the newest is there.
    let end = |identification| header(false, identification, 1000, false);
    let now = Time::from_millis(200);
    assert_eq!(reassembly.insert(now, &end(1), &[0; 10]), None);
    assert!(reassembly.insert(now, &end(99), &[0; 10]).is_some());
    assert_eq!(
        reassembly.insert(Time::from_millis(40_000), &end(98), &[0; 10]),
        None
    );
}

#[test]
fn congestion_of_one_fragment_is_that_of_the_packet() {
    let ecn_of = |marks: [Ecn; 2]| {
        let mut reassembly = Reassembly::new(1 << 20);
        let first = header(false, 1, 0, true).with_ecn(marks[0]);
        let last = header(false, 1, 8, false).with_ecn(marks[1]);
        reassembly.insert(Time::ZERO, &first, &[0; 8]);
        let packet = reassembly.insert(Time::ZERO, &last, &[0; 8])?;
        Some(ip::parse(&packet).expect("a packet").0.ecn())
    };
    assert_eq!(
        ecn_of([Ecn::Capable0, Ecn::Congestion]),
        Some(Ecn::Congestion)
    );
    assert_eq!(ecn_of([Ecn::Capable0, Ecn::Capable0]), Some(Ecn::Capable0));
    assert_eq!(
        ecn_of([Ecn::NotCapable, Ecn::NotCapable]),
        Some(Ecn::NotCapable)
    );
    assert_eq!(ecn_of([Ecn::NotCapable, Ecn::Congestion]), None);
}
