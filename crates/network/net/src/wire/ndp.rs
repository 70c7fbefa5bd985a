//! Neighbour discovery of IPv6 (RFC 4861): solicitations and advertisements of neighbours.

use std::net::{IpAddr, Ipv6Addr};

use super::ethernet::Address;
use super::{Malformed, array, icmp, u32_at};

/// Bytes that [`write`](fn@write) needs at most.
pub const MAX_LEN: usize = 32;

/// The hop limit of these messages: one with another came from elsewhere and is dropped (section 7.1).
pub const HOP_LIMIT: u8 = 255;

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;

const SOURCE_LINK: u8 = 1;
const TARGET_LINK: u8 = 2;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks for the address of the device that has `target`.
    Solicitation {
        target: Ipv6Addr,
        /// Of the sender; not there if it has no address of IPv6 yet.
        link: Option<Address>,
    },
    /// Tells it.
    Advertisement {
        router: bool,
        solicited: bool,
        /// Whether it replaces what was known.
        replace: bool,
        target: Ipv6Addr,
        link: Option<Address>,
    },
}

/// Where a solicitation for `target` goes (RFC 4291 section 2.7.1).
pub fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// The address of Ethernet for a multicast address of IPv6 (RFC 2464 section 7).
pub fn multicast_link(address: Ipv6Addr) -> Address {
    let [.., a, b, c, d] = address.octets();
    [0x33, 0x33, a, b, c, d]
}

/// Reads a message from the parts of [`icmp::Message::Other`]. `None` if it is another message.
///
/// # Errors
/// [`Malformed`] if it is short, has an option of length 0, or is about a multicast address.
pub fn parse(kind: u8, code: u8, body: &[u8]) -> Result<Option<Message>, Malformed> {
    if code != 0 || !matches!(kind, SOLICITATION | ADVERTISEMENT) {
        return Ok(None);
    }
    let flags = u32_at(body, 0)? >> 29;
    let target = Ipv6Addr::from(array::<16>(body, 4)?);
    if target.is_multicast() {
        return Err(Malformed::Version);
    }
    let wanted = if kind == SOLICITATION {
        SOURCE_LINK
    } else {
        TARGET_LINK
    };
    let link = link_option(&body[20..], wanted)?;
    Ok(Some(if kind == SOLICITATION {
        Message::Solicitation { target, link }
    } else {
        Message::Advertisement {
            router: flags & 4 != 0,
            solicited: flags & 2 != 0,
            replace: flags & 1 != 0,
            target,
            link,
        }
    }))
}

fn link_option(mut options: &[u8], wanted: u8) -> Result<Option<Address>, Malformed> {
    let mut link = None;
    while !options.is_empty() {
        let [kind, units] = array(options, 0)?;
        if units == 0 {
            return Err(Malformed::Length);
        }
        let (option, rest) = options
            .split_at_checked(usize::from(units) * 8)
            .ok_or(Malformed::Truncated)?;
        if kind == wanted && units == 1 {
            link = Some(array(option, 2)?);
        }
        options = rest;
    }
    Ok(link)
}

/// Writes a message with its header of ICMP, and returns its bytes.
///
/// # Panics
/// If `to` has less than [`MAX_LEN`] bytes.
pub fn write(message: &Message, source: Ipv6Addr, destination: Ipv6Addr, to: &mut [u8]) -> usize {
    let (kind, flags, target, option, link) = match *message {
        Message::Solicitation { target, link } => (SOLICITATION, 0, target, SOURCE_LINK, link),
        Message::Advertisement {
            router,
            solicited,
            replace,
            target,
            link,
        } => {
            let flags = u32::from(router) << 2 | u32::from(solicited) << 1 | u32::from(replace);
            (ADVERTISEMENT, flags, target, TARGET_LINK, link)
        }
    };
    let to = &mut to[..if link.is_some() { MAX_LEN } else { MAX_LEN - 8 }];
    to[0..2].copy_from_slice(&[kind, 0]);
    to[4..8].copy_from_slice(&(flags << 29).to_be_bytes());
    to[8..24].copy_from_slice(&target.octets());
    if let Some(link) = link {
        to[24..26].copy_from_slice(&[option, 1]);
        to[26..32].copy_from_slice(&link);
    }
    icmp::set_checksum(to, IpAddr::V6(source), IpAddr::V6(destination));
    to.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Icmpv6Slice, Icmpv6Type};

    const SOURCE: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const TARGET: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 2, 3, 0x1234, 0x5678);

    fn read(bytes: &[u8], destination: Ipv6Addr) -> Result<Option<Message>, Malformed> {
        match icmp::parse(bytes, SOURCE.into(), destination.into())? {
            icmp::Message::Other { kind, code, body } => parse(kind, code, body),
            _ => Ok(None),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let link = Some([2, 0, 0, 1, 2, 3]);
        let target = TARGET;
        for n in 0..16 {
            let advertisement = Message::Advertisement {
                router: n & 1 != 0,
                solicited: n & 2 != 0,
                replace: n & 4 != 0,
                target,
                link: link.filter(|_| n & 8 != 0),
            };
            for message in [advertisement, Message::Solicitation { target, link }] {
                let mut bytes = [0xaa; MAX_LEN];
                let len = write(&message, SOURCE, TARGET, &mut bytes);
                assert_eq!(read(&bytes[..len], TARGET), Ok(Some(message)));
            }
        }
    }

    #[test]
    fn etherparse_reads_what_is_written() {
        let message = Message::Advertisement {
            router: false,
            solicited: true,
            replace: true,
            target: TARGET,
            link: Some([1, 2, 3, 4, 5, 6]),
        };
        let mut bytes = [0; MAX_LEN];
        let len = write(&message, SOURCE, TARGET, &mut bytes);
        let slice = Icmpv6Slice::from_slice(&bytes[..len]).expect("a message");
        assert!(slice.is_checksum_valid(SOURCE.octets(), TARGET.octets()));
        let Icmpv6Type::NeighborAdvertisement(header) = slice.icmp_type() else {
            panic!("{:?}", slice.icmp_type());
        };
        assert!(header.solicited && header.r#override && !header.router);
        assert_eq!(bytes[24..32], [2, 1, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_option_of_no_length_and_a_multicast_target_are_refused() {
        let mut body = [0; 28];
        body[4..20].copy_from_slice(&TARGET.octets());
        body[20..22].copy_from_slice(&[1, 0]);
        assert_eq!(parse(135, 0, &body), Err(Malformed::Length));
        body[20..22].copy_from_slice(&[1, 2]);
        assert_eq!(parse(135, 0, &body), Err(Malformed::Truncated));
        body[20..22].copy_from_slice(&[1, 1]);
        assert!(parse(135, 0, &body).is_ok());
        body[4] = 0xff;
        assert_eq!(parse(135, 0, &body), Err(Malformed::Version));
        assert_eq!(parse(133, 0, &body), Ok(None));
    }

    #[test]
    fn groups_of_solicitations() {
        // RFC 4291 section 2.7.1 and RFC 2464 section 7.
        let address = "4037::01:800:200e:8c6c".parse().expect("an address");
        let group: Ipv6Addr = "ff02::1:ff0e:8c6c".parse().expect("an address");
        assert_eq!(solicited_node(address), group);
        assert_eq!(multicast_link(group), [0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c]);
    }
}
