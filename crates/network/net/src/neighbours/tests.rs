use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

const LINK: [Address; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

fn addresses(last: u8) -> Vec<IpAddr> {
    vec![
        Ipv4Addr::new(10, 0, 0, last).into(),
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into(),
    ]
}

fn pair() -> [Neighbours; 2] {
    [1u8, 2].map(|last| {
        Neighbours::new(
            LINK[usize::from(last) - 1],
            addresses(last),
            Vec::new(),
            100,
        )
    })
}

fn seconds(seconds: u64) -> Time {
    Time::from_millis(seconds * 1000)
}

/// Hands a frame to a neighbour, and returns its answer.
fn hear(to: &mut Neighbours, now: Time, frame: &[u8]) -> Option<Vec<u8>> {
    let header = ethernet::parse(frame).expect("a frame");
    let is_for_it = header.destination == to.link || header.destination[0] & 1 == 1;
    if !is_for_it {
        return None;
    }
    let mut answer = [0; MAX_FRAME];
    let bytes = &frame[ethernet::LEN..];
    let heard = match header.ethertype {
        ethertype::ARP => to.hear_arp(now, bytes, &mut answer),
        _ => {
            let (ip, at, len) = ip::parse(bytes).expect("a packet");
            let message =
                icmp::parse(&bytes[at..len], ip.source, ip.destination).expect("a message");
            to.hear_message(now, &ip, &message, &mut answer)
        }
    };
    match heard {
        Heard::Answer(len) => Some(answer[..len].to_vec()),
        Heard::Nothing => None,
    }
}

fn question(of: &mut Neighbours, now: Time) -> Option<Vec<u8>> {
    let mut frame = [0; MAX_FRAME];
    match of.due(now, &mut frame)?.1 {
        Due::Question(len) => Some(frame[..len].to_vec()),
        Due::Unreachable(_) => None,
    }
}

#[test]
fn neighbours_find_each_other() {
    for version in [0, 1] {
        let [mut one, mut other] = pair();
        let (own, peer) = (addresses(1)[version], addresses(2)[version]);
        assert_eq!(one.resolve(seconds(0), peer), None);
        one.hold(peer, vec![1]);
        one.hold(peer, vec![2]);
        assert_eq!(one.released(), None);
        let question = question(&mut one, seconds(0)).expect("a question");
        let header = ethernet::parse(&question).expect("a frame");
        assert_eq!((header.source, header.destination[0] & 1), (LINK[0], 1));
        let answer = hear(&mut other, seconds(0), &question).expect("an answer");
        assert_eq!(
            ethernet::parse(&answer).expect("a frame").destination,
            LINK[0]
        );
        // The question said who asks: that makes no entry.
        assert_eq!(other.resolve(seconds(0), own), None);
        assert_eq!(hear(&mut one, seconds(1), &answer), None);
        assert_eq!(one.resolve(seconds(1), peer), Some(LINK[1]));
        assert_eq!(one.released(), Some((LINK[1], vec![1])));
        assert_eq!(one.released(), Some((LINK[1], vec![2])));
        assert_eq!(one.released(), None);
    }
}

#[test]
fn etherparse_reads_the_questions() {
    use etherparse::{Icmpv6Type, NetSlice, SlicedPacket, TransportSlice};
    let [mut one, _] = pair();
    one.resolve(seconds(0), addresses(2)[0]);
    let frame = question(&mut one, seconds(0)).expect("a question");
    let packet = SlicedPacket::from_ethernet(&frame).expect("a frame");
    assert!(matches!(packet.net, Some(NetSlice::Arp(_))));
    let [mut one, _] = pair();
    one.resolve(seconds(0), addresses(2)[1]);
    let frame = question(&mut one, seconds(0)).expect("a question");
    let packet = SlicedPacket::from_ethernet(&frame).expect("a frame");
    let Some(TransportSlice::Icmpv6(message)) = packet.transport else {
        panic!("a message");
    };
    assert!(matches!(
        message.icmp_type(),
        Icmpv6Type::NeighborSolicitation
    ));
}

#[test]
fn one_that_does_not_answer_is_given_up() {
    let [mut one, _] = pair();
    let peer = addresses(2)[0];
    one.resolve(seconds(0), peer);
    one.hold(peer, vec![7]);
    for n in 0..u64::from(QUESTIONS) {
        assert!(one.next_deadline() <= seconds(n));
        assert!(question(&mut one, seconds(n)).is_some());
        assert_eq!(question(&mut one, seconds(n)), None, "not again at once");
    }
    let due = one.due(seconds(9), &mut [0; MAX_FRAME]);
    assert_eq!(due, Some((peer, Due::Unreachable([vec![7]].into()))));
    assert_eq!(one.due(seconds(9), &mut [0; MAX_FRAME]), None);
    assert_eq!(one.next_deadline(), Time::NEVER);
}

#[test]
fn one_that_is_used_is_asked_again_alone() {
    let [mut one, mut other] = pair();
    let peer = addresses(2)[0];
    one.resolve(seconds(0), peer);
    let asked = question(&mut one, seconds(0)).expect("a question");
    let answer = hear(&mut other, seconds(0), &asked).expect("an answer");
    hear(&mut one, seconds(0), &answer);
    // Not used: not asked.
    assert_eq!(question(&mut one, seconds(1)), None);
    assert_eq!(one.next_deadline(), Time::NEVER);
    one.resolve(seconds(10), peer);
    assert_eq!(one.next_deadline(), Time::ZERO + FRESH);
    let asked = question(&mut one, seconds(31)).expect("a question");
    assert_eq!(
        ethernet::parse(&asked).expect("a frame").destination,
        LINK[1]
    );
    // It serves until it has been silent for long.
    let mut now = 32;
    while question(&mut one, seconds(now)).is_some() {
        assert_eq!(one.resolve(seconds(now), peer), Some(LINK[1]));
        now += 1;
    }
    assert!((85..95).contains(&now), "{now}");
    assert_eq!(one.resolve(seconds(now), peer), None);
}

#[test]
fn what_was_not_asked_for_is_not_believed() {
    let [mut one, _] = pair();
    let mut frame = [0; MAX_FRAME];
    let gossip = arp::Packet {
        operation: arp::Operation::Reply,
        sender: ([6; 6], Ipv4Addr::new(10, 0, 0, 9)),
        target: (LINK[0], Ipv4Addr::new(10, 0, 0, 1)),
    };
    let mut bytes = [0; arp::LEN];
    arp::write(&gossip, &mut bytes);
    assert_eq!(one.hear_arp(seconds(0), &bytes, &mut frame), Heard::Nothing);
    assert_eq!(
        one.resolve(seconds(0), Ipv4Addr::new(10, 0, 0, 9).into()),
        None
    );
    // A discovery that came over a router.
    let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let far = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);
    let question = ndp::Message::Solicitation {
        target: own,
        link: Some([6; 6]),
    };
    let mut bytes = [0; ndp::MAX_LEN];
    let len = ndp::write(&question, far, own, &mut bytes);
    let message = icmp::parse(&bytes[..len], far.into(), own.into()).expect("a message");
    let header = ip::Header::new(far.into(), own.into(), ip::protocol::ICMPV6);
    assert_eq!(
        one.hear_message(seconds(0), &header, &message, &mut frame),
        Heard::Nothing
    );
    let near = ip::Header {
        hop_limit: ndp::HOP_LIMIT,
        ..header
    };
    let heard = one.hear_message(seconds(0), &near, &message, &mut frame);
    assert!(matches!(heard, Heard::Answer(_)));
}

#[test]
fn groups_have_addresses_of_their_own() {
    let [mut one, _] = pair();
    let mut link = |text: &str| one.resolve(Time::ZERO, text.parse().expect("an address"));
    assert_eq!(link("255.255.255.255"), Some(BROADCAST));
    assert_eq!(link("224.129.2.3"), Some([1, 0, 0x5e, 1, 2, 3]));
    assert_eq!(link("ff02::1:ff00:2"), Some([0x33, 0x33, 0xff, 0, 0, 2]));
}

#[test]
fn memory_has_a_limit() {
    for answers in [false, true] {
        let mut one = Neighbours::new(LINK[0], addresses(1), Vec::new(), 40);
        for n in 0..1000u32 {
            let address = Ipv4Addr::from(0x0a00_0100 + n);
            one.resolve(Time(u64::from(n)), address.into());
            if answers {
                tell(&mut one, Time(u64::from(n)), address, [2; 6]);
            }
        }
        assert!((5..=40).contains(&one.neighbours.len()));
        assert!(one.unknown.len() <= 100 && one.asks.len() <= 40);
    }
}

/// An answer of ARP that `address` has a link.
fn tell(to: &mut Neighbours, now: Time, address: Ipv4Addr, link: Address) {
    let answer = arp::Packet {
        operation: arp::Operation::Reply,
        sender: (link, address),
        target: (LINK[0], Ipv4Addr::new(10, 0, 0, 1)),
    };
    let mut bytes = [0; arp::LEN];
    arp::write(&answer, &mut bytes);
    let heard = to.hear_arp(now, &bytes, &mut [0; MAX_FRAME]);
    assert_eq!(heard, Heard::Nothing);
}

#[test]
fn questions_of_others_make_no_entries() {
    let [mut one, _] = pair();
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let mut frame = [0; MAX_FRAME];
    for n in 0..1000u32 {
        let question = arp::Packet {
            operation: arp::Operation::Request,
            sender: ([6; 6], Ipv4Addr::from(0x0a00_0100 + n)),
            target: ([0; 6], own),
        };
        let mut bytes = [0; arp::LEN];
        arp::write(&question, &mut bytes);
        let heard = one.hear_arp(seconds(0), &bytes, &mut frame);
        assert!(matches!(heard, Heard::Answer(_)));
        let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
        let far = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, n as u16);
        let question = ndp::Message::Solicitation {
            target: own,
            link: Some([6; 6]),
        };
        let mut bytes = [0; ndp::MAX_LEN];
        let len = ndp::write(&question, far, own, &mut bytes);
        let message = icmp::parse(&bytes[..len], far.into(), own.into()).expect("a message");
        let header = ip::Header {
            hop_limit: ndp::HOP_LIMIT,
            ..ip::Header::new(far.into(), own.into(), ip::protocol::ICMPV6)
        };
        let heard = one.hear_message(seconds(0), &header, &message, &mut frame);
        assert!(matches!(heard, Heard::Answer(_)));
    }
    assert!(one.neighbours.is_empty());
}

#[test]
fn a_flood_leaves_the_gateway_and_those_that_are_in_use() {
    let gateway = Ipv4Addr::new(10, 0, 0, 254);
    let (used, quiet) = (Ipv4Addr::new(10, 0, 0, 5), Ipv4Addr::new(10, 0, 0, 6));
    for answers in [false, true] {
        let mut one = Neighbours::new(LINK[0], addresses(1), vec![gateway.into()], 80);
        for address in [gateway, used, quiet] {
            assert_eq!(one.resolve(seconds(0), address.into()), None);
            tell(&mut one, seconds(0), address, [2; 6]);
        }
        // Answers to packets whose sources are made up.
        for n in 0..100_000u32 {
            let now = Time(1 + u64::from(n));
            let address = Ipv4Addr::from(0x0a01_0000 + n);
            assert_eq!(one.resolve(now, address.into()), None);
            if answers {
                tell(&mut one, now, address, [6; 6]);
            }
            assert_eq!(one.resolve(now, used.into()), Some([2; 6]));
        }
        let now = Time(200_000);
        assert_eq!(one.resolve(now, gateway.into()), Some([2; 6]));
        // One that is not used goes only for others that are there.
        assert_eq!(one.neighbours.contains_key(&quiet.into()), !answers);
        assert!(one.neighbours.len() <= 82);
    }
}

/// The gateway is being asked for while others do not answer.
#[test]
fn a_flood_does_not_end_the_question_for_the_gateway() {
    let gateway = Ipv4Addr::new(10, 0, 0, 254);
    let mut one = Neighbours::new(LINK[0], addresses(1), vec![gateway.into()], 80);
    one.resolve(seconds(0), gateway.into());
    one.hold(gateway.into(), vec![7]);
    for n in 0..1000u32 {
        one.resolve(seconds(0), Ipv4Addr::from(0x0a01_0000 + n).into());
    }
    tell(&mut one, seconds(0), gateway, [2; 6]);
    assert_eq!(one.released(), Some(([2; 6], vec![7])));
}

#[test]
fn a_neighbour_that_looks_for_a_free_address_is_told() {
    let [mut one, _] = pair();
    let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let question = ndp::Message::Solicitation {
        target: own,
        link: None,
    };
    let group = ndp::solicited_node(own);
    let mut bytes = [0; ndp::MAX_LEN];
    let len = ndp::write(&question, Ipv6Addr::UNSPECIFIED, group, &mut bytes);
    let header = ip::Header {
        hop_limit: ndp::HOP_LIMIT,
        ..ip::Header::new(
            Ipv6Addr::UNSPECIFIED.into(),
            group.into(),
            ip::protocol::ICMPV6,
        )
    };
    let message = icmp::parse(&bytes[..len], header.source, header.destination).expect("a message");
    let mut frame = [0; MAX_FRAME];
    let Heard::Answer(len) = one.hear_message(Time::ZERO, &header, &message, &mut frame) else {
        panic!("an answer");
    };
    let header = ethernet::parse(&frame).expect("a frame");
    assert_eq!(header.destination, [0x33, 0x33, 0, 0, 0, 1]);
    let (ip, ..) = ip::parse(&frame[ethernet::LEN..len]).expect("a packet");
    assert_eq!(
        ip.destination,
        IpAddr::from(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1))
    );
}

#[test]
fn few_packets_wait_for_an_address() {
    let [mut one, _] = pair();
    let peer = Ipv4Addr::new(10, 0, 0, 2);
    for (len, kept) in [(100, WAITING), (10_000, 6), (WAITING_BYTES + 1, 0)] {
        one.resolve(seconds(0), peer.into());
        for _ in 0..1000 {
            one.hold(peer.into(), vec![1; len]);
        }
        one.hold(peer.into(), vec![2; len]);
        tell(&mut one, seconds(0), peer, [2; 6]);
        let released: Vec<_> = std::iter::from_fn(|| one.released()).collect();
        assert_eq!(released.len(), kept);
        let last = released.last().map(|(_, packet)| packet[0]);
        assert_eq!(last, (kept > 0).then_some(2));
        one.remove(&peer.into());
    }
}
