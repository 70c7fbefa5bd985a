//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use super::ethernet::Address;
use super::{Malformed, array, u16_at};

/// Bytes of a packet.
pub const LEN: usize = 28;

/// Ethernet, IPv4, and the lengths of their addresses.
const FRONT: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// What a packet asks or says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Request = 1,
    Reply = 2,
}

/// A request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub operation: Operation,
    pub sender: (Address, Ipv4Addr),
    /// The address of the device is not known in a request.
    pub target: (Address, Ipv4Addr),
}

/// Reads a packet.
///
/// # Errors
/// [`Malformed`] if it is short, of other media, or neither a request nor a reply.
pub fn parse(bytes: &[u8]) -> Result<Packet, Malformed> {
    if array(bytes, 0)? != FRONT {
        return Err(Malformed::Version);
    }
    let operation = match u16_at(bytes, 6)? {
        1 => Operation::Request,
        2 => Operation::Reply,
        _ => return Err(Malformed::Version),
    };
    Ok(Packet {
        operation,
        sender: (array(bytes, 8)?, Ipv4Addr::from(array(bytes, 14)?)),
        target: (array(bytes, 18)?, Ipv4Addr::from(array(bytes, 24)?)),
    })
}

/// Writes a packet, and returns its bytes, [`LEN`].
///
/// # Panics
/// If `to` has less room.
pub fn write(packet: &Packet, to: &mut [u8]) -> usize {
    to[0..6].copy_from_slice(&FRONT);
    to[6..8].copy_from_slice(&(packet.operation as u16).to_be_bytes());
    to[8..14].copy_from_slice(&packet.sender.0);
    to[14..18].copy_from_slice(&packet.sender.1.octets());
    to[18..24].copy_from_slice(&packet.target.0);
    to[24..28].copy_from_slice(&packet.target.1.octets());
    LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{ArpEthIpv4Packet, ArpOperation, ArpPacket};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_and_writes_as_etherparse(reply: bool, sender: ([u8; 6], [u8; 4]), target: ([u8; 6], [u8; 4])) {
            let operation = if reply { Operation::Reply } else { Operation::Request };
            let packet = Packet {
                operation,
                sender: (sender.0, sender.1.into()),
                target: (target.0, target.1.into()),
            };
            let mut bytes = [0; LEN];
            prop_assert_eq!(write(&packet, &mut bytes), LEN);
            let other = ArpPacket::from(ArpEthIpv4Packet {
                operation: ArpOperation(operation as u16),
                sender_mac: sender.0,
                sender_ipv4: sender.1,
                target_mac: target.0,
                target_ipv4: target.1,
            });
            prop_assert_eq!(&bytes[..], &other.to_bytes()[..]);
            prop_assert_eq!(parse(&bytes), Ok(packet));
        }
    }

    #[test]
    fn other_media_operations_and_short_packets_are_refused() {
        let packet = Packet {
            operation: Operation::Request,
            sender: ([1; 6], Ipv4Addr::LOCALHOST),
            target: ([0; 6], Ipv4Addr::LOCALHOST),
        };
        let mut bytes = [0; LEN];
        write(&packet, &mut bytes);
        assert_eq!(parse(&bytes[..LEN - 1]), Err(Malformed::Truncated));
        for at in [1, 2, 4, 5, 7] {
            let mut changed = bytes;
            changed[at] ^= 0x40;
            assert_eq!(parse(&changed), Err(Malformed::Version), "byte {at}");
        }
    }
}
