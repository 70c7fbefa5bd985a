//! The header that TUN and packet sockets put before a packet: `struct virtio_net_hdr` (virtio 1.2, section 5.1.6) in
//! the order of bytes of the machine.

use super::Medium;
use crate::packet::{Checksum, Offload, Outgoing};
use crate::wire::{ethernet, ip, tcp, udp};

/// Bytes of a header.
pub(super) const LEN: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;

const SEGMENTS_NONE: u8 = 0;
const SEGMENTS_TCP4: u8 = 1;
const SEGMENTS_TCP6: u8 = 4;
const SEGMENTS_UDP: u8 = 5;
/// A flag beside the kind: the first segment alone gets the flag CWR.
const SEGMENTS_ECN: u8 = 0x80;

/// What a header says.
pub(super) fn decode(header: &[u8; LEN]) -> Offload {
    let segment = match header[1] & !SEGMENTS_ECN {
        SEGMENTS_NONE => 0,
        _ => u16::from_ne_bytes([header[4], header[5]]),
    };
    let checksum = if header[0] & NEEDS_CHECKSUM != 0 {
        Checksum::Partial
    } else if header[0] & DATA_VALID != 0 {
        Checksum::Verified
    } else {
        Checksum::Complete
    };
    Offload { segment, checksum }
}

/// The header for a packet. One that says nothing, if the checksum is complete or the packet is not of TCP or UDP.
pub(super) fn encode(packet: &Outgoing<'_>, medium: Medium) -> [u8; LEN] {
    let mut to = [0; LEN];
    if packet.offload.checksum != Checksum::Partial {
        debug_assert_eq!(
            packet.offload.segment, 0,
            "super-segments have partial checksums"
        );
        return to;
    }
    let network = match medium {
        Medium::Ip => 0,
        Medium::Ethernet(_) => ethernet::LEN,
    };
    let Some(transport) = transport(packet.header, network) else {
        return to;
    };
    to[0] = NEEDS_CHECKSUM;
    to[6..8].copy_from_slice(&(transport.at as u16).to_ne_bytes());
    to[8..10].copy_from_slice(&transport.checksum.to_ne_bytes());
    let payload = packet.len() - packet.header.len();
    let segment = packet.offload.segment;
    if segment != 0 && payload > usize::from(segment) {
        to[1] = transport.segments;
        to[2..4].copy_from_slice(&(packet.header.len() as u16).to_ne_bytes());
        to[4..6].copy_from_slice(&segment.to_ne_bytes());
    }
    to
}

struct Transport {
    /// Where its header is.
    at: usize,
    /// Where the checksum is in its header.
    checksum: u16,
    /// The kind of segments.
    segments: u8,
}

fn transport(header: &[u8], network: usize) -> Option<Transport> {
    let ip = header.get(network..)?;
    let (protocol, len, tcp_segments) = match ip.first()? >> 4 {
        4 => (*ip.get(9)?, usize::from(ip[0] & 15) * 4, SEGMENTS_TCP4),
        6 => (*ip.get(6)?, ip::V6_LEN, SEGMENTS_TCP6),
        _ => return None,
    };
    let at = network + len;
    match protocol {
        ip::protocol::TCP => {
            let flags = *header.get(at + 13)?;
            let ecn = if flags & tcp::flags::CWR != 0 {
                SEGMENTS_ECN
            } else {
                0
            };
            Some(Transport {
                at,
                checksum: tcp::CHECKSUM_AT as u16,
                segments: tcp_segments | ecn,
            })
        }
        ip::protocol::UDP => Some(Transport {
            at,
            checksum: udp::CHECKSUM_AT as u16,
            segments: SEGMENTS_UDP,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::memory::Shared;

    fn header(is_v6: bool, protocol: u8, flags: u8, front: usize) -> Vec<u8> {
        let header = match is_v6 {
            true => ip::Header::new(
                Ipv6Addr::LOCALHOST.into(),
                Ipv6Addr::LOCALHOST.into(),
                protocol,
            ),
            false => ip::Header::new(
                Ipv4Addr::LOCALHOST.into(),
                Ipv4Addr::LOCALHOST.into(),
                protocol,
            ),
        };
        let mut bytes = vec![0; front + header.len() + 20];
        let len = ip::write(&header, 20, &mut bytes[front..]);
        bytes[front + len + 13] = flags;
        bytes
    }

    fn encoded(header: &[u8], payload: usize, offload: Offload, medium: Medium) -> [u16; 5] {
        let bytes = vec![0; payload];
        let packet = Outgoing {
            header,
            payload: [Shared::from(&bytes[..]), Shared::EMPTY],
            offload,
        };
        let bytes = encode(&packet, medium);
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        [
            u16::from(bytes[0]) << 8 | u16::from(bytes[1]),
            word(2),
            word(4),
            word(6),
            word(8),
        ]
    }

    #[test]
    fn headers_for_each_protocol() {
        let checksum = Checksum::Partial;
        let many = Offload {
            segment: 1000,
            checksum,
        };
        let v4 = header(false, ip::protocol::TCP, 0, 0);
        assert_eq!(
            encoded(&v4, 3000, many, Medium::Ip),
            [0x101, 40, 1000, 20, 16]
        );
        // One segment is not many.
        assert_eq!(encoded(&v4, 1000, many, Medium::Ip), [0x100, 0, 0, 20, 16]);
        let marked = header(true, ip::protocol::TCP, tcp::flags::CWR, 0);
        assert_eq!(
            encoded(&marked, 3000, many, Medium::Ip),
            [0x184, 60, 1000, 40, 16]
        );
        let frame = header(false, ip::protocol::UDP, 0, 14);
        let ethernet = Medium::Ethernet([0; 6]);
        assert_eq!(
            encoded(&frame, 3000, many, ethernet),
            [0x105, 54, 1000, 34, 6]
        );
        assert_eq!(encoded(&v4, 10, Offload::default(), Medium::Ip), [0; 5]);
        let other = header(false, ip::protocol::ICMP, 0, 0);
        let partial = Offload {
            segment: 0,
            checksum,
        };
        assert_eq!(encoded(&other, 10, partial, Medium::Ip), [0; 5]);
    }

    #[test]
    fn what_headers_say() {
        let decoded = |flags, kind| decode(&[flags, kind, 0, 0, 7, 7, 0, 0, 0, 0]);
        assert_eq!(decoded(0, 0), Offload::default());
        assert_eq!(decoded(2, 0).checksum, Checksum::Verified);
        let many = Offload {
            segment: 0x0707,
            checksum: Checksum::Partial,
        };
        for kind in [
            SEGMENTS_TCP4,
            SEGMENTS_TCP6,
            SEGMENTS_UDP,
            SEGMENTS_TCP4 | SEGMENTS_ECN,
        ] {
            assert_eq!(decoded(3, kind), many);
        }
    }
}
