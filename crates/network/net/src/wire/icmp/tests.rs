use std::net::{Ipv4Addr, Ipv6Addr};

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::icmpv6::DestUnreachableCode;
use etherparse::{IcmpEchoHeader, Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type};
use proptest::prelude::*;

use super::*;

const V4: (IpAddr, IpAddr) = (
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
);
const V6: (IpAddr, IpAddr) = (
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
);

fn written(message: &Message<'_>, (source, destination): (IpAddr, IpAddr)) -> Vec<u8> {
    let mut bytes = vec![0xaa; 4096];
    let len = write(message, source, destination, &mut bytes);
    bytes.truncate(len);
    bytes
}

fn messages(data: &[u8]) -> Vec<Message<'_>> {
    let (identifier, sequence, quoted) = (0x1234, 0x5678, data);
    let reasons = [
        Unreachable::Network,
        Unreachable::Host,
        Unreachable::Protocol,
        Unreachable::Port,
        Unreachable::Prohibited,
    ];
    let mut messages: Vec<_> = reasons
        .map(|why| Message::Unreachable { why, quoted })
        .into();
    messages.extend([
        Message::EchoRequest {
            identifier,
            sequence,
            data,
        },
        Message::EchoReply {
            identifier,
            sequence,
            data,
        },
        Message::TooBig { mtu: 1400, quoted },
        Message::TimeExceeded {
            reassembly: false,
            quoted,
        },
        Message::TimeExceeded {
            reassembly: true,
            quoted,
        },
    ]);
    messages
}

#[test]
fn what_is_written_is_read() {
    let data: Vec<u8> = (0..255).collect();
    for message in messages(&data) {
        for (source, destination) in [V4, V6] {
            let bytes = written(&message, (source, destination));
            assert_eq!(parse(&bytes, source, destination), Ok(message));
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 4;
                let read = parse(&changed, source, destination);
                assert_eq!(read, Err(Malformed::Checksum), "{message:?}, byte {at}");
            }
        }
    }
}

#[test]
fn etherparse_reads_what_is_written() {
    let echo = IcmpEchoHeader {
        id: 0x1234,
        seq: 0x5678,
    };
    let data: Vec<u8> = (0..99).collect();
    for message in messages(&data) {
        let bytes = written(&message, V4);
        let slice = Icmpv4Slice::from_slice(&bytes).expect("a message");
        let fits = match (message, slice.icmp_type()) {
            (Message::EchoRequest { .. }, Icmpv4Type::EchoRequest(header))
            | (Message::EchoReply { .. }, Icmpv4Type::EchoReply(header)) => header == echo,
            (Message::Unreachable { why, .. }, Icmpv4Type::DestinationUnreachable(header)) => {
                let expected = match why {
                    Unreachable::Network => DestUnreachableHeader::Network,
                    Unreachable::Host => DestUnreachableHeader::Host,
                    Unreachable::Protocol => DestUnreachableHeader::Protocol,
                    Unreachable::Port => DestUnreachableHeader::Port,
                    _ => DestUnreachableHeader::FilterProhibited,
                };
                header == expected
            }
            (Message::TooBig { .. }, Icmpv4Type::DestinationUnreachable(header)) => {
                header == DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1400 }
            }
            (Message::TimeExceeded { reassembly, .. }, Icmpv4Type::TimeExceeded(code)) => {
                code as u8 == u8::from(reassembly)
            }
            _ => false,
        };
        assert!(fits, "{message:?}: {:?}", slice.icmp_type());
        assert_eq!(slice.payload(), data);
        let checksum = slice.icmp_type().calc_checksum(&data);
        assert_eq!(slice.checksum(), checksum);

        let bytes = written(&message, V6);
        let slice = Icmpv6Slice::from_slice(&bytes).expect("a message");
        let fits = match (message, slice.icmp_type()) {
            (Message::EchoRequest { .. }, Icmpv6Type::EchoRequest(header))
            | (Message::EchoReply { .. }, Icmpv6Type::EchoReply(header)) => header == echo,
            (Message::Unreachable { why, .. }, Icmpv6Type::DestinationUnreachable(code)) => {
                let expected = match why {
                    Unreachable::Network => DestUnreachableCode::NoRoute,
                    Unreachable::Host => DestUnreachableCode::Address,
                    Unreachable::Port => DestUnreachableCode::Port,
                    _ => DestUnreachableCode::Prohibited,
                };
                code == expected
            }
            (Message::Unreachable { why, .. }, Icmpv6Type::ParameterProblem(header)) => {
                why == Unreachable::Protocol && header.pointer == 6 && slice.code_u8() == 1
            }
            (Message::TooBig { .. }, Icmpv6Type::PacketTooBig { mtu }) => mtu == 1400,
            (Message::TimeExceeded { reassembly, .. }, Icmpv6Type::TimeExceeded(code)) => {
                code as u8 == u8::from(reassembly)
            }
            _ => false,
        };
        assert!(fits, "{message:?}: {:?}", slice.icmp_type());
        let (IpAddr::V6(source), IpAddr::V6(destination)) = V6 else {
            unreachable!("IPv6");
        };
        assert!(slice.is_checksum_valid(source.octets(), destination.octets()));
    }
}

#[test]
fn an_error_quotes_what_fits_the_smallest_mtu() {
    let quoted = &[7; 3000][..];
    let message = Message::TimeExceeded {
        reassembly: false,
        quoted,
    };
    assert_eq!(written(&message, V4).len() + 20, 576);
    assert_eq!(written(&message, V6).len() + 40, 1280);
    let echo = Message::EchoReply {
        identifier: 1,
        sequence: 2,
        data: quoted,
    };
    assert_eq!(written(&echo, V4).len(), 3008);
}

#[test]
fn other_messages_are_handed_on() {
    // A redirect.
    let mut bytes = [5, 1, 0, 0, 10, 0, 0, 9, 0x45, 0, 0, 20];
    set_checksum(&mut bytes, V4.0, V4.1);
    let other = Message::Other {
        kind: 5,
        code: 1,
        body: &bytes[4..],
    };
    assert_eq!(parse(&bytes, V4.0, V4.1), Ok(other));
    assert_eq!(parse(&bytes[..7], V4.0, V4.1), Err(Malformed::Truncated));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>, is_v6: bool) {
        let (source, destination) = if is_v6 { V6 } else { V4 };
        if bytes.len() >= LEN {
            set_checksum(&mut bytes, source, destination);
            prop_assert!(parse(&bytes, source, destination).is_ok());
        } else {
            prop_assert!(parse(&bytes, source, destination).is_err());
        }
    }
}
