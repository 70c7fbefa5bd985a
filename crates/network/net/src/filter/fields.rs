//! What rules look at in a packet, as far as it has that: a packet is never refused here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Protocol;
use crate::device::Medium;
use crate::wire::ethernet::{self, ethertype};
use crate::wire::ip::{V4_LEN, V6_LEN, protocol};

/// Fields of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    is_arp: bool,
    protocol: Option<u8>,
    pub source: Option<IpAddr>,
    pub destination: Option<IpAddr>,
    /// Of TCP and UDP. A fragment that is not the first has none.
    pub source_port: Option<u16>,
    pub destination_port: Option<u16>,
    /// Of TCP.
    pub flags: Option<u8>,
    /// Where the payload of TCP or UDP begins.
    pub payload: Option<usize>,
    /// It is a fragment that has some of the ports and flags, or of the headers before them, and not all. No right sender
    /// makes one: it would hide them from rules (RFC 1858; RFC 3128; RFC 7112, 5).
    pub hides: bool,
}

/// What part of a packet it is.
#[derive(Clone, Copy)]
struct Part {
    /// Bytes before it, behind the headers that all parts have.
    offset: usize,
    /// Whether there is more behind it.
    more: bool,
}

impl Part {
    /// The offset is in units of 8 bytes.
    fn of(offset: u16, more: bool) -> Part {
        Part {
            offset: usize::from(offset) * 8,
            more,
        }
    }
}

impl Fields {
    /// Of a packet whose headers are at the front of `bytes`.
    pub fn of(bytes: &[u8], medium: Medium) -> Fields {
        let mut fields = Fields::default();
        // What is not there stays unknown.
        let _ = match medium {
            Medium::Ip => fields.read_ip(bytes, 0),
            Medium::Ethernet(_) => fields.read_frame(bytes),
        };
        fields
    }

    /// Whether it has a protocol that can be told.
    pub fn has_protocol(&self) -> bool {
        self.is_arp || self.protocol.is_some()
    }

    /// Whether it is of a protocol.
    pub fn is(&self, wanted: Protocol) -> bool {
        match wanted {
            Protocol::Arp => self.is_arp,
            Protocol::Number(number) => self.protocol == Some(number),
            Protocol::Icmp => {
                matches!(self.protocol, Some(protocol::ICMP | protocol::ICMPV6))
            }
        }
    }

    fn read_frame(&mut self, bytes: &[u8]) -> Option<()> {
        match half(bytes, 12)? {
            ethertype::ARP => {
                self.is_arp = true;
                let at = |at: usize| Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk()?).into());
                self.source = at(ethernet::LEN + 14);
                self.destination = at(ethernet::LEN + 24);
                Some(())
            }
            ethertype::IPV4 | ethertype::IPV6 => self.read_ip(bytes, ethernet::LEN),
            _ => None,
        }
    }

    fn read_ip(&mut self, bytes: &[u8], start: usize) -> Option<()> {
        let ip = bytes.get(start..)?;
        match ip.first()? >> 4 {
            4 => {
                let header: &[u8; V4_LEN] = ip.first_chunk()?;
                self.source = Some(Ipv4Addr::from(*header[12..].first_chunk()?).into());
                self.destination = Some(Ipv4Addr::from(*header[16..].first_chunk()?).into());
                self.protocol = Some(header[9]);
                let bytes = front(bytes, start, half(header, 2)?);
                let word = half(header, 6)?;
                let part = Part::of(word & 0x1fff, word & 0x2000 != 0);
                self.read_part(bytes, start + usize::from(header[0] & 15) * 4, part)
            }
            6 => {
                let header: &[u8; V6_LEN] = ip.first_chunk()?;
                self.source = Some(Ipv6Addr::from(*header[8..].first_chunk()?).into());
                self.destination = Some(Ipv6Addr::from(*header[24..].first_chunk()?).into());
                let bytes = front(bytes, start + V6_LEN, half(header, 4)?);
                self.read_extensions(bytes, start + V6_LEN, header[6])
            }
            _ => None,
        }
    }

    fn read_extensions(&mut self, bytes: &[u8], mut at: usize, mut next: u8) -> Option<()> {
        let mut part = Part::of(0, false);
        // What follows the header of a later fragment is no header.
        while part.offset == 0 {
            match next {
                protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => {
                    let [following, units] = *bytes.get(at..)?.first_chunk()?;
                    next = following;
                    at += (usize::from(units) + 1) * 8;
                }
                protocol::FRAGMENT => {
                    next = *bytes.get(at)?;
                    let word = half(bytes, at + 2)?;
                    part = Part::of(word >> 3, part.more || word & 1 != 0);
                    at += 8;
                    // Unless all the headers turn out to be in the first.
                    self.hides = part.more && part.offset == 0;
                }
                _ => break,
            }
        }
        self.hides = false;
        self.protocol = Some(next);
        self.read_part(bytes, at, part)
    }

    /// What is behind the headers of IP, which end at `at`.
    fn read_part(&mut self, bytes: &[u8], at: usize, part: Part) -> Option<()> {
        // Bytes of ports and flags.
        let header = match self.protocol? {
            protocol::TCP => 14,
            protocol::UDP => 4,
            _ => return None,
        };
        self.hides = match part.offset {
            0 => part.more && bytes.len() < at + header,
            offset => offset < header,
        };
        (part.offset == 0).then(|| self.read_transport(bytes, at))?
    }

    fn read_transport(&mut self, bytes: &[u8], at: usize) -> Option<()> {
        let len = match self.protocol? {
            protocol::TCP => {
                self.flags = Some(*bytes.get(at + 13)?);
                usize::from(bytes[at + 12] >> 4) * 4
            }
            protocol::UDP => 8,
            _ => return None,
        };
        self.source_port = half(bytes, at);
        self.destination_port = half(bytes, at + 2);
        self.payload = Some(at + len);
        Some(())
    }
}

/// `bytes` without the padding of the medium behind the `len` that follow `start`.
fn front(bytes: &[u8], start: usize, len: u16) -> &[u8] {
    &bytes[..bytes.len().min(start + usize::from(len))]
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    #[test]
    fn fields_of_packets_that_another_library_made() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1234, 80, 7, 100)
            .syn()
            .ack(3)
            .write(&mut bytes, b"payload")
            .expect("a packet");
        let fields = Fields::of(&bytes, Medium::Ip);
        assert!(fields.is(Protocol::Number(6)) && !fields.is(Protocol::Icmp));
        assert_eq!(fields.source, Some([10, 0, 0, 1].into()));
        assert_eq!(fields.destination, Some([10, 0, 0, 2].into()));
        let ports = (fields.source_port, fields.destination_port);
        assert_eq!(ports, (Some(1234), Some(80)));
        assert_eq!(fields.flags, Some(0x12));
        assert_eq!(fields.payload, Some(40));

        let mut bytes = Vec::new();
        let (from, to) = ([0xfd; 16], [0xfe; 16]);
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv6(from, to, 64)
            .udp(53, 5353)
            .write(&mut bytes, b"payload")
            .expect("a frame");
        let fields = Fields::of(&bytes, Medium::Ethernet([0; 6]));
        assert!(fields.is(Protocol::Number(17)));
        let ends = (fields.source, fields.destination);
        assert_eq!(ends, (Some(from.into()), Some(to.into())));
        let ports = (fields.source_port, fields.destination_port);
        assert_eq!(ports, (Some(53), Some(5353)));
        assert_eq!((fields.flags, fields.payload), (None, Some(14 + 40 + 8)));
        // A later fragment has no ports: the header of one comes between.
        bytes[14 + 6] = protocol::FRAGMENT;
        bytes.splice(54..54, [17, 0, 0, 8, 0, 0, 0, 1]);
        let fields = Fields::of(&bytes, Medium::Ethernet([0; 6]));
        assert!(fields.is(Protocol::Number(17)));
        assert_eq!((fields.source_port, fields.payload), (None, None));
    }

    /// A packet of TCP in the fragment of it that begins at `offset` and has `len` bytes.
    fn fragment(medium: Medium, v6: bool, offset: usize, len: usize, more: bool) -> Vec<u8> {
        let mut whole = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let (front, builder) = match v6 {
            true => (54, builder.ipv6([0xfd; 16], [0xfe; 16], 64)),
            false => (34, builder.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)),
        };
        let builder = builder.tcp(1234, 80, 7, 100).syn();
        builder.write(&mut whole, &[7; 100]).expect("a frame");
        let mut bytes = whole[..front].to_vec();
        let word = (offset as u16, u16::from(more));
        if v6 {
            bytes[14 + 6] = protocol::FRAGMENT;
            bytes[18..20].copy_from_slice(&(8 + len as u16).to_be_bytes());
            bytes.extend([protocol::TCP, 0]);
            bytes.extend((word.0 | word.1).to_be_bytes());
            bytes.extend([0, 0, 0, 1]);
        } else {
            bytes[16..18].copy_from_slice(&(20 + len as u16).to_be_bytes());
            bytes[20..22].copy_from_slice(&((word.0 / 8) | (word.1 << 13)).to_be_bytes());
        }
        bytes.extend(&whole[front + offset..][..len]);
        match medium {
            Medium::Ip => bytes.split_off(14),
            // Frames have at least 60 bytes.
            Medium::Ethernet(_) => [bytes, vec![9; 60]].concat(),
        }
    }

    #[test]
    fn fragments_that_hide_ports_are_told_from_others() {
        let frames = Medium::Ethernet([0; 6]);
        for (medium, v6) in [
            (Medium::Ip, false),
            (Medium::Ip, true),
            (frames, false),
            (frames, true),
        ] {
            for (offset, len, more, hides) in [
                (0, 8, true, true),
                (0, 16, true, false),
                (8, 32, true, true),
                (16, 32, false, false),
                (0, 40, false, false),
            ] {
                let bytes = fragment(medium, v6, offset, len, more);
                let fields = Fields::of(&bytes, medium);
                let about = format!("{medium:?} {v6} {offset} {len} {more}");
                assert_eq!(fields.hides, hides, "{about}");
                assert!(fields.is(Protocol::Number(6)), "{about}");
                let is_first = offset == 0 && len >= 16;
                assert_eq!(fields.destination_port.is_some(), is_first, "{about}");
            }
        }
    }

    #[test]
    fn fragments_of_ipv6_that_hide_headers_are_told_from_others() {
        let mut bytes = fragment(Medium::Ip, true, 0, 40, true);
        // Options, and another fragment in it, which is the last of its kind.
        let options = [protocol::FRAGMENT, 0, 1, 4, 0, 0, 0, 0];
        bytes[40] = protocol::DESTINATION;
        let inner = [protocol::TCP, 0, 0, 0, 0, 0, 0, 1];
        bytes.splice(48..48, [options, inner].concat());
        bytes[5] += 16;
        assert!(!Fields::of(&bytes, Medium::Ip).hides);
        for (len, has_protocol) in [
            (8 + 4, false),
            (8 + 8, false),
            (8 + 16, true),
            (8 + 24, true),
        ] {
            bytes[5] = len;
            let fields = Fields::of(&bytes, Medium::Ip);
            assert!(fields.hides, "{len}");
            assert_eq!(fields.has_protocol(), has_protocol, "{len}");
        }
        // What follows the header of a later fragment is no header, whatever it seems to be.
        let mut bytes = fragment(Medium::Ip, true, 24, 40, true);
        bytes[40] = protocol::DESTINATION;
        (bytes[48], bytes[49]) = (protocol::TCP, 0);
        let fields = Fields::of(&bytes, Medium::Ip);
        assert!(!fields.is(Protocol::Number(6)) && !fields.hides);
    }

    #[test]
    fn no_bytes_are_refused() {
        use proptest::prelude::*;
        proptest!(|(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..3usize)| {
            let mut bytes = bytes;
            if let (Some(first), 1..) = (bytes.first_mut(), kind) {
                *first = if kind == 1 { 0x45 } else { 0x60 };
            }
            Fields::of(&bytes, Medium::Ip);
            let mut frame = vec![0; 12];
            frame.extend([[0x08, 0x06], [0x08, 0], [0x86, 0xdd]][kind]);
            frame.extend(bytes);
            Fields::of(&frame, Medium::Ethernet([0; 6]));
        });
    }
}
