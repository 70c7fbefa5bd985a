//! IPv4 (RFC 791) and IPv6 (RFC 8200).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::checksum::Sum;
use super::{Malformed, array, u16_at, u32_at};

/// Numbers of protocols and extension headers.
pub mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const ICMPV6: u8 = 58;
    pub const NO_NEXT: u8 = 59;
    pub const DESTINATION: u8 = 60;
}

/// Bytes of a header of IPv4 without options, as [`write`](fn@write) makes it.
pub const V4_LEN: usize = 20;
/// Bytes of a header of IPv6 without extensions.
pub const V6_LEN: usize = 40;
/// Bytes that [`write`](fn@write) needs at most: a header of IPv6 with one for a fragment.
pub const MAX_LEN: usize = V6_LEN + FRAGMENT_LEN;

const FRAGMENT_LEN: usize = 8;

/// The two bits of congestion notification (RFC 3168), the low ones of the traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not do it.
    #[default]
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0), which senders use.
    Capable0 = 2,
    /// Congestion experienced.
    Congestion = 3,
}

/// What the headers of IP say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub source: IpAddr,
    /// Of the same version as `source`.
    pub destination: IpAddr,
    /// What follows. In IPv6 the extension headers are behind us.
    pub protocol: u8,
    pub hop_limit: u8,
    /// Differentiated services and [`Ecn`].
    pub traffic_class: u8,
    /// What part of a packet this is, if it is not all. An IPv4 packet that is sent whole and may be fragmented has one
    /// of offset 0 and no more, for its identification; a packet received whole has none.
    pub fragment: Option<Fragment>,
    /// Always in IPv6.
    pub dont_fragment: bool,
}

/// A part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Parts of a packet have the same. 16 bits of it are sent in IPv4.
    pub identification: u32,
    /// Bytes of payload before it, a multiple of 8.
    pub offset: u16,
    /// Whether parts follow.
    pub more: bool,
}

impl Header {
    /// Between two addresses of one version, with nothing unusual about it.
    pub fn new(source: IpAddr, destination: IpAddr, protocol: u8) -> Header {
        Header {
            source,
            destination,
            protocol,
            hop_limit: 64,
            traffic_class: 0,
            fragment: None,
            dont_fragment: true,
        }
    }

    /// Congestion notification.
    pub fn ecn(&self) -> Ecn {
        match self.traffic_class & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Congestion,
        }
    }

    /// With this congestion notification.
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Header {
        let traffic_class = self.traffic_class & !3 | ecn as u8;
        Header {
            traffic_class,
            ..self
        }
    }

    /// Bytes that [`write`](fn@write) makes of it.
    pub fn len(&self) -> usize {
        match (self.source, self.fragment) {
            (IpAddr::V4(_), _) => V4_LEN,
            (IpAddr::V6(_), None) => V6_LEN,
            (IpAddr::V6(_), Some(_)) => V6_LEN + FRAGMENT_LEN,
        }
    }

    /// Whether [`write`](fn@write) makes no bytes of it: never.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Reads the headers at the front of a packet, and returns them, their bytes, and the bytes of the packet with them:
/// what lies behind is padding of the medium. The checksum of IPv4 is verified.
///
/// # Errors
/// [`Malformed`] for a packet to drop without an answer.
pub fn parse(bytes: &[u8]) -> Result<(Header, usize, usize), Malformed> {
    match bytes.first().ok_or(Malformed::Truncated)? >> 4 {
        4 => parse_v4(bytes),
        6 => parse_v6(bytes),
        _ => Err(Malformed::Version),
    }
}

fn parse_v4(bytes: &[u8]) -> Result<(Header, usize, usize), Malformed> {
    let fixed: [u8; V4_LEN] = array(bytes, 0)?;
    let header_len = usize::from(fixed[0] & 15) * 4;
    let packet_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header_len < V4_LEN || packet_len < header_len {
        return Err(Malformed::Length);
    }
    if packet_len > bytes.len() {
        return Err(Malformed::Truncated);
    }
    if Sum::ZERO.add(&bytes[..header_len]).folded() != 0 {
        return Err(Malformed::Checksum);
    }
    let word = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (more, offset) = (word & 0x2000 != 0, (word & 0x1fff) << 3);
    let payload_len = packet_len - header_len;
    if more && !payload_len.is_multiple_of(8) || usize::from(offset) + payload_len > 0xffff {
        return Err(Malformed::Length);
    }
    let fragment = (more || offset != 0).then(|| Fragment {
        identification: u32::from(u16::from_be_bytes([fixed[4], fixed[5]])),
        offset,
        more,
    });
    let header = Header {
        source: Ipv4Addr::from(array(&fixed, 12)?).into(),
        destination: Ipv4Addr::from(array(&fixed, 16)?).into(),
        protocol: fixed[9],
        hop_limit: fixed[8],
        traffic_class: fixed[1],
        fragment,
        dont_fragment: word & 0x4000 != 0,
    };
    Ok((header, header_len, packet_len))
}

fn parse_v6(bytes: &[u8]) -> Result<(Header, usize, usize), Malformed> {
    let fixed: [u8; V6_LEN] = array(bytes, 0)?;
    let packet_len = V6_LEN + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let packet = bytes.get(..packet_len).ok_or(Malformed::Truncated)?;
    let word = u16::from_be_bytes([fixed[0], fixed[1]]);
    let mut header = Header {
        source: Ipv6Addr::from(array::<16>(&fixed, 8)?).into(),
        destination: Ipv6Addr::from(array::<16>(&fixed, 24)?).into(),
        protocol: fixed[6],
        hop_limit: fixed[7],
        traffic_class: (word >> 4) as u8,
        fragment: None,
        dont_fragment: true,
    };
    let header_len = walk_extensions(packet, &mut header)?;
    Ok((header, header_len, packet_len))
}

/// Goes behind the extension headers (RFC 8200 section 4), as far as a destination reads them: to the transport, or to
/// the payload of a fragment.
fn walk_extensions(packet: &[u8], header: &mut Header) -> Result<usize, Malformed> {
    let mut at = V6_LEN;
    loop {
        match header.protocol {
            protocol::HOP_BY_HOP if at != V6_LEN => return Err(Malformed::Extension),
            protocol::HOP_BY_HOP | protocol::DESTINATION => {
                let extension = extension(packet, at)?;
                check_options(&extension[2..])?;
                header.protocol = extension[0];
                at += extension.len();
            }
            protocol::ROUTING => {
                let extension = extension(packet, at)?;
                // Segments left: we are not where the packet goes (RFC 5095, and RFC 8200 section 4.4).
                if extension[3] != 0 {
                    return Err(Malformed::Extension);
                }
                header.protocol = extension[0];
                at += extension.len();
            }
            protocol::FRAGMENT => {
                if header.fragment.is_some() {
                    return Err(Malformed::Extension);
                }
                let word = u16_at(packet, at + 2)?;
                let fragment = Fragment {
                    identification: u32_at(packet, at + 4)?,
                    offset: word & !7,
                    more: word & 1 != 0,
                };
                header.protocol = packet[at];
                header.fragment = Some(fragment);
                at += FRAGMENT_LEN;
                let payload_len = packet.len() - at;
                if fragment.more && !payload_len.is_multiple_of(8)
                    || usize::from(fragment.offset) + payload_len > 0xffff
                {
                    return Err(Malformed::Length);
                }
                if fragment.more || fragment.offset != 0 {
                    return Ok(at);
                }
                // All of a packet in one fragment (RFC 6946) is a packet like any other.
                header.fragment = None;
            }
            _ => return Ok(at),
        }
    }
}

/// The extension header at `at`: at least 8 bytes.
fn extension(packet: &[u8], at: usize) -> Result<&[u8], Malformed> {
    let [_, units] = array(packet, at)?;
    let len = (usize::from(units) + 1) * 8;
    packet.get(at..at + len).ok_or(Malformed::Truncated)
}

/// Whether a packet with these options may be taken: of an option that is not known, its two high bits say so
/// (RFC 8200 section 4.2).
fn check_options(mut options: &[u8]) -> Result<(), Malformed> {
    while let [kind, rest @ ..] = options {
        if *kind == 0 {
            options = rest;
            continue;
        }
        if kind >> 6 != 0 {
            return Err(Malformed::Extension);
        }
        let [len, rest @ ..] = rest else {
            return Err(Malformed::Length);
        };
        options = rest.get(usize::from(*len)..).ok_or(Malformed::Length)?;
    }
    Ok(())
}

/// Writes the headers of a packet with `payload_len` bytes behind them, and returns their bytes, [`Header::len`].
///
/// # Panics
/// If `to` has less room, the packet is too long for its length field, or the addresses differ in version.
pub fn write(header: &Header, payload_len: usize, to: &mut [u8]) -> usize {
    match (header.source, header.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let to = to.first_chunk_mut().expect("room for a header");
            write_v4(header, source, destination, payload_len, to)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            write_v6(header, source, destination, payload_len, to)
        }
        _ => panic!("two versions in one header"),
    }
    header.len()
}

/// Computes the checksum of the header of IPv4 at the front of a packet and writes it where it belongs.
///
/// # Panics
/// If the packet is shorter than its header, or than one without options.
pub fn set_checksum(packet: &mut [u8]) {
    let header_len = usize::from(packet[0] & 15) * 4;
    let header = &mut packet[..header_len];
    header[10..12].fill(0);
    let checksum = Sum::ZERO.add(header).folded();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Marks a packet whose sender does congestion notification, as a router does that has a queue (RFC 3168 section 5).
/// False for other packets, which stay as they are.
pub fn mark_congestion(packet: &mut [u8]) -> bool {
    let Ok((header, ..)) = parse(packet) else {
        return false;
    };
    if header.ecn() == Ecn::NotCapable {
        return false;
    }
    match header.source {
        IpAddr::V4(_) => {
            packet[1] |= Ecn::Congestion as u8;
            set_checksum(packet);
        }
        // The traffic class begins in the middle of the first byte.
        IpAddr::V6(_) => packet[1] |= (Ecn::Congestion as u8) << 4,
    }
    true
}

fn write_v4(
    header: &Header,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    payload_len: usize,
    to: &mut [u8; V4_LEN],
) {
    let len = u16::try_from(V4_LEN + payload_len).expect("a packet of 65,535 bytes at most");
    let mut word = u16::from(header.dont_fragment) << 14;
    let mut identification = 0;
    if let Some(fragment) = header.fragment {
        word |= u16::from(fragment.more) << 13 | fragment.offset >> 3;
        identification = fragment.identification as u16;
    }
    to[0] = 0x45;
    to[1] = header.traffic_class;
    to[2..4].copy_from_slice(&len.to_be_bytes());
    to[4..6].copy_from_slice(&identification.to_be_bytes());
    to[6..8].copy_from_slice(&word.to_be_bytes());
    to[8] = header.hop_limit;
    to[9] = header.protocol;
    to[12..16].copy_from_slice(&source.octets());
    to[16..20].copy_from_slice(&destination.octets());
    set_checksum(to);
}

fn write_v6(
    header: &Header,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    payload_len: usize,
    to: &mut [u8],
) {
    let extension_len = header.len() - V6_LEN;
    let len =
        u16::try_from(extension_len + payload_len).expect("a payload of 65,535 bytes at most");
    let (fixed, rest) = to.split_at_mut(V6_LEN);
    let word = 6 << 28 | u32::from(header.traffic_class) << 20;
    fixed[..4].copy_from_slice(&word.to_be_bytes());
    fixed[4..6].copy_from_slice(&len.to_be_bytes());
    fixed[6] = header.protocol;
    fixed[7] = header.hop_limit;
    fixed[8..24].copy_from_slice(&source.octets());
    fixed[24..40].copy_from_slice(&destination.octets());
    if let Some(fragment) = header.fragment {
        fixed[6] = protocol::FRAGMENT;
        let word = fragment.offset & !7 | u16::from(fragment.more);
        rest[0] = header.protocol;
        rest[1] = 0;
        rest[2..4].copy_from_slice(&word.to_be_bytes());
        rest[4..8].copy_from_slice(&fragment.identification.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
