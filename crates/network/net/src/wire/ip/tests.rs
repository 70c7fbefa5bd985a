use etherparse::{
    IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv6Extensions, Ipv6ExtensionsSlice,
    Ipv6FragmentHeader, Ipv6Header,
};
use proptest::prelude::*;

use super::*;

fn fragments() -> impl Strategy<Value = Option<Fragment>> {
    let fragment =
        (any::<u32>(), 0..8000u16, any::<bool>()).prop_map(|(identification, units, more)| {
            Fragment {
                identification,
                offset: units * 8,
                more,
            }
        });
    // A whole packet is read without a fragment.
    prop::option::of(fragment.prop_filter("a part", |part| part.more || part.offset != 0))
}

fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<(Ipv4Addr, Ipv4Addr)>().prop_map(|(a, b)| (a.into(), b.into())),
        any::<(Ipv6Addr, Ipv6Addr)>().prop_map(|(a, b)| (a.into(), b.into())),
    ]
}

prop_compose! {
    fn headers()(
        (source, destination) in addresses(),
        // Not one of the extension headers.
        protocol in prop::sample::select(vec![1u8, 6, 17, 58, 59, 89, 132, 255]),
        hop_limit: u8,
        traffic_class: u8,
        fragment in fragments(),
        dont_fragment: bool,
    ) -> Header {
        Header {
            source,
            destination,
            protocol,
            hop_limit,
            traffic_class,
            fragment: fragment.map(|part| match source {
                IpAddr::V4(_) => Fragment { identification: part.identification & 0xffff, ..part },
                IpAddr::V6(_) => part,
            }),
            dont_fragment: dont_fragment || source.is_ipv6(),
        }
    }
}

/// The same header as etherparse writes it.
fn other(header: &Header, payload_len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let offset = header.fragment.map_or(0, |part| part.offset / 8);
    let fragment_offset = IpFragOffset::try_new(offset).expect("13 bits");
    let more_fragments = header.fragment.is_some_and(|part| part.more);
    let identification = header.fragment.map_or(0, |part| part.identification);
    match (header.source, header.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut other = Ipv4Header::new(
                payload_len as u16,
                header.hop_limit,
                IpNumber(header.protocol),
                source.octets(),
                destination.octets(),
            )
            .expect("a length");
            other.dscp = (header.traffic_class >> 2).try_into().expect("6 bits");
            other.ecn = IpEcn::try_new(header.traffic_class & 3).expect("2 bits");
            other.identification = identification as u16;
            other.dont_fragment = header.dont_fragment;
            other.more_fragments = more_fragments;
            other.fragment_offset = fragment_offset;
            other.write(&mut bytes).expect("memory");
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let extensions = Ipv6Extensions {
                fragment: header.fragment.map(|_| Ipv6FragmentHeader {
                    next_header: IpNumber(header.protocol),
                    fragment_offset,
                    more_fragments,
                    identification,
                }),
                ..Ipv6Extensions::default()
            };
            let next_header = match header.fragment {
                Some(_) => IpNumber::IPV6_FRAGMENTATION_HEADER,
                None => IpNumber(header.protocol),
            };
            let other = Ipv6Header {
                traffic_class: header.traffic_class,
                payload_length: (extensions.header_len() + payload_len) as u16,
                next_header,
                hop_limit: header.hop_limit,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv6Header::default()
            };
            other.write(&mut bytes).expect("memory");
            extensions.write(&mut bytes, next_header).expect("memory");
        }
        _ => unreachable!("one version"),
    }
    bytes
}

proptest! {
    #[test]
    fn reads_and_writes_as_etherparse(header in headers(), units in 0..180usize, padding in 0..4usize) {
        let payload_len = units * 8;
        let mut bytes = vec![0; header.len() + payload_len + padding];
        let header_len = write(&header, payload_len, &mut bytes);
        prop_assert_eq!(header_len, header.len());
        prop_assert_eq!(&bytes[..header_len], &other(&header, payload_len)[..]);
        prop_assert_eq!(parse(&bytes), Ok((header, header_len, header_len + payload_len)));
        prop_assert_eq!(parse(&bytes[..header_len + payload_len]).map(|read| read.0), Ok(header));
        let short = parse(&bytes[..(header_len + payload_len).saturating_sub(1)]);
        prop_assert_eq!(short, Err(Malformed::Truncated));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>, version in prop::sample::select(vec![0x45u8, 0x46, 0x4f, 0x60]), next in 0..64u8) {
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        if version == 0x60 && bytes.len() > 40 {
            let len = bytes.len() - 40;
            bytes[4..6].copy_from_slice(&(len as u16).to_be_bytes());
            bytes[6] = next;
        }
        if let Ok((_, header_len, packet_len)) = parse(&bytes) {
            prop_assert!(header_len <= packet_len && packet_len <= bytes.len());
        }
    }

    #[test]
    fn extension_headers_end_where_etherparse_says(kinds in prop::collection::vec(prop::sample::select(vec![60u8, 43]), 0..5), hop_by_hop: bool, units in 0..3usize) {
        let mut bytes = vec![0; V6_LEN];
        let chain: Vec<u8> = hop_by_hop.then_some(0).into_iter().chain(kinds).collect();
        for (n, _) in chain.iter().enumerate() {
            bytes.push(chain.get(n + 1).copied().unwrap_or(protocol::UDP));
            bytes.push(units as u8);
            // One option that fills it; of a routing header, type 1 and no segments left.
            bytes.extend([1, 0]);
            bytes.extend(vec![0; 4 + units * 8]);
        }
        let first = chain.first().copied().unwrap_or(protocol::UDP);
        let extensions = bytes.split_off(V6_LEN);
        let header = Header::new(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), first);
        write(&header, extensions.len() + 3, &mut bytes);
        bytes.extend(&extensions);
        bytes.extend([1, 2, 3]);
        // etherparse refuses a second routing header and a third of options; whatever it reads, we read.
        let slice = Ipv6ExtensionsSlice::from_slice(IpNumber(first), &bytes[V6_LEN..]);
        let (read, header_len, packet_len) = parse(&bytes).expect("a packet");
        prop_assert_eq!(header_len, V6_LEN + extensions.len());
        prop_assert_eq!((read.protocol, packet_len), (protocol::UDP, bytes.len()));
        if let Ok((_, last, rest)) = slice && last == IpNumber::UDP {
            prop_assert_eq!(rest.len(), bytes.len() - header_len);
        }
    }
}

/// A packet of IPv6 whose first extension header is `kind`, with these bytes behind the fixed header.
fn v6(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; V6_LEN];
    let header = Header::new(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), kind);
    write(&header, rest.len(), &mut bytes);
    bytes.extend(rest);
    bytes
}

#[test]
fn extension_headers_that_forbid_a_packet() {
    let read =
        |kind, rest: &[u8]| parse(&v6(kind, rest)).map(|(header, len, _)| (header.protocol, len));
    // A router alert (RFC 2711), and an option that may be skipped.
    assert_eq!(read(0, &[17, 0, 5, 2, 0, 0, 1, 0]), Ok((17, 48)));
    assert_eq!(read(60, &[17, 0, 0x3e, 4, 1, 2, 3, 4]), Ok((17, 48)));
    let forbidden = Err(Malformed::Extension);
    for kind in [0x40, 0x80, 0xc2] {
        assert_eq!(read(60, &[17, 0, kind, 4, 1, 2, 3, 4]), forbidden);
    }
    assert_eq!(read(43, &[17, 0, 0, 1, 0, 0, 0, 0]), forbidden);
    assert_eq!(read(43, &[17, 0, 0, 0, 0, 0, 0, 0]), Ok((17, 48)));
    // Hop-by-hop options are the first or not there.
    let late = [0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(read(60, &late), forbidden);
    assert_eq!(read(60, &[17, 0, 1, 5, 0, 0, 0, 0]), Err(Malformed::Length));
    assert_eq!(
        read(60, &[17, 1, 1, 4, 0, 0, 0, 0]),
        Err(Malformed::Truncated)
    );
    // All of a packet in one fragment; and an extension header behind it.
    assert_eq!(read(44, &[17, 0, 0, 0, 0, 0, 0, 9]), Ok((17, 48)));
    let whole = [60, 0, 0, 0, 0, 0, 0, 9, 17, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(read(44, &whole), Ok((17, 56)));
    // The first of several: what follows is its payload.
    let first = [60, 0, 0, 1, 0, 0, 0, 9, 17, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(read(44, &first), Ok((60, 48)));
}

#[test]
fn headers_of_ipv4_that_cannot_be() {
    let header = Header::new(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::BROADCAST.into(), 6);
    let mut bytes = [0; 40];
    write(&header, 20, &mut bytes);
    assert!(parse(&bytes).is_ok());
    // Bit 5 makes it another version.
    for at in (0..V4_LEN * 8).filter(|at| *at != 5) {
        let mut changed = bytes;
        changed[at / 8] ^= 1 << (at % 8);
        assert!(parse(&changed).is_err(), "bit {at}");
    }
    assert_eq!(parse(&[]), Err(Malformed::Truncated));
    assert_eq!(parse(&[0x50; 40]), Err(Malformed::Version));
    // A fragment that would end behind the largest packet.
    let part = Fragment {
        identification: 1,
        offset: 0xfff8,
        more: false,
    };
    write(
        &Header {
            fragment: Some(part),
            ..header
        },
        20,
        &mut bytes,
    );
    assert_eq!(parse(&bytes), Err(Malformed::Length));
}

#[test]
fn the_example_of_a_checksum() {
    // A header whose checksum is worked out in many textbooks.
    let bytes = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];
    let mut packet = [0; 0x73];
    packet[..V4_LEN].copy_from_slice(&bytes);
    let (header, ..) = parse(&packet).expect("a header");
    assert_eq!(header.source, IpAddr::from([192, 168, 0, 1]));
    let mut written = [0; V4_LEN];
    write(&header, 0x73 - V4_LEN, &mut written);
    assert_eq!(written, bytes);
}

#[test]
fn congestion_notification() {
    let header = Header {
        traffic_class: 0xb8,
        ..Header::new(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), 6)
    };
    assert_eq!(header.ecn(), Ecn::NotCapable);
    for (ecn, class) in [
        (Ecn::Capable1, 0xb9),
        (Ecn::Capable0, 0xba),
        (Ecn::Congestion, 0xbb),
    ] {
        let marked = header.with_ecn(ecn);
        assert_eq!((marked.traffic_class, marked.ecn()), (class, ecn));
        assert_eq!(marked.with_ecn(Ecn::NotCapable), header);
    }
}

#[test]
fn routers_mark_what_can_be_marked() {
    for address in [
        IpAddr::from(Ipv4Addr::LOCALHOST),
        Ipv6Addr::LOCALHOST.into(),
    ] {
        let header = Header::new(address, address, protocol::TCP);
        for (ecn, marked) in [
            (Ecn::NotCapable, false),
            (Ecn::Capable0, true),
            (Ecn::Capable1, true),
            (Ecn::Congestion, true),
        ] {
            let mut bytes = [0; MAX_LEN];
            write(&header.with_ecn(ecn), 0, &mut bytes);
            assert_eq!(mark_congestion(&mut bytes), marked);
            let expected = if marked { Ecn::Congestion } else { ecn };
            let (read, ..) = parse(&bytes).expect("a header");
            assert_eq!(read, header.with_ecn(expected));
        }
    }
    assert!(!mark_congestion(&mut [0x45; 10]));
}
