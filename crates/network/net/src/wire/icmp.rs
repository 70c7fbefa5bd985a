//! ICMP (RFC 792, RFC 1191) and ICMPv6 (RFC 4443).

use std::net::IpAddr;

use super::checksum::Sum;
use super::ip::protocol;
use super::{Malformed, array, u16_at, u32_at};

/// Bytes of a header.
pub const LEN: usize = 8;

/// Bytes of the largest error message with its header of IP (RFC 1812 section 4.3.2.3).
const V4_ERROR: usize = 576 - super::ip::V4_LEN;
/// The same for IPv6: the smallest MTU that there is (RFC 4443 section 2.4).
const V6_ERROR: usize = 1280 - super::ip::V6_LEN;

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    Network,
    Host,
    /// In IPv6 this is a parameter problem at the field of the protocol in the fixed header.
    Protocol,
    Port,
    Prohibited,
    /// For another reason. Not written.
    Other(u8),
}

/// A message. `quoted` is what came back of the packet that an error is about, from its header of IP on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    EchoRequest {
        identifier: u16,
        sequence: u16,
        data: &'a [u8],
    },
    EchoReply {
        identifier: u16,
        sequence: u16,
        data: &'a [u8],
    },
    Unreachable {
        why: Unreachable,
        quoted: &'a [u8],
    },
    /// "Fragmentation needed" in IPv4, where the MTU may be 0: not told.
    TooBig {
        mtu: u32,
        quoted: &'a [u8],
    },
    TimeExceeded {
        /// Whether fragments were waited for, and not hops counted.
        reassembly: bool,
        quoted: &'a [u8],
    },
    /// Another message, such as those of [`ndp`](super::ndp): `body` is what follows type, code and checksum. Not
    /// written.
    Other {
        kind: u8,
        code: u8,
        body: &'a [u8],
    },
}

mod v4 {
    pub const ECHO_REPLY: u8 = 0;
    pub const UNREACHABLE: u8 = 3;
    pub const ECHO_REQUEST: u8 = 8;
    pub const TIME_EXCEEDED: u8 = 11;

    pub const PROTOCOL: u8 = 2;
    pub const PORT: u8 = 3;
    pub const TOO_BIG: u8 = 4;
    pub const PROHIBITED: u8 = 13;
}

mod v6 {
    pub const UNREACHABLE: u8 = 1;
    pub const TOO_BIG: u8 = 2;
    pub const TIME_EXCEEDED: u8 = 3;
    pub const PARAMETER_PROBLEM: u8 = 4;
    pub const ECHO_REQUEST: u8 = 128;
    pub const ECHO_REPLY: u8 = 129;

    pub const PROHIBITED: u8 = 1;
    pub const ADDRESS: u8 = 3;
    pub const PORT: u8 = 4;
    pub const NEXT_HEADER: u8 = 1;
    /// Where the fixed header has the protocol.
    pub const NEXT_HEADER_AT: u32 = 6;
}

/// Reads all of a message between two addresses, of which the version decides what it is. The checksum is verified.
///
/// # Errors
/// [`Malformed`] for a message to drop.
pub fn parse(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Result<Message<'_>, Malformed> {
    let [kind, code, ..] = array::<LEN>(bytes, 0)?;
    let is_v6 = source.is_ipv6();
    if start(is_v6, source, destination, bytes.len())
        .add(bytes)
        .folded()
        != 0
    {
        return Err(Malformed::Checksum);
    }
    let rest = &bytes[LEN..];
    let (identifier, sequence, word) = (u16_at(bytes, 4)?, u16_at(bytes, 6)?, u32_at(bytes, 4)?);
    let request = Message::EchoRequest {
        identifier,
        sequence,
        data: rest,
    };
    let reply = Message::EchoReply {
        identifier,
        sequence,
        data: rest,
    };
    let unreachable = |why| Message::Unreachable { why, quoted: rest };
    let too_big = |mtu| Message::TooBig { mtu, quoted: rest };
    let exceeded = Message::TimeExceeded {
        reassembly: code == 1,
        quoted: rest,
    };
    let other = Message::Other {
        kind,
        code,
        body: &bytes[4..],
    };
    Ok(if is_v6 {
        match (kind, code) {
            (v6::ECHO_REQUEST, 0) => request,
            (v6::ECHO_REPLY, 0) => reply,
            (v6::UNREACHABLE, code) => unreachable(match code {
                0 => Unreachable::Network,
                v6::PROHIBITED => Unreachable::Prohibited,
                v6::ADDRESS => Unreachable::Host,
                v6::PORT => Unreachable::Port,
                code => Unreachable::Other(code),
            }),
            (v6::PARAMETER_PROBLEM, v6::NEXT_HEADER) => unreachable(Unreachable::Protocol),
            (v6::TOO_BIG, _) => too_big(word),
            (v6::TIME_EXCEEDED, 0 | 1) => exceeded,
            _ => other,
        }
    } else {
        match (kind, code) {
            (v4::ECHO_REQUEST, 0) => request,
            (v4::ECHO_REPLY, 0) => reply,
            (v4::UNREACHABLE, v4::TOO_BIG) => too_big(u32::from(sequence)),
            (v4::UNREACHABLE, code) => unreachable(match code {
                0 => Unreachable::Network,
                1 => Unreachable::Host,
                v4::PROTOCOL => Unreachable::Protocol,
                v4::PORT => Unreachable::Port,
                v4::PROHIBITED => Unreachable::Prohibited,
                code => Unreachable::Other(code),
            }),
            (v4::TIME_EXCEEDED, 0 | 1) => exceeded,
            _ => other,
        }
    })
}

/// Writes a message between two addresses of one version, and returns its bytes. An error quotes as much of the packet
/// as the version allows.
///
/// # Panics
/// If `to` has no room for all of it ([`LEN`] and what follows, or 1280 bytes for an error), or the message is one that
/// is not written.
pub fn write(message: &Message<'_>, source: IpAddr, destination: IpAddr, to: &mut [u8]) -> usize {
    let is_v6 = source.is_ipv6();
    let pick = |four: (u8, u8), six: (u8, u8)| if is_v6 { six } else { four };
    let echo = |identifier: u16, sequence: u16| u32::from(identifier) << 16 | u32::from(sequence);
    let ((kind, code), word, rest) = match *message {
        Message::EchoRequest {
            identifier,
            sequence,
            data,
        } => {
            let kind = pick((v4::ECHO_REQUEST, 0), (v6::ECHO_REQUEST, 0));
            (kind, echo(identifier, sequence), data)
        }
        Message::EchoReply {
            identifier,
            sequence,
            data,
        } => {
            let kind = pick((v4::ECHO_REPLY, 0), (v6::ECHO_REPLY, 0));
            (kind, echo(identifier, sequence), data)
        }
        Message::Unreachable { why, quoted } => {
            let (four, six) = match why {
                Unreachable::Network => (0, 0),
                Unreachable::Host => (1, v6::ADDRESS),
                Unreachable::Protocol => (v4::PROTOCOL, v6::NEXT_HEADER),
                Unreachable::Port => (v4::PORT, v6::PORT),
                Unreachable::Prohibited => (v4::PROHIBITED, v6::PROHIBITED),
                Unreachable::Other(_) => panic!("a reason that is not written"),
            };
            let problem = is_v6 && why == Unreachable::Protocol;
            let six_kind = if problem {
                v6::PARAMETER_PROBLEM
            } else {
                v6::UNREACHABLE
            };
            let word = if problem { v6::NEXT_HEADER_AT } else { 0 };
            let kind = pick((v4::UNREACHABLE, four), (six_kind, six));
            (kind, word, quoted)
        }
        Message::TooBig { mtu, quoted } => {
            let kind = pick((v4::UNREACHABLE, v4::TOO_BIG), (v6::TOO_BIG, 0));
            let word = if is_v6 { mtu } else { mtu.min(0xffff) };
            (kind, word, quoted)
        }
        Message::TimeExceeded { reassembly, quoted } => {
            let code = u8::from(reassembly);
            let kind = pick((v4::TIME_EXCEEDED, code), (v6::TIME_EXCEEDED, code));
            (kind, 0, quoted)
        }
        Message::Other { .. } => panic!("a message that is not written"),
    };
    let is_error = !matches!(
        message,
        Message::EchoRequest { .. } | Message::EchoReply { .. }
    );
    let largest = if is_v6 { V6_ERROR } else { V4_ERROR } - LEN;
    let rest = match is_error {
        true => &rest[..rest.len().min(largest)],
        false => rest,
    };
    let to = &mut to[..LEN + rest.len()];
    to[0..2].copy_from_slice(&[kind, code]);
    to[4..8].copy_from_slice(&word.to_be_bytes());
    to[LEN..].copy_from_slice(rest);
    set_checksum(to, source, destination);
    to.len()
}

/// Computes the checksum of a message and writes it where it belongs.
pub(super) fn set_checksum(message: &mut [u8], source: IpAddr, destination: IpAddr) {
    message[2..4].fill(0);
    let checksum = start(source.is_ipv6(), source, destination, message.len())
        .add(message)
        .folded();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
}

/// What the checksum begins with: the pseudo header in IPv6, nothing in IPv4.
fn start(is_v6: bool, source: IpAddr, destination: IpAddr, len: usize) -> Sum {
    match is_v6 {
        true => Sum::pseudo(source, destination, protocol::ICMPV6, len as u32),
        false => Sum::ZERO,
    }
}

#[cfg(test)]
mod tests;
