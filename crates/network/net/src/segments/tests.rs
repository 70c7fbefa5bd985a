use etherparse::{PacketBuilder, SlicedPacket, TcpHeader, TransportSlice};
use proptest::prelude::*;

use super::*;

/// A packet of IPv4 or IPv6 with all flags of TCP that matter, as etherparse builds it, its checksum made partial.
fn packet(is_v6: bool, is_tcp: bool, network: usize, payload: &[u8]) -> Vec<u8> {
    let builder = match is_v6 {
        true => PacketBuilder::ipv6([1; 16], [2; 16], 60),
        false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60),
    };
    let mut bytes = vec![0; network];
    if is_tcp {
        let mut header = TcpHeader::new(1000, 2000, 0xffff_ff00, 500);
        (header.ack, header.psh, header.fin, header.cwr) = (true, true, true, true);
        header
            .set_options_raw(&[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8])
            .expect("options");
        builder
            .tcp_header(header)
            .write(&mut bytes, payload)
            .expect("memory");
    } else {
        builder
            .udp(1000, 2000)
            .write(&mut bytes, payload)
            .expect("memory");
    }
    let shape = Shape::of(&bytes, network).expect("a packet");
    let len = (shape.end - shape.transport) as u32;
    let partial = Sum::pseudo(shape.source, shape.destination, shape.protocol, len).partial();
    bytes[shape.checksum()..shape.checksum() + 2].copy_from_slice(&partial.to_be_bytes());
    bytes
}

proptest! {
    #[test]
    fn segments_are_packets_of_their_own(is_v6: bool, is_tcp: bool, frame: bool, len in 0..9000usize, segment in 1..3000u16) {
        let network = if frame { 14 } else { 0 };
        let payload: Vec<u8> = (0..len).map(|at| (at * 31) as u8).collect();
        let bytes = packet(is_v6, is_tcp, network, &payload);
        let offload = Offload { segment, checksum: Checksum::Partial };
        let mut segments = Vec::new();
        Splitter::new().split(&bytes, offload, network, &mut |bytes, offload| {
            assert_eq!(offload, Offload { segment: 0, checksum: Checksum::Partial });
            let mut bytes = bytes.to_vec();
            complete(&mut bytes, network);
            segments.push(bytes);
        });
        prop_assert_eq!(segments.len(), len.div_ceil(usize::from(segment)).max(1));
        let mut joined = Vec::new();
        for (number, bytes) in segments.iter().enumerate() {
            let sliced = SlicedPacket::from_ip(&bytes[network..]).expect("a packet");
            match sliced.transport.expect("a transport") {
                TransportSlice::Tcp(slice) => {
                    let header = slice.to_header();
                    let expected = match &sliced.net {
                        Some(etherparse::NetSlice::Ipv4(ip)) => header.calc_checksum_ipv4(&ip.header().to_header(), slice.payload()),
                        Some(etherparse::NetSlice::Ipv6(ip)) => header.calc_checksum_ipv6(&ip.header().to_header(), slice.payload()),
                        _ => unreachable!("IP"),
                    };
                    prop_assert_eq!(Ok(header.checksum), expected);
                    prop_assert_eq!(header.sequence_number, 0xffff_ff00u32.wrapping_add(joined.len() as u32));
                    let is_last = number + 1 == segments.len();
                    prop_assert_eq!((header.fin, header.psh), (is_last, is_last));
                    prop_assert_eq!((header.cwr, header.ack), (number == 0, true));
                    joined.extend_from_slice(slice.payload());
                }
                TransportSlice::Udp(slice) => {
                    let header = slice.to_header();
                    let expected = match &sliced.net {
                        Some(etherparse::NetSlice::Ipv4(ip)) => header.calc_checksum_ipv4(&ip.header().to_header(), slice.payload()),
                        Some(etherparse::NetSlice::Ipv6(ip)) => header.calc_checksum_ipv6(&ip.header().to_header(), slice.payload()),
                        _ => unreachable!("IP"),
                    };
                    prop_assert_eq!(Ok(header.checksum), expected);
                    joined.extend_from_slice(slice.payload());
                }
                _ => unreachable!("TCP or UDP"),
            }
            if let Some(etherparse::NetSlice::Ipv4(ip)) = &sliced.net {
                let header = ip.header().to_header();
                prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                prop_assert_eq!(usize::from(header.identification), number);
            }
        }
        prop_assert_eq!(joined, payload);
    }

    #[test]
    fn any_bytes_are_handed_on(mut bytes: Vec<u8>, segment: u16, network in 0..20usize) {
        let mut count = 0;
        let offload = Offload { segment, checksum: Checksum::Partial };
        Splitter::new().split(&bytes, offload, network, &mut |_, _| count += 1);
        prop_assert!(count > 0);
        complete(&mut bytes, network);
    }
}

#[test]
fn padding_is_no_payload() {
    let mut bytes = packet(false, false, 0, &[7; 10]);
    let len = bytes.len();
    bytes.resize(60, 0xee);
    complete(&mut bytes, 0);
    let offload = Offload {
        segment: 4,
        checksum: Checksum::Partial,
    };
    let mut lens = Vec::new();
    Splitter::new().split(&bytes, offload, 0, &mut |bytes, _| lens.push(bytes.len()));
    assert_eq!(lens, [len - 6, len - 6, len - 8]);
}
