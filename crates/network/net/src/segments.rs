//! Super-segments taken apart, and checksums completed, for what takes neither.

use std::net::IpAddr;

use crate::packet::{Checksum, Offload};
use crate::wire::checksum::Sum;
use crate::wire::ip::{self, protocol};
use crate::wire::{tcp, udp};

/// Takes super-segments apart.
#[derive(Debug, Default)]
pub struct Splitter {
    segment: Vec<u8>,
}

/// Where the parts of a packet are.
struct Shape {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// Where the header of TCP or UDP is, and where it ends.
    transport: usize,
    payload: usize,
    /// Where the packet ends: padding may follow.
    end: usize,
}

impl Shape {
    /// Of a whole packet of TCP or UDP whose header of IP is at `network`.
    fn of(bytes: &[u8], network: usize) -> Option<Shape> {
        let (ip, ip_len, len) = ip::parse(bytes.get(network..)?).ok()?;
        if ip.fragment.is_some() {
            return None;
        }
        let (transport, end) = (network + ip_len, network + len);
        let rest = &bytes[transport..end];
        let header_len = match ip.protocol {
            protocol::TCP => tcp::parse(rest).ok()?.1,
            protocol::UDP if rest.len() >= udp::LEN => udp::LEN,
            _ => return None,
        };
        Some(Shape {
            source: ip.source,
            destination: ip.destination,
            protocol: ip.protocol,
            transport,
            payload: transport + header_len,
            end,
        })
    }

    /// Where the checksum is.
    fn checksum(&self) -> usize {
        self.transport
            + match self.protocol {
                protocol::TCP => tcp::CHECKSUM_AT,
                _ => udp::CHECKSUM_AT,
            }
    }
}

impl Splitter {
    /// One that has taken nothing apart yet.
    pub fn new() -> Splitter {
        Splitter::default()
    }

    /// Hands the segments of a packet, whose header of IP is at `network`, to `each`, in order. Each has a partial
    /// checksum. A packet that is one segment, or cannot be read, is handed on as it is.
    pub fn split(
        &mut self,
        bytes: &[u8],
        offload: Offload,
        network: usize,
        each: &mut dyn FnMut(&[u8], Offload),
    ) {
        let size = usize::from(offload.segment);
        let whole = Offload {
            segment: 0,
            ..offload
        };
        let shape = match size {
            0 => None,
            _ => Shape::of(bytes, network),
        };
        let Some(shape) = shape.filter(|shape| shape.end - shape.payload > size) else {
            return each(bytes, whole);
        };
        let pieces = bytes[shape.payload..shape.end].chunks(size);
        let count = pieces.len();
        for (number, piece) in pieces.enumerate() {
            let segment = &mut self.segment;
            segment.clear();
            segment.extend_from_slice(&bytes[..shape.payload]);
            segment.extend_from_slice(piece);
            let place = Place {
                number,
                is_last: number + 1 == count,
                offset: number * size,
            };
            place.write(segment, &shape, network);
            let partial = Offload {
                segment: 0,
                checksum: Checksum::Partial,
            };
            each(segment, partial);
        }
    }
}

/// Which of the segments of a super-segment one is.
struct Place {
    number: usize,
    is_last: bool,
    /// Bytes of payload before it.
    offset: usize,
}

impl Place {
    /// Makes the headers of a segment, which are those of the super-segment, its own.
    fn write(&self, segment: &mut [u8], shape: &Shape, network: usize) {
        let len = segment.len();
        let ip = &mut segment[network..];
        if shape.source.is_ipv4() {
            let total = (len - network) as u16;
            let identification =
                u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(self.number as u16);
            ip[2..4].copy_from_slice(&total.to_be_bytes());
            ip[4..6].copy_from_slice(&identification.to_be_bytes());
            ip::set_checksum(ip);
        } else {
            let payload = (len - network - ip::V6_LEN) as u16;
            ip[4..6].copy_from_slice(&payload.to_be_bytes());
        }
        let transport = &mut segment[shape.transport..];
        let transport_len = transport.len() as u32;
        if shape.protocol == protocol::TCP {
            let at = [transport[4], transport[5], transport[6], transport[7]];
            let sequence = u32::from_be_bytes(at).wrapping_add(self.offset as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            if !self.is_last {
                transport[13] &= !(tcp::flags::FIN | tcp::flags::PSH);
            }
            if self.number > 0 {
                transport[13] &= !tcp::flags::CWR;
            }
        } else {
            transport[4..6].copy_from_slice(&(transport_len as u16).to_be_bytes());
        }
        let partial = Sum::pseudo(
            shape.source,
            shape.destination,
            shape.protocol,
            transport_len,
        );
        let at = shape.checksum();
        segment[at..at + 2].copy_from_slice(&partial.partial().to_be_bytes());
    }
}

/// Completes a partial checksum of a packet whose header of IP is at `network`. One that cannot be read stays as it is.
pub fn complete(bytes: &mut [u8], network: usize) {
    let Some(shape) = Shape::of(bytes, network) else {
        return;
    };
    let at = shape.checksum();
    // The field has the sum of the pseudo header, and is summed with the rest.
    let folded = Sum::ZERO.add(&bytes[shape.transport..shape.end]).folded();
    let field = match shape.protocol {
        protocol::UDP => udp::field(folded),
        _ => folded,
    };
    bytes[at..at + 2].copy_from_slice(&field.to_be_bytes());
}

#[cfg(test)]
mod tests;
